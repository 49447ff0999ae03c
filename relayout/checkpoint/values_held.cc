// Types compared by their digits and their exponents (values_held.h).
#include "relayout/checkpoint/values_held.h"

namespace relayout::checkpoint {
namespace {

/// Of a floating type: the digits behind the point, the exponents of its largest and its smallest value, and what it
/// has besides numbers: 0 nothing, 1 NaN, 2 infinities too.
struct FloatRange {
  int digits, largest, smallest, special;
};
FloatRange range_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return {52, 1023, -1074, 2};
    case DType::f32: return {23, 127, -149, 2};
    case DType::f16: return {10, 15, -24, 2};
    case DType::bf16: return {7, 127, -133, 2};
    case DType::f8_e5m2: return {2, 15, -16, 2};
    case DType::f8_e4m3: return {3, 8, -9, 1};
    case DType::f8_e8m0: return {0, 127, -127, 1};
    case DType::f6_e3m2: return {2, 4, -4, 0};
    case DType::f6_e2m3: return {3, 2, -3, 0};
    case DType::f4_e2m1: return {1, 2, -1, 0};
    default: return {0, 0, 0, 0};
  }
}

/// The bits of an integer type that are not its sign.
int magnitude_bits(DType dtype) {
  if (dtype == DType::boolean) return 1;
  return bits(dtype) - (kind(dtype) == DTypeKind::signed_integer ? 1 : 0);
}

}  // namespace

bool holds_all(DType wide, DType narrow) {
  if (wide == narrow) return true;
  if (wide == DType::boolean) return narrow == DType::u1;
  if (is_floating(narrow)) {
    if (!is_floating(wide) || wide == DType::f8_e8m0) return false;
    const FloatRange a = range_of(wide), b = range_of(narrow);
    return a.digits >= b.digits && a.largest >= b.largest && a.smallest <= b.smallest && a.special >= b.special;
  }
  const int count = magnitude_bits(narrow);
  const bool is_signed = kind(narrow) == DTypeKind::signed_integer;
  if (is_floating(wide)) {
    // The largest magnitude is 2^count - 1, and a signed type's least value is a power of two.
    const FloatRange a = range_of(wide);
    return wide != DType::f8_e8m0 && a.digits + 1 >= count && a.smallest <= 0 &&
           a.largest >= (is_signed ? count : count - 1);
  }
  return magnitude_bits(wide) >= count && (!is_signed || kind(wide) == DTypeKind::signed_integer);
}

}  // namespace relayout::checkpoint
