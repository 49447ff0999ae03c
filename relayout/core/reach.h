// How far a digit reaches: from the offset of its first value to that of its last (internal to the library).
#pragma once

namespace relayout {

/// (extent - 1) * stride of a Digit, or of any other extent and stride; less than 0 where it walks backwards.
template <typename Digit>
constexpr auto reach(const Digit& digit) {
  return (digit.extent - 1) * digit.stride;
}

}  // namespace relayout
