// The small floating types as bits (f16, bf16, f8_e5m2, f8_e4m3, f8_e8m0, f6_e3m2, f6_e2m3, f4_e2m1), and conversions
// to and from f32.
//
// Sources: IEEE 754-2019 (binary16), bfloat16 (the upper half of binary32), OCP "8-bit Floating
// Point Specification" rev. 1.0 (E5M2 with infinities; E4M3 without: S.1111.111 is its only NaN and
// 448 its largest value), OCP "Microscaling Formats (MX) Specification" v1.0 (E8M0, E3M2, E2M3, E2M1). What the last
// leaves open is as ml_dtypes does it.
//
// To a narrower type values round to nearest, ties to even, denormals included. Overflow gives
// infinity, or NaN in f8_e4m3, which has none. NaN stays NaN: the sign and the upper payload bits are kept
// and the quiet bit is set (in f8_e4m3 only the sign is kept). Widening is exact; it sets the quiet
// bit of a NaN too, except from bf16, whose bits are simply moved. f16 is bit-equal to F16C.
//
// The types of 6 and 4 bits have neither infinity nor NaN: overflow and infinity give the largest value of that sign,
// and NaN gives a zero whose sign is the opposite of its own. f8_e8m0 has powers of two only, and NaN for everything
// else: for zero, negative values, infinity and values from 1.5 * 2^127 on. Positive values below 2^-127 give 2^-127,
// and a value in the middle of two powers gives the larger one.
//
//     uint16_t h = f32_to_f16(65520.0f);    // 0x7c00, +inf: just over the largest half
//
// All of it is straight-line arithmetic that compilers vectorize, forced inline so that code built
// for one instruction set cannot be linked in place of another's. The rounding mode must be the
// default one; flushing of denormals to zero does no harm to f16 and the f8 types.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

/// Inlined always, also in builds without optimization.
#define RELAYOUT_INLINE [[gnu::always_inline]] inline

namespace relayout {
namespace float_detail {

// std::bit_cast is a function of its own in unoptimized builds; the builtin never is.
RELAYOUT_INLINE uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }
RELAYOUT_INLINE float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

/// a < b ? yes : no for a, b < 2^31, as bit arithmetic: a branch around floating-point work (which
/// may raise flags) would keep gcc from vectorizing.
RELAYOUT_INLINE uint32_t select_less(uint32_t a, uint32_t b, uint32_t yes, uint32_t no) {
  const auto mask = static_cast<uint32_t>(static_cast<int32_t>(a - b) >> 31);
  return (yes & mask) | (no & ~mask);
}

inline constexpr uint32_t kF32Inf = 0x7f800000;
inline constexpr uint32_t kF32Abs = 0x7fffffff;
inline constexpr uint32_t kF32Quiet = 0x00400000;

/// Rounds `abs`, the bits of a non-negative f32, to a type of that many mantissa bits and that bias, and returns that
/// type's bits without the sign. Overflow is left to the caller: a value beyond the type's largest number comes out as
/// the bits that it would have if exponents went on upwards, and infinity and NaN come out larger than all numbers. So
/// the caller compares the result with the bits of the type's infinity, or of its only NaN, and takes the smaller.
template <int kMantissa, int kBias>
RELAYOUT_INLINE uint32_t round_magnitude(uint32_t abs) {
  constexpr int kShift = 23 - kMantissa;
  constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
  constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - kBias) << 23;
  // The power of two whose ulp in f32 is the narrow type's denormal step: adding it makes the FPU
  // round a denormal at the right place.
  constexpr uint32_t kMagic = static_cast<uint32_t>(127 + 24 - kBias - kMantissa) << 23;
  const uint32_t normal = (abs - kRebias + ((1u << (kShift - 1)) - 1) + ((abs >> kShift) & 1)) >> kShift;
  const uint32_t denormal = bits_of(float_of(abs) + float_of(kMagic)) - kMagic;
  return select_less(abs, kSmallestNormal, denormal, normal);
}

