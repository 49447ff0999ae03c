// JSON files that may come from strangers: they are read within limits, and each value knows where in the file it
// stands, so that an error can say so.
//
//     const FileJson file = read_json("plan.json");
//     JsonItem plan{file, ""};
//     plan["copies"][3]["offset"].integer()      // or: plan file: copies[3].offset: is not a whole number
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace relayout::tools {

/// Objects are search trees, so an object of a million keys is read as fast as many small ones.
using FileJson = nlohmann::json;

struct JsonLimits {
  std::uintmax_t bytes = std::uintmax_t{1} << 29;
  /// How many objects, lists, keys and plain values there may be together. This limits the memory.
  std::size_t values = std::size_t{1} << 24;
  int depth = 32;
};

/// Failures: io where the file cannot be read; bad data where it is not JSON, an object has a key twice, or a limit is
/// passed. Limits are checked while parsing, before anything is kept.
FileJson read_json(const std::string& path, const JsonLimits& limits = {});

/// Throws a Failure of bad data with the message "plan file: WHERE: WHAT".
[[noreturn]] void bad_item(const std::string& where, const std::string& what);
/// Text from a file as messages show it: escaped, cut where it is long, in quotes.
std::string in_quotes(const std::string& text);

/// A value of a file, and where in the file it stands. Asking for something that the value is not (a member that is
/// missing, a number of a text) is a bad_item().
struct JsonItem {
  const FileJson& json;
  std::string where;

  bool has(const char* key) const { return json.is_object() && json.contains(key); }
  JsonItem operator[](const char* key) const;
  JsonItem operator[](const std::string& key) const { return (*this)[key.c_str()]; }
  JsonItem operator[](std::size_t i) const;
  /// The number of elements of a list, or of members of an object.
  std::size_t size() const;
  std::vector<JsonItem> list() const;
  /// Refuses anything but an object, and an object with other keys than these.
  void expect_keys(std::initializer_list<const char*> keys) const;

  /// A whole number that is at least 0 and less than `end`.
  int index(std::size_t end) const;
  std::vector<int> indices(std::size_t end) const;
  int64_t integer() const;
  /// A finite number.
  double number() const;
  /// A list of finite numbers and nulls; null stands for infinity.
  std::vector<double> costs() const;
  bool boolean() const;
  std::string text() const;
};

}  // namespace relayout::tools
