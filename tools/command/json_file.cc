// JSON files within limits: see json_file.h.
#include "tools/command/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "tools/command/common.h"

namespace relayout::tools {
namespace {

[[noreturn]] void over_limit(const std::string& path, const char* what, const std::string& value,
                             const std::string& limit) {
  throw Failure(kBadData,
                Error(ErrorCode::limit, fmt::format("{}: {} {}; at most {}", escaped(path, 4096), value, what, limit),
                      what, value, limit));
}

std::string read_text(const std::string& path, std::uintmax_t most) {
  const auto failed = [&](const std::string& why) {
    return Failure(kIo, Error(ErrorCode::io, escaped(path, 4096) + ": " + why, "path", escaped(path, 4096)));
  };
  std::error_code status;
  const std::uintmax_t bytes = std::filesystem::file_size(path, status);
  if (status) throw failed(status.message());
  std::ifstream file(path, std::ios::binary);
  if (!file) throw failed("cannot be opened");
  if (bytes > most) over_limit(path, "bytes", std::to_string(bytes), std::to_string(most));
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (file.gcount() != static_cast<std::streamsize>(bytes)) throw failed("cannot be read");
  return text;
}

/// Counts the values that a first pass of the parser meets, so that a file over the limits is refused before it takes
/// memory.
class ValueCounter : public nlohmann::json_sax<FileJson> {
 public:
  ValueCounter(const std::string& path, const JsonLimits& limits) : path_(path), limits_(limits) {}

  bool null() override { return meet(); }
  bool boolean(bool) override { return meet(); }
  bool number_integer(number_integer_t) override { return meet(); }
  bool number_unsigned(number_unsigned_t) override { return meet(); }
  bool number_float(number_float_t, const string_t&) override { return meet(); }
  bool string(string_t&) override { return meet(); }
  bool binary(binary_t&) override { return meet(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) {
      bad_item("json", "an object has the key " + in_quotes(name) + " twice");
    }
    return meet();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool meet() {
    if (++values_ > limits_.values) {
      over_limit(path_, "values", "more than " + std::to_string(limits_.values), std::to_string(limits_.values));
    }
    return true;
  }
  bool open() {
    keys_.emplace_back();
    const auto most = static_cast<std::size_t>(limits_.depth);
    if (keys_.size() > most) {
      over_limit(path_, "levels of JSON", "more than " + std::to_string(most), std::to_string(most));
    }
    return meet();
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  const std::string& path_;
  const JsonLimits& limits_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the objects and lists that are open
};

/// Shortens a parser's message in its middle, where it quotes the file:
/// "[json.exception.parse_error.101] parse error at line 1, column 1: ... last read: 'TEXT'; expected ..."
std::string reason(std::string_view what) {
  static constexpr std::size_t kStart = 220, kEnd = 50;
  if (const auto prefix = what.find("] "); what.starts_with("[json.") && prefix != what.npos)
    what.remove_prefix(prefix + 2);
  if (what.size() <= kStart + kEnd) return printable(what);
  return printable(what.substr(0, kStart)) + " ... " + printable(what.substr(what.size() - kEnd));
}

}  // namespace

FileJson read_json(const std::string& path, const JsonLimits& limits) {
  const std::string text = read_text(path, limits.bytes);
  ValueCounter counter(path, limits);
  try {
    // The limits are not checked by a callback of parse(): with one, the parser goes through a whole list again for
    // each object in it.
    FileJson::sax_parse(text, &counter);
    return FileJson::parse(text);
  } catch (const FileJson::exception& error) {
    throw Failure(kBadData, Error(ErrorCode::corrupt, escaped(path, 4096) + ": is not JSON: " + reason(error.what()),
                                  "path", escaped(path, 4096)));
  }
}

void bad_item(const std::string& where, const std::string& what) {
  throw Failure(kBadData,
                Error(ErrorCode::corrupt, "plan file: " + (where.empty() ? "it " : where + ": ") + what, where));
}

std::string in_quotes(const std::string& text) { return "\"" + escaped(text, 400) + "\""; }

JsonItem JsonItem::operator[](const char* key) const {
  if (!json.is_object()) bad_item(where, "is not an object");
  const auto found = json.find(key);
  if (found == json.end()) bad_item(where, "has no " + in_quotes(key));
  return {*found, where.empty() ? escaped(key) : where + "." + escaped(key)};
}

JsonItem JsonItem::operator[](std::size_t i) const {
  if (!json.is_array()) bad_item(where, "is not a list");
  if (i >= json.size()) bad_item(where, fmt::format("has no element {}", i));
  return {json[i], fmt::format("{}[{}]", where, i)};
}

std::size_t JsonItem::size() const {
  if (!json.is_structured()) bad_item(where, "is neither a list nor an object");
  return json.size();
}

std::vector<JsonItem> JsonItem::list() const {
  if (!json.is_array()) bad_item(where, "is not a list");
  std::vector<JsonItem> out;
  for (const FileJson& element : json) out.push_back({element, fmt::format("{}[{}]", where, out.size())});
  return out;
}

void JsonItem::expect_keys(std::initializer_list<const char*> keys) const {
  if (!json.is_object()) bad_item(where, "is not an object");
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(keys, key) == keys.end())
      bad_item(where, "has " + in_quotes(key) + ", which is not a known key");
  }
}

int JsonItem::index(std::size_t end) const {
  if (!json.is_number_integer()) bad_item(where, "is not a whole number");
  const bool fits = json.is_number_unsigned() && json.get<uint64_t>() < end;
  if (!fits) bad_item(where, fmt::format("{} must be at least 0 and less than {}", json.dump(), end));
  return json.get<int>();
}

std::vector<int> JsonItem::indices(std::size_t end) const {
  std::vector<int> out;
  for (const JsonItem& item : list()) out.push_back(item.index(end));
  return out;
}

int64_t JsonItem::integer() const {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const bool fits = json.is_number_integer() && (!json.is_number_unsigned() || json.get<uint64_t>() <= kMost);
  if (!fits) bad_item(where, "is not a whole number of 64 bits");
  return json.get<int64_t>();
}

double JsonItem::number() const {
  if (!json.is_number() || !std::isfinite(json.get<double>())) bad_item(where, "is not a finite number");
  return json.get<double>();
}

std::vector<double> JsonItem::costs() const {
  if (!json.is_array()) bad_item(where, "is not a list");
  std::vector<double> out;
  for (const FileJson& value : json) {
    const bool given = value.is_number() && std::isfinite(value.get<double>());
    if (!given && !value.is_null()) {
      bad_item(where, fmt::format("element {} is neither a finite number nor null", out.size()));
    }
    out.push_back(given ? value.get<double>() : std::numeric_limits<double>::infinity());
  }
  return out;
}

bool JsonItem::boolean() const {
  if (!json.is_boolean()) bad_item(where, "is neither true nor false");
  return json.get<bool>();
}

std::string JsonItem::text() const {
  if (!json.is_string()) bad_item(where, "is not a text");
  return json.get<std::string>();
}

}  // namespace relayout::tools
