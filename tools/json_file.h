// JSON files: what a stranger wrote, read within limits, and values that know where in the file they stand.
//
//     const FileJson file = read_json("plan.json");
//     JsonItem plan{file, ""};
//     plan["copies"][3]["offset"].integer()      // or: plan file: copies[3].offset: is no whole number
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace relayout::tools {

/// Keys are looked up in a tree: an object of a million keys is no harder than many small ones.
using FileJson = nlohmann::json;

struct JsonLimits {
  std::uintmax_t bytes = std::uintmax_t{1} << 29;
  /// Objects, lists, keys and plain values together: they bound the memory.
  std::size_t values = std::size_t{1} << 24;
  int depth = 32;
};

/// Failures: io where it cannot be read; bad data where it is no JSON, an object has a key twice, or a limit is passed,
/// which is seen while reading.
FileJson read_json(const std::string& path, const JsonLimits& limits = {});

/// Failure of bad data: "plan file: " and where in it what is wrong.
[[noreturn]] void bad_item(const std::string& where, const std::string& what);
/// Text of a file, as messages show it.
std::string in_quotes(const std::string& text);

/// A value of a file and where it stands. What it is not is a bad_item().
struct JsonItem {
  const FileJson& json;
  std::string where;

  bool has(const char* key) const { return json.is_object() && json.contains(key); }
  JsonItem operator[](const char* key) const;
  JsonItem operator[](const std::string& key) const { return (*this)[key.c_str()]; }
  JsonItem operator[](std::size_t i) const;
  /// Of a list or an object.
  std::size_t size() const;
  std::vector<JsonItem> list() const;
  /// An object's; it has no others than these.
  void expect_keys(std::initializer_list<const char*> keys) const;

  /// A whole number from 0 to under `end`.
  int index(std::size_t end) const;
  std::vector<int> indices(std::size_t end) const;
  int64_t integer() const;
  /// Finite.
  double number() const;
  /// Finite numbers, and null, which is infinity.
  std::vector<double> costs() const;
  bool boolean() const;
  std::string text() const;
};

}  // namespace relayout::tools
