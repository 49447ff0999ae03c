// The inverse of a layout. Take a layout that fills a range of offsets, and order its digits by stride. Then their
// strides are 1, e0, e0 * e1, ...: the place values of the mixed radix in which an offset is written. The reason: if
// the first digits reach the offsets 0 to n - 1, the next stride must be n: a smaller one would reach an offset twice,
// and a larger one would leave out offset n.
#include "relayout/core/inverse.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace relayout {
namespace {

/// A digit of the layout: its stride, and what its step adds to the row-major number of the index.
struct NumberedDigit {
  int64_t extent, stride, number;
};

[[noreturn]] void refuse(const std::string& why, const std::string& value, const std::string& limit) {
  throw Error(ErrorCode::invalid_argument, "inverse: " + why, "layout", value, limit);
}

[[noreturn]] void refuse_shared(const Layout& layout) {
  const auto pair = layout.collision();
  if (!pair) throw Error(ErrorCode::internal, "inverse: digits overlap, but no two indices share an offset");
  const std::string a = join(pair->first), b = join(pair->second);
  throw Error(ErrorCode::not_injective,
              "inverse: indices (" + a + ") and (" + b + ") share offset " +
                  std::to_string(layout.offset(pair->first)) + ", so it has no single index",
              "layout", a + " and " + b, "one offset an index");
}

/// The digits of more than one value, in the order of the magnitude of their strides.
std::vector<NumberedDigit> numbered_digits(const Layout& layout) {
  std::vector<NumberedDigit> out;
  int64_t number = 1;
  for (int d = layout.ndims() - 1; d >= 0; --d) {
    int64_t place = number;
    for (const Digit& digit : layout.digits(d)) {
      if (digit.extent > 1) out.push_back({digit.extent, digit.stride, place});
      place *= digit.extent;
    }
    number *= layout.dim(d);
  }
  std::ranges::stable_sort(out, {}, [](const NumberedDigit& digit) { return std::abs(digit.stride); });
  return out;
}

}  // namespace

Layout inverse_layout(const Layout& layout) {
  if (layout.empty()) return Layout::contiguous({0});
  require_plain(layout, "inverse: the layout that maps offsets back");
  for (int d = 0; d < layout.ndims(); ++d) {
    if (layout.capacity(d) == layout.dim(d)) continue;
    refuse("dim " + std::to_string(d) + " is padded from " + std::to_string(layout.dim(d)) + " to " +
               std::to_string(layout.capacity(d)) + ", and the offsets of padding have no index",
           std::to_string(layout.capacity(d)), std::to_string(layout.dim(d)));
  }
  const int64_t first_offset = layout.offset_range().first;
  int64_t next = 1, offset0 = 0;
  Digits digits;
  for (const NumberedDigit& digit : numbered_digits(layout)) {
    const int64_t distance = std::abs(digit.stride);
    if (distance < next) refuse_shared(layout);
    if (distance > next) {
      const std::string gap = std::to_string(first_offset + next);
      refuse("no index has offset " + gap, gap, "offsets without gaps");
    }
    // A negative stride walks backwards: the index's digit is at its largest when the offset's digit is 0.
    digits.push_back({digit.extent, digit.stride < 0 ? -digit.number : digit.number});
    if (digit.stride < 0) offset0 += (digit.extent - 1) * digit.number;
    next *= digit.extent;
  }
  if (first_offset != 0) {
    refuse("the first offset is " + std::to_string(first_offset) + ", not 0", std::to_string(first_offset), "0");
  }
  if (digits.empty()) digits.push_back({1, 0});
  return Layout::from_digits({layout.elements()}, std::span(&digits, 1), offset0);
}

}  // namespace relayout
