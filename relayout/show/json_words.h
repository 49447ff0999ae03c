// Lists and numbers of the JSON that pages and viewers read.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace relayout::show {

/// "[a,b]" of what `text` makes of each.
template <typename List, typename Text>
std::string json_list(const List& list, Text&& text) {
  std::string out = "[";
  for (const auto& one : list) out += (out.size() > 1 ? "," : "") + text(one);
  return out + "]";
}

/// The shortest text that is read as the same number; null where there is none, or none that is finite.
inline std::string json_number(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return "null";
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, *value).ptr};
}
inline std::string json_number(const std::optional<int64_t>& value) { return value ? std::to_string(*value) : "null"; }

}  // namespace relayout::show
