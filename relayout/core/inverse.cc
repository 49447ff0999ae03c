// The inverse of a layout. When digits are ordered by their strides, those of a layout that fills a range of offsets
// have strides 1, e0, e0 * e1, ...: the place values of the mixed radix in which offsets are written. For if the digits
// so far reach the offsets 0 to n - 1, offset n must be a step of another digit, as smaller steps would meet offsets
// that are reached already.
#include "relayout/core/inverse.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace relayout {
namespace {

/// A digit of the layout: its step in the offset, and its step in the row-major number of the index.
struct Place {
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

/// The digits that move, by the distance of their steps in memory.
std::vector<Place> places_of(const Layout& layout) {
  std::vector<Place> out;
  int64_t number = 1;
  for (int d = layout.ndims() - 1; d >= 0; --d) {
    int64_t place = number;
    for (const Digit& digit : layout.digits(d)) {
      if (digit.extent > 1) out.push_back({digit.extent, digit.stride, place});
      place *= digit.extent;
    }
    number *= layout.dim(d);
  }
  std::ranges::stable_sort(out, {}, [](const Place& place) { return std::abs(place.stride); });
  return out;
}

}  // namespace

Layout inverse_layout(const Layout& layout) {
  if (layout.empty()) return Layout::contiguous({0});
  for (int d = 0; d < layout.ndims(); ++d) {
    if (layout.capacity(d) == layout.dim(d)) continue;
    refuse("dim " + std::to_string(d) + " is padded from " + std::to_string(layout.dim(d)) + " to " +
               std::to_string(layout.capacity(d)) + ", and the offsets of padding have no index",
           std::to_string(layout.capacity(d)), std::to_string(layout.dim(d)));
  }
  const int64_t first_offset = layout.offset_range().first;
  int64_t next = 1, offset0 = 0;
  Digits digits;
  for (const Place& place : places_of(layout)) {
    const int64_t distance = std::abs(place.stride);
    if (distance < next) refuse_shared(layout);
    if (distance > next) {
      const std::string gap = std::to_string(first_offset + next);
      refuse("no index has offset " + gap, gap, "offsets without gaps");
    }
    // A negative stride walks backwards: the digit of the index is the largest where that of the offset is 0.
    digits.push_back({place.extent, place.stride < 0 ? -place.number : place.number});
    if (place.stride < 0) offset0 += (place.extent - 1) * place.number;
    next *= place.extent;
  }
  if (first_offset != 0) {
    refuse("the first offset is " + std::to_string(first_offset) + ", not 0", std::to_string(first_offset), "0");
  }
  if (digits.empty()) digits.push_back({1, 0});
  return Layout::from_digits({layout.elements()}, std::span(&digits, 1), offset0);
}

}  // namespace relayout
