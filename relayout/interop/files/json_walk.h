// JSON walk: JSON as a stream of events, each with the keys that lead to it. No tree is built, so the
// memory it takes grows with the depth and with the keys of objects that are open, and a reader that knows what it
// expects needs no recursion.
//
//     walk_json(R"({"w":{"shape":[2,3]}})", 32, "header", [](const JsonEvent& e) { ... });
//     // object depth 0 {}   object depth 1 {w}   array depth 2 {w,shape}
//     // number 2 depth 3 {w,shape}   number 3 depth 3 {w,shape}
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace relayout {

struct JsonEvent {
  enum class Kind { object, array, string, number, other };
  Kind kind;
  int depth;                          // how many objects and arrays are open around it
  std::span<const std::string> keys;  // the open objects' current keys, outermost first
  std::string_view text;              // of a string; of others "null", "true", "false", "-3", or "" for a fraction
  uint64_t number = 0;                // of a whole number that is not negative; other numbers are Kind::other
};

/// Calls `visit` for every value in document order (an object before its members). Errors, whose
/// messages begin with `what`: corrupt (not JSON, or a key twice in one object), limit (deeper than
/// max_depth), unsupported (built without nlohmann-json).
void walk_json(std::string_view text, int max_depth, std::string_view what,
               const std::function<void(const JsonEvent&)>& visit);

/// `text` as a JSON string, quotes included. Error{invalid_argument} where it is not UTF-8.
std::string json_quoted(std::string_view text);

}  // namespace relayout
