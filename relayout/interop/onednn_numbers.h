// The numbers of verbose lines, "480x160x32x8" (internal to onednn_verbose and onednn_problem).
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "relayout/core/extents.h"

namespace relayout::onednn {

/// Whether a text is one figure or more, 0 to 9, and nothing else.
inline bool are_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "2x17x5x4" as up to 12 numbers of 63 bits; nothing where it is none.
inline std::optional<Dims> numbers_of(std::string_view text) {
  Dims out;
  while (true) {
    const std::size_t end = std::min(text.find('x'), text.size());
    const std::string_view number = text.substr(0, end);
    int64_t value = 0;
    const bool fits = std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc();
    if (!are_digits(number) || !fits || out.size() == kMaxDims) return std::nullopt;
    out.push_back(value);
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

}  // namespace relayout::onednn
