// JSON as a stream of events with the keys that lead to them: no tree, so memory stays bounded by
// the longest path, and a consumer that knows its schema needs no recursion.
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
  int depth;                          // objects and arrays that are open around it
  std::span<const std::string> keys;  // the open objects' current keys, outermost first
  std::string_view text;              // a string's
  uint64_t number = 0;                // a whole, non-negative number's; any other is Kind::other
};

/// Calls `visit` for every value in document order (an object before its members). Errors, named
/// after `what`: corrupt (no JSON, a key twice in one object), limit (deeper than max_depth),
/// unsupported (built without nlohmann-json).
void walk_json(std::string_view text, int max_depth, std::string_view what,
               const std::function<void(const JsonEvent&)>& visit);

/// `text` as a JSON string, quotes included. Error{invalid_argument} where it is not UTF-8.
std::string json_quoted(std::string_view text);

}  // namespace relayout
