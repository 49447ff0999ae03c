// The stream of events, made from the callbacks (SAX interface) of nlohmann-json: see json_walk.h.
#include "relayout/interop/files/json_walk.h"

#include <unordered_set>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"

#if RELAYOUT_HAVE_JSON
#include <nlohmann/json.hpp>
#endif

namespace relayout {

#if RELAYOUT_HAVE_JSON
namespace {

class Walker : public nlohmann::json_sax<nlohmann::json> {
 public:
  Walker(int max_depth, std::string_view what, const std::function<void(const JsonEvent&)>& visit)
      : max_depth_(max_depth), what_(what), visit_(visit) {}

  bool null() override { return emit(JsonEvent::Kind::other, "null"); }
  bool boolean(bool value) override { return emit(JsonEvent::Kind::other, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return emit(JsonEvent::Kind::other, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return emit(JsonEvent::Kind::number, {}, value); }
  bool number_float(number_float_t, const string_t&) override { return emit(JsonEvent::Kind::other); }
  bool string(string_t& value) override { return emit(JsonEvent::Kind::string, value); }
  bool binary(binary_t&) override { return emit(JsonEvent::Kind::other); }

  bool start_object(std::size_t) override {
    open(JsonEvent::Kind::object);
    keys_.emplace_back();
    seen_.emplace_back();
    return true;
  }
  bool key(string_t& value) override {
    if (!seen_.back().insert(value).second) {
      throw Error(ErrorCode::corrupt, what_ + ": an object has the key \"" + escaped(value) + "\" twice", "key",
                  escaped(value));
    }
    keys_.back() = std::move(value);
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    seen_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    open(JsonEvent::Kind::array);
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::json::exception&) override {
    throw Error(ErrorCode::corrupt,
                what_ + ": is not JSON at byte " + std::to_string(position) + ", near \"" + escaped(token, 24) + "\"",
                "json", escaped(token, 24));
  }

 private:
  bool emit(JsonEvent::Kind kind, std::string_view text = {}, uint64_t number = 0) {
    visit_({kind, depth_, keys_, text, number});
    return true;
  }
  void open(JsonEvent::Kind kind) {
    if (depth_ == max_depth_) {
      throw Error(ErrorCode::limit, what_ + ": JSON nested deeper than " + std::to_string(max_depth_), "json_depth",
                  std::to_string(depth_ + 1), std::to_string(max_depth_));
    }
    emit(kind);
    ++depth_;
  }

  int max_depth_;
  std::string what_;
  const std::function<void(const JsonEvent&)>& visit_;
  int depth_ = 0;
  std::vector<std::string> keys_;
  std::vector<std::unordered_set<std::string>> seen_;
};

}  // namespace

void walk_json(std::string_view text, int max_depth, std::string_view what,
               const std::function<void(const JsonEvent&)>& visit) {
  Walker walker(max_depth, what, visit);
  nlohmann::json::sax_parse(text.begin(), text.end(), &walker);
}

std::string json_quoted(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCode::invalid_argument, "\"" + escaped(text) + "\" is not UTF-8, which JSON needs", "name",
                escaped(text), "UTF-8");
  }
}

#else

void walk_json(std::string_view, int, std::string_view what, const std::function<void(const JsonEvent&)>&) {
  throw_missing_library(what, "nlohmann-json");
}
std::string json_quoted(std::string_view) { throw_missing_library("safetensors", "nlohmann-json"); }

#endif

}  // namespace relayout
