// What the views share: taking a layout apart, and cutting digits (internal to core).
#pragma once

#include <string>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// A layout taken apart: dims, each dim's digits, and the swizzle behind them. An exclusive or applies to the whole
/// offset, so that every view whose indices are indices of the layout keeps it as it is.
struct LayoutParts {
  Dims dims;
  std::vector<Digits> digits;
  int64_t offset0 = 0;
  Swizzle swizzle;

  explicit LayoutParts(const Layout& layout)
      : dims(layout.dims()), offset0(layout.offset0()), swizzle(layout.swizzle()) {
    const Layout plain = layout.plain();
    for (int d = 0; d < layout.ndims(); ++d) digits.push_back(plain.digits_of(d));
  }
  void erase(int d) {
    dims.erase(d);
    digits.erase(digits.begin() + d);
  }
  void insert(int d, int64_t extent, const Digits& list) {
    dims.insert(d, extent);
    digits.insert(digits.begin() + d, list);
  }
  Layout layout() const { return Layout::from_digits(dims, digits, offset0).with_swizzle(swizzle); }
};

/// A view of a swizzled layout, made of the layout under the swizzle.
template <typename View>
Layout under_swizzle(const Layout& layout, const View& view) {
  return view(layout.plain()).with_swizzle(layout.swizzle());
}

inline int checked_dim(const char* view, int d, int ndims) {
  const int out = d < 0 ? d + ndims : d;
  if (out < 0 || out >= ndims) {
    throw Error(ErrorCode::invalid_argument,
                std::string(view) + ": dim " + std::to_string(d) + " of a layout of rank " + std::to_string(ndims),
                "dim", std::to_string(d), std::to_string(ndims - 1));
  }
  return out;
}

/// Throws Error{invalid_argument} about dim d.
[[noreturn]] inline void refuse(const std::string& why, int d, const std::string& value, const std::string& limit) {
  throw Error(ErrorCode::invalid_argument, why, "dims[" + std::to_string(d) + "]", value, limit);
}
[[noreturn]] inline void refuse(const std::string& why, int d, int64_t value, int64_t limit) {
  refuse(why, d, std::to_string(value), std::to_string(limit));
}

[[noreturn]] inline void needs_copy(const std::string& message, const std::string& axes) {
  throw Error(ErrorCode::needs_copy, message, "dims", axes, "a view");
}

/// Splits digits in two at place value `at`: `below` counts the indices 0 to at - 1, `above` the multiples of `at`.
/// False if a digit would have to be cut into unequal parts; `ragged` allows that for the outermost.
inline bool cut(const Digits& digits, int64_t at, Digits* below, Digits* above, bool ragged = false) {
  int64_t place = 1;
  for (const Digit& digit : digits) {
    const bool outermost = &digit == digits.end() - 1;
    if (place >= at) {
      above->push_back(digit);
    } else if (place * digit.extent <= at) {
      if (at % (place * digit.extent) != 0 && !outermost) return false;
      below->push_back(digit);
    } else {
      if (at % place != 0 || (digit.extent % (at / place) != 0 && !(ragged && outermost))) return false;
      below->push_back({at / place, digit.stride});
      above->push_back({ceil_div(digit.extent, at / place), digit.stride * (at / place)});
    }
    place *= digit.extent;
  }
  return place >= at;
}

}  // namespace relayout
