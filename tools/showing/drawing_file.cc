// Drawings in files of JSON: a function a kind of shape.
#include "tools/showing/drawing_file.h"

#include <fmt/format.h>

#include <fstream>

#include "tools/command/common.h"

namespace relayout::tools {
namespace {

/// An object of which each key must be asked for.
class Object {
 public:
  Object(const Json& json, std::string what) : json_(json), what_(std::move(what)) {
    if (!json.is_object()) refuse("is no object");
  }

  bool has(const char* key) const { return json_.contains(key); }

  template <typename T>
  T get(const char* key, T otherwise) {
    ++asked_;
    if (!has(key)) {
      --asked_;
      return otherwise;
    }
    try {
      return json_.at(key).get<T>();
    } catch (const Json::exception&) {
      refuse(fmt::format("has a \"{}\" of another kind: {}", key, json_.at(key).dump().substr(0, 60)));
    }
  }

  std::vector<double> numbers(const char* key, std::size_t count) {
    auto out = get<std::vector<double>>(key, {});
    if (out.size() != count) refuse(fmt::format("needs {} numbers in \"{}\"", count, key));
    return out;
  }

  /// Refuses keys that nobody asked for.
  void check_keys() const {
    if (asked_ == json_.size()) return;
    std::string keys;
    for (const auto& [key, value] : json_.items()) keys += (keys.empty() ? "" : ", ") + escaped(key);
    refuse("has a key that is none of it, among " + keys);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Failure(kBadData, Error(ErrorCode::corrupt, fmt::format("drawing: {} {}", what_, why), what_));
  }

 private:
  const Json& json_;
  std::string what_;
  std::size_t asked_ = 0;
};

show::Shape box_shape_of(Object& object) {
  const std::vector<double> place = object.numbers("box", 4);
  show::Box out{place[0], place[1], place[2], place[3]};
  out.fill = object.get<std::string>("fill", "");
  out.stroke = object.get<std::string>("stroke", "");
  out.stroke_width = object.get<double>("stroke_width", 1);
  out.dashes = object.get<std::string>("dashes", "");
  out.hatched = object.get<bool>("hatched", false);
  out.radius = object.get<double>("radius", 0);
  return out;
}

show::Shape words_shape_of(Object& object) {
  show::Words out;
  out.words = object.get<std::string>("words", "");
  const std::vector<double> at = object.numbers("at", 2);
  out.x = at[0], out.y = at[1];
  out.size = object.get<double>("size", out.size);
  out.fill = object.get<std::string>("fill", out.fill);
  const auto anchor = object.get<std::string>("anchor", "start");
  if (anchor != "start" && anchor != "middle" && anchor != "end")
    object.refuse("has an anchor that is no start, middle or end");
  out.anchor = anchor == "start" ? show::Anchor::start : anchor == "end" ? show::Anchor::end : show::Anchor::middle;
  out.bold = object.get<bool>("bold", false);
  out.mono = object.get<bool>("mono", false);
  out.upwards = object.get<bool>("upwards", false);
  return out;
}

show::Shape line_shape_of(Object& object) {
  show::Line out;
  out.points = object.get<std::string>("line", "");
  out.stroke = object.get<std::string>("stroke", out.stroke);
  out.width = object.get<double>("width", 1);
  out.fill = object.get<std::string>("fill", "");
  out.dashes = object.get<std::string>("dashes", "");
  out.round = object.get<bool>("round", false);
  out.square = object.get<bool>("square", false);
  out.arrow = object.get<bool>("arrow", false);
  out.opacity = object.get<double>("opacity", 1);
  return out;
}

show::Shape shape_of(const Json& json, std::size_t number) {
  Object object(json, fmt::format("shape {}", number));
  show::Shape out = show::Ended{};
  if (object.has("box")) {
    out = box_shape_of(object);
  } else if (object.has("words")) {
    out = words_shape_of(object);
  } else if (object.has("line")) {
    out = line_shape_of(object);
  } else if (object.has("title")) {
    out = show::Titled{object.get<std::string>("title", "")};
  } else if (!object.get<bool>("end", false)) {
    object.refuse("is none: it has \"box\", \"words\", \"line\", \"title\" or \"end\"");
  }
  object.check_keys();
  return out;
}

}  // namespace

show::Drawing drawing_file(const std::string& path) {
  std::ifstream file(path == "-" ? "/dev/stdin" : path);
  if (!file) throw Failure(kIo, Error(ErrorCode::io, "cannot read " + escaped(path, 200), "--drawing"));
  const Json json = Json::parse(file, nullptr, false);
  if (json.is_discarded())
    throw Failure(kBadData, Error(ErrorCode::corrupt,
                                  (path == "-" ? "standard input" : escaped(path, 200)) + " is no JSON", path));
  Object object(json, "the whole");
  const double width = object.get<double>("width", 0), height = object.get<double>("height", 0);
  const auto title = object.get<std::string>("title", "");
  show::Drawing out(width, height, title, object.get<bool>("mono", false));
  const Json shapes = object.get<Json>("shapes", Json::array());
  object.check_keys();
  if (!shapes.is_array()) object.refuse("has no list \"shapes\"");
  for (std::size_t i = 0; i < shapes.size(); ++i) out.add(shape_of(shapes[i], i));
  return out;
}

}  // namespace relayout::tools
