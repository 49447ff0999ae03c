// Values beyond a type's range: see overflow.h.
#include "relayout/checkpoint/overflow.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

namespace relayout::checkpoint {
namespace {

/// A floating type's largest number, the distance from it to the number before it, its bits, and what else it has.
struct Largest {
  DType dtype;
  double value, step;
  uint64_t bits;
  bool has_infinity = false, has_nan = false;
};
constexpr double kTwo127 = 0x1p127;
constexpr Largest kLargest[] = {
    {DType::f64, std::numeric_limits<double>::max(), 0, 0x7fefffffffffffff, true, true},
    {DType::f32, (2 - 0x1p-23) * kTwo127, 0x1p104, 0x7f7fffff, true, true},
    {DType::f16, 65504, 32, 0x7bff, true, true},
    {DType::bf16, (2 - 0x1p-7) * kTwo127, 0x1p120, 0x7f7f, true, true},
    {DType::f8_e5m2, 57344, 8192, 0x7b, true, true},
    {DType::f8_e4m3, 448, 32, 0x7e, false, true},
    {DType::f8_e8m0, kTwo127, 0x1p127, 0x7e},
    {DType::f6_e3m2, 28, 4, 0},
    {DType::f6_e2m3, 7.5, 0.5, 0},
    {DType::f4_e2m1, 6, 2, 0},
};

const Largest& largest(DType dtype) { return *std::ranges::find(kLargest, dtype, &Largest::dtype); }

/// The least and the largest number of a type, and from where on a value is nearer to something beyond them.
struct Range {
  double least = 0, most = 0, below = 0, above = 0;
  bool infinity = false, nan = false;
};

Range finite_range(DType dtype) {
  switch (kind(dtype)) {
    case DTypeKind::floating: {
      const Largest& row = largest(dtype);
      constexpr double kLeast = std::numeric_limits<double>::denorm_min();
      const double above = row.value + row.step / 2;
      if (dtype == DType::f8_e8m0) return {1 / kTwo127, row.value, kLeast, above, false, true};
      // A half step is a tie, and the largest number is the odd one of both.
      return {-row.value, row.value, std::nextafter(-above, 0.0), above, row.has_infinity, row.has_nan};
    }
    case DTypeKind::signed_integer: {
      const double end = std::ldexp(1.0, bits(dtype) - 1);
      return {-end, end - 1, -end - 0.5, end - 0.5};
    }
    case DTypeKind::unsigned_integer: {
      const double end = std::ldexp(1.0, bits(dtype));
      return {0, end - 1, -0.5, end - 0.5};
    }
    case DTypeKind::boolean: break;
  }
  constexpr double kAll = std::numeric_limits<double>::infinity();
  return {0, 1, -kAll, kAll, true, true};  // every value but 0 is true
}

/// Elements whose bits under `mask` are one of the `more` numbers from `first` on, or `first` itself.
struct Extremes {
  uint64_t mask = 0, first = 0, more = 0;
};

Extremes extremes_of(DType dtype) {
  const uint64_t all = ~uint64_t{0} >> (64 - bits(dtype)), magnitude = all >> 1;
  if (!is_floating(dtype)) {
    // The largest number and the one behind it, which is the least.
    return {all, kind(dtype) == DTypeKind::signed_integer ? magnitude : all, 1};
  }
  if (dtype == DType::f8_e8m0) return {all, 0xfe, 1};  // it has no sign
  return {magnitude, largest(dtype).bits, magnitude - largest(dtype).bits};
}

template <typename T>
bool any_extreme(std::span<const std::byte> elements, const Extremes& extremes) {
  const T mask = static_cast<T>(extremes.mask), first = static_cast<T>(extremes.first);
  const T more = static_cast<T>(extremes.more);
  bool found = false;
  for (std::size_t at = 0; at + sizeof(T) <= elements.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, elements.data() + at, sizeof element);
    found |= static_cast<T>((element & mask) - first) <= more;
  }
  return found;
}

}  // namespace

bool may_overflow(DType from, DType to) {
  const Range had = finite_range(from), has = finite_range(to);
  return from != to &&
         (had.most >= has.above || had.least < has.below || (had.infinity && !has.infinity) || (had.nan && !has.nan));
}

bool has_extremes(std::span<const std::byte> elements, DType from, DType dtype) {
  if (is_floating(from) && !is_floating(dtype)) return !elements.empty();
  const Extremes extremes = extremes_of(dtype);
  switch (bits(dtype)) {
    case 8: return any_extreme<uint8_t>(elements, extremes);
    case 16: return any_extreme<uint16_t>(elements, extremes);
    case 32: return any_extreme<uint32_t>(elements, extremes);
    case 64: return any_extreme<uint64_t>(elements, extremes);
    default: return !elements.empty();
  }
}

int64_t beyond_range(std::span<const double> values, DType dtype) {
  const Range range = finite_range(dtype);
  return std::ranges::count_if(values, [&](double value) {
    if (std::isnan(value)) return !range.nan;
    return std::isinf(value) ? !range.infinity : value >= range.above || value < range.below;
  });
}

}  // namespace relayout::checkpoint