/// f32 -> a type laid out as IEEE 754 has it, with infinities. The result is in the low bits.
template <int kMantissa, int kBias>
RELAYOUT_INLINE uint32_t narrow_ieee(float value) {
  constexpr uint32_t kInf = static_cast<uint32_t>(2 * kBias + 1) << kMantissa;
  constexpr uint32_t kSignShift = 32 - std::bit_width(2 * kInf - 1);
  constexpr uint32_t kQuiet = 1u << (kMantissa - 1);
  const uint32_t bits = bits_of(value);
  const uint32_t abs = bits & kF32Abs;
  const uint32_t sign = (bits ^ abs) >> kSignShift;
  const uint32_t rounded = round_magnitude<kMantissa, kBias>(abs);
  const uint32_t number = rounded < kInf ? rounded : kInf;
  const uint32_t nan = kInf | kQuiet | ((abs >> (23 - kMantissa)) & (kInf - 1) & ((1u << kMantissa) - 1));
  return sign | select_less(kF32Inf, abs, nan, number);
}

/// f32 -> a type without infinity and NaN, whose largest magnitude has the bits kMost. The result is in the low bits.
template <int kMantissa, int kBias, uint32_t kMost>
RELAYOUT_INLINE uint32_t narrow_saturating(float value) {
  constexpr uint32_t kSign = kMost + 1;
  const uint32_t bits = bits_of(value);
  const uint32_t abs = bits & kF32Abs;
  const uint32_t sign = (bits ^ abs) >> (32 - std::bit_width(kSign));
  const uint32_t rounded = round_magnitude<kMantissa, kBias>(abs);
  return select_less(kF32Inf, abs, sign ^ kSign, sign | (rounded < kMost ? rounded : kMost));
}

/// What the largest magnitudes of a type mean: those of the largest exponent infinity and NaN, the last one NaN, or
/// numbers as all others do.
enum class Largest : uint8_t { infinity, nan, number };

/// A type of kBits in all -> f32.
template <int kBits, int kMantissa, int kBias, Largest kLargest>
RELAYOUT_INLINE float widen(uint32_t bits) {
  constexpr uint32_t kAbs = (1u << (kBits - 1)) - 1;
  constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
  constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - kBias) << 23;
  const uint32_t abs = bits & kAbs;
  const uint32_t sign = (bits & (kAbs + 1)) << (32 - kBits);
  const uint32_t shifted = abs << (23 - kMantissa);
  const uint32_t normal = shifted + kRebias;
  // A denormal's mantissa, put under the smallest normal's exponent, is too large by just that.
  const uint32_t denormal = bits_of(float_of(shifted + kSmallestNormal) - float_of(kSmallestNormal));
  uint32_t out = select_less(abs, 1u << kMantissa, denormal, normal);
  if constexpr (kLargest == Largest::infinity) {
    constexpr uint32_t kInf = static_cast<uint32_t>(2 * kBias + 1) << kMantissa;
    out = select_less(abs, kInf, out, shifted | kF32Inf);
    out = select_less(kInf, abs, out | kF32Quiet, out);
  } else if constexpr (kLargest == Largest::nan) {
    out = select_less(abs, kAbs, out, kF32Inf | kF32Quiet);
  }
  return float_of(out | sign);
}

}  // namespace float_detail

RELAYOUT_INLINE uint16_t f32_to_f16(float value) {
  return static_cast<uint16_t>(float_detail::narrow_ieee<10, 15>(value));
}

RELAYOUT_INLINE uint16_t f32_to_bf16(float value) {
  const uint32_t bits = float_detail::bits_of(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits & float_detail::kF32Abs) > float_detail::kF32Inf ? nan : rounded);
}

RELAYOUT_INLINE uint8_t f32_to_f8_e5m2(float value) {
  return static_cast<uint8_t>(float_detail::narrow_ieee<2, 15>(value));
}

RELAYOUT_INLINE uint8_t f32_to_f8_e4m3(float value) {
  const uint32_t bits = float_detail::bits_of(value);
  const uint32_t abs = bits & float_detail::kF32Abs;
  const uint32_t sign = (bits ^ abs) >> 24;
  // All above the largest value is NaN, and NaN is the largest magnitude there is.
  const uint32_t rounded = float_detail::round_magnitude<3, 7>(abs);
  return static_cast<uint8_t>(sign | (rounded < 0x7f ? rounded : 0x7f));
}

RELAYOUT_INLINE uint8_t f32_to_f6_e3m2(float value) {
  return static_cast<uint8_t>(float_detail::narrow_saturating<2, 3, 31>(value));
}
RELAYOUT_INLINE uint8_t f32_to_f6_e2m3(float value) {
  return static_cast<uint8_t>(float_detail::narrow_saturating<3, 1, 31>(value));
}
RELAYOUT_INLINE uint8_t f32_to_f4_e2m1(float value) {
  return static_cast<uint8_t>(float_detail::narrow_saturating<1, 1, 7>(value));
}

RELAYOUT_INLINE uint8_t f32_to_f8_e8m0(float value) {
  const uint32_t bits = float_detail::bits_of(value);
  const uint32_t abs = bits & float_detail::kF32Abs;
  // Half of the exponent's last place is added, so that 1.5 * 2^e becomes 2^(e + 1). The numbers of the smallest
  // exponent are denormals, whose values follow each other evenly: from 1.5 * 2^-127 on they become 2^-126.
  const uint32_t rounded = (abs + 0x400000) >> 23;
  const uint32_t number = float_detail::select_less(abs, 0x600000, 0, rounded < 255 ? rounded : 255);
  // All ones for zero and for what has a sign.
  const auto none = static_cast<uint32_t>(static_cast<int32_t>(bits | (bits - 1)) >> 31);
  return static_cast<uint8_t>(number | none);
}

RELAYOUT_INLINE float f16_to_f32(uint16_t bits) {
  return float_detail::widen<16, 10, 15, float_detail::Largest::infinity>(bits);
}
RELAYOUT_INLINE float bf16_to_f32(uint16_t bits) { return float_detail::float_of(static_cast<uint32_t>(bits) << 16); }
RELAYOUT_INLINE float f8_e5m2_to_f32(uint8_t bits) {
  return float_detail::widen<8, 2, 15, float_detail::Largest::infinity>(bits);
}
RELAYOUT_INLINE float f8_e4m3_to_f32(uint8_t bits) {
  return float_detail::widen<8, 3, 7, float_detail::Largest::nan>(bits);
}
RELAYOUT_INLINE float f6_e3m2_to_f32(uint8_t bits) {
  return float_detail::widen<6, 2, 3, float_detail::Largest::number>(bits);
}
RELAYOUT_INLINE float f6_e2m3_to_f32(uint8_t bits) {
  return float_detail::widen<6, 3, 1, float_detail::Largest::number>(bits);
}
RELAYOUT_INLINE float f4_e2m1_to_f32(uint8_t bits) {
  return float_detail::widen<4, 1, 1, float_detail::Largest::number>(bits);
}
RELAYOUT_INLINE float f8_e8m0_to_f32(uint8_t bits) {
  const uint32_t exponent = bits;
  const uint32_t number = exponent != 0 ? exponent << 23 : 0x400000;  // 2^-127 is a denormal
  return float_detail::float_of(number | (exponent == 255 ? float_detail::kF32Quiet : 0));
}

/// f64 -> f32 rounded to odd: a result that is not exact gets its last bit set. Rounding that to a type of
/// at least two bits less then equals rounding the f64 directly (Boldo & Melquiond, 2008).
/// Beyond the largest f32 that is the largest f32; infinity and NaN as in a plain conversion.
RELAYOUT_INLINE float f64_to_f32_odd(double value) {
  constexpr uint64_t kAbs = ~uint64_t{0} >> 1;
  const float nearest = static_cast<float>(value);
  const uint32_t bits = float_detail::bits_of(nearest);
  // Bits of magnitudes compare like the magnitudes. An inexact neighbour that is even is one step
  // from the odd one: away from zero if it was rounded down, towards zero if up.
  const uint64_t rounded = __builtin_bit_cast(uint64_t, static_cast<double>(nearest)) & kAbs;
  const uint64_t exact = __builtin_bit_cast(uint64_t, value) & kAbs;
  const uint32_t even = ~bits & 1;
  const uint32_t up = rounded < exact ? even : 0;
  const uint32_t down = rounded > exact ? even : 0;
  return float_detail::float_of(value != value ? bits : bits + up - down);
}

}  // namespace relayout
