// Conversion of one value between element types: the rules, as small inline functions.
//
// A conversion is load -> (arithmetic) -> store through a *compute type*, so that types add and do
// not multiply: load<T>() gives the compute type's value, store<T>() rounds and saturates it.
//
// | compute type | when |
// | i128 | no arithmetic attribute, and s64 or u64 on either side with no floating source |
// | f64  | otherwise, f64, s64 or u64 on either side, or s32 and u32 in any mix on both |
// | f32  | otherwise |
//
// To an integer type: NaN gives 0; else saturate to the type's range, then round to nearest even. The
// upper bound is the largest value *of the compute type* not above the integer's, so f32 -> s32 ends
// at 2147483520 (oneDNN's rule). To a floating type: round to nearest even, overflow as the type does
// (core/float.h), or saturate where it has no infinity. To bool: not equal 0 (NaN is true). From bool: 0 or 1. With
// arithmetic attributes a NaN result is the type's positive quiet NaN, so that no order of operands shows. The whole
// table with examples is docs/conversions.md.
//
//     float x = load<float, DType::u8>(200);                 // 200.0f
//     int8_t y = store<DType::s8, float>(x);                 // 127
//
// The templates are for kernels. They have no calls and no branches around floating-point work, so that gcc vectorizes
// them. They are forced inline, so that code built for one instruction set is never linked in place of another's. They
// need the default rounding mode and one rounding for each operation (-ffp-contract=off, no -ffast-math).
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "relayout/core/dtype.h"
#include "relayout/core/float.h"

namespace relayout {

enum class ComputeType : uint8_t { f32, f64, i128 };

/// The compute type of a pair, by the table above.
constexpr ComputeType compute_type(DType src, DType dst, bool arithmetic) {
  const auto of = [](DType dtype) { return kDTypeRows[static_cast<std::size_t>(dtype)]; };
  const auto floating = [&](DType dtype) { return of(dtype).kind == DTypeKind::floating; };
  const auto integer = [&](DType dtype, int bits) { return of(dtype).bits == bits && !floating(dtype); };
  const bool wide_integer = integer(src, 64) || integer(dst, 64);
  if (wide_integer && !arithmetic && !floating(src)) return ComputeType::i128;
  if (of(src).bits == 64 || of(dst).bits == 64 || (integer(src, 32) && integer(dst, 32))) return ComputeType::f64;
  return ComputeType::f32;
}

/// The bits of `value` converted to `dtype` by the rules above, in the low bits of the result. For padding.
uint64_t encode(DType dtype, double value);

/// The C++ type of ComputeType::i128. It holds every s64 and u64.
__extension__ typedef __int128 Int128;

/// bits() and kind() as constants.
template <DType D>
inline constexpr int kBits = kDTypeRows[static_cast<std::size_t>(D)].bits;
template <DType D>
inline constexpr DTypeKind kKind = kDTypeRows[static_cast<std::size_t>(D)].kind;
template <DType D>
inline constexpr bool kIsFloating = kKind<D> == DTypeKind::floating;
template <DType D>
inline constexpr bool kIsSigned = kKind<D> == DTypeKind::signed_integer;
template <DType D>
inline constexpr bool kIsSubByte = kBits<D> < 8;

namespace cast_detail {

template <DType D, typename For8, typename For16, typename For32, typename For64>
using ByBits =
    std::conditional_t<kBits<D> <= 8, For8,
                       std::conditional_t<kBits<D> == 16, For16, std::conditional_t<kBits<D> == 32, For32, For64>>>;
template <DType D>
using StorageOf = std::conditional_t<kIsFloating<D>, ByBits<D, uint8_t, uint16_t, float, double>,
                                     std::conditional_t<kIsSigned<D>, ByBits<D, int8_t, int16_t, int32_t, int64_t>,
                                                        ByBits<D, uint8_t, uint16_t, uint32_t, uint64_t>>>;

}  // namespace cast_detail

/// The C++ type of one stored element: its bits for the small floating types, a byte for bool. A sub-byte element
/// stands alone in a byte, s4 and s2 sign-extended; memory packs several (read_element).
template <DType D>
using Storage = cast_detail::StorageOf<D>;

/// Calls f(std::integral_constant<DType, D>()) for D == dtype.
template <typename F>
RELAYOUT_INLINE void with_dtype(DType dtype, F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (void)((dtype == static_cast<DType>(I) ? (f(std::integral_constant<DType, static_cast<DType>(I)>()), true)
                                           : false) ||
           ...);
  }
  (std::make_index_sequence<kDTypeCount>());
}

/// The first byte that has bits of sub-byte element i, and at which of its bits the element starts. An element of 6
/// bits may end in the next byte.
template <int kElementBits>
struct BitPlace {
  int64_t byte;
  int shift;

  RELAYOUT_INLINE explicit BitPlace(int64_t i)
      : byte((i >> 3) * kElementBits + ((static_cast<int>(i & 7) * kElementBits) >> 3)),
        shift((static_cast<int>(i & 7) * kElementBits) & 7) {}
  RELAYOUT_INLINE bool ends_in_next() const { return 8 % kElementBits != 0 && shift + kElementBits > 8; }
};

/// Element i of packed memory at any alignment; how sub-byte elements lie is said at bits() of core/dtype.h.
template <DType D>
RELAYOUT_INLINE Storage<D> read_element(const void* base, int64_t i) {
  if constexpr (kIsSubByte<D>) {
    constexpr int kMask = (1 << kBits<D>)-1, kSign = 1 << (kBits<D> - 1);
    const auto* bytes = static_cast<const uint8_t*>(base);
    const BitPlace<kBits<D>> at(i);
    int both = bytes[at.byte];
    if (at.ends_in_next()) both |= bytes[at.byte + 1] << 8;
    const int value = (both >> at.shift) & kMask;
    return static_cast<Storage<D>>(kIsSigned<D> ? (value ^ kSign) - kSign : value);
  } else {
    Storage<D> out;
    __builtin_memcpy(&out, static_cast<const char*>(base) + i * static_cast<int64_t>(sizeof out), sizeof out);
    return out;
  }
}

/// Writes element i. The bits of other elements in its bytes are kept.
template <DType D>
RELAYOUT_INLINE void write_element(void* base, int64_t i, Storage<D> value) {
  if constexpr (kIsSubByte<D>) {
    constexpr int kMask = (1 << kBits<D>)-1;
    auto* bytes = static_cast<uint8_t*>(base);
    const BitPlace<kBits<D>> at(i);
    const int mask = kMask << at.shift, bits = (value & kMask) << at.shift;
    bytes[at.byte] = static_cast<uint8_t>((bytes[at.byte] & ~mask) | bits);
    if (at.ends_in_next()) bytes[at.byte + 1] = static_cast<uint8_t>((bytes[at.byte + 1] & ~(mask >> 8)) | (bits >> 8));
  } else {
    __builtin_memcpy(static_cast<char*>(base) + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
  }
}

namespace cast_detail {

/// The range of an integer type; sub-byte types are narrower than their storage.
template <DType D>
inline constexpr Int128 kMax = (Int128{1} << (kBits<D> - (kIsSigned<D> ? 1 : 0))) - 1;
template <DType D>
inline constexpr Int128 kMin = kIsSigned<D> ? -kMax<D> - 1 : Int128{0};

/// The largest value of floating type C that is not above the integer type's.
template <DType D, typename C>
constexpr C upper_bound() {
  Int128 max = kMax<D>;
  int excess = 0;
  while ((max >> excess) >= Int128{1} << std::numeric_limits<C>::digits) ++excess;
  return static_cast<C>(max >> excess << excess);
}

/// Rounds to nearest even, for |value| < 2^22 (float) or 2^51 (double): adding 1.5 * 2^23 (2^52) leaves the integer in
/// the low bits.
RELAYOUT_INLINE int32_t round_small(float value) {
  return __builtin_bit_cast(int32_t, value + 0x1.8p23f) - __builtin_bit_cast(int32_t, 0x1.8p23f);
}
RELAYOUT_INLINE int64_t round_small(double value) {
  return __builtin_bit_cast(int64_t, value + 0x1.8p52) - __builtin_bit_cast(int64_t, 0x1.8p52);
}

/// Rounds any finite value to an integral value, to nearest even. To values too large to have fraction bits, 0 is
/// added. To the others, a magnitude is added at which the FPU rounds to units, and then subtracted again.
RELAYOUT_INLINE float round_large(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t magic = (bits & 0x7fffffff) < 0x4b000000 ? (bits & 0x80000000) | 0x4b000000 : 0;
  return (value + __builtin_bit_cast(float, magic)) - __builtin_bit_cast(float, magic);
}
RELAYOUT_INLINE double round_large(double value) {
  const uint64_t bits = __builtin_bit_cast(uint64_t, value);
  const uint64_t sign = bits & (uint64_t{1} << 63);
  const uint64_t magic = (bits ^ sign) < 0x4330000000000000 ? sign | 0x4330000000000000 : 0;
  return (value + __builtin_bit_cast(double, magic)) - __builtin_bit_cast(double, magic);
}

/// `value` saturated to [low, high], where low <= 0 <= high; NaN becomes 0. Magnitudes are compared as integers, which
/// have the same order, so that gcc has nothing to make a branch of.
template <typename C>
RELAYOUT_INLINE C saturate(C value, C low, C high) {
  using Bits = std::conditional_t<std::is_same_v<C, float>, uint32_t, uint64_t>;
  using SignedBits = std::make_signed_t<Bits>;
  constexpr int kSignBit = 8 * sizeof(C) - 1;
  const Bits bits = __builtin_bit_cast(Bits, value);
  const auto negative = static_cast<Bits>(static_cast<SignedBits>(bits) >> kSignBit);  // all ones or none
  constexpr Bits kAbs = ~(Bits{1} << kSignBit);
  const Bits abs = bits & kAbs;
  const Bits infinity = __builtin_bit_cast(Bits, std::numeric_limits<C>::infinity());
  const auto nan = static_cast<Bits>(static_cast<SignedBits>(infinity - abs) >> kSignBit);
  const Bits limit = (__builtin_bit_cast(Bits, high) & ~negative) | (__builtin_bit_cast(Bits, low) & kAbs & negative);
  const Bits saturated = (abs < limit ? abs : limit) & ~nan;
  return __builtin_bit_cast(C, saturated | (bits ^ abs));
}

/// A floating value to an integer type.
template <DType D, typename C>
RELAYOUT_INLINE Storage<D> to_integer(C value) {
  constexpr C kLow = static_cast<C>(kMin<D>);
  constexpr C kHigh = upper_bound<D, C>();
  constexpr C kSmall = std::is_same_v<C, float> ? C(0x1p22) : C(0x1p51);
  value = saturate(value, kLow, kHigh);
  if constexpr (kHigh < kSmall && -kLow < kSmall) {
    return static_cast<Storage<D>>(round_small(value));
  } else {
    return static_cast<Storage<D>>(round_large(value));
  }
}

/// An integer in the range of s64 and u64 to f32 or f64, rounded once.
template <typename C>
RELAYOUT_INLINE C integer_to(Int128 value) {
  return value < 0 ? static_cast<C>(static_cast<int64_t>(value)) : static_cast<C>(static_cast<uint64_t>(value));
}

/// An integer in the range of s64 and u64 to f32, rounded to odd.
RELAYOUT_INLINE float integer_to_f32_odd(Int128 value) {
  const auto magnitude = static_cast<uint64_t>(value < 0 ? -value : value);
  // A double has no room for the lowest bits of a large integer, so bit 12 stands for all 12 bits below it, too.
  const uint64_t gathered = (magnitude & ~uint64_t{0xfff}) | ((magnitude & 0xfff) != 0 ? 0x1000 : 0);
  const auto held = static_cast<double>(magnitude >> 53 != 0 ? gathered : magnitude);
  return f64_to_f32_odd(value < 0 ? -held : held);
}

template <DType D>
RELAYOUT_INLINE Storage<D> from_f32(float value) {
  if constexpr (D == DType::f32)
    return value;
  else if constexpr (D == DType::f16)
    return f32_to_f16(value);
  else if constexpr (D == DType::bf16)
    return f32_to_bf16(value);
  else if constexpr (D == DType::f8_e5m2)
    return f32_to_f8_e5m2(value);
  else if constexpr (D == DType::f8_e4m3)
    return f32_to_f8_e4m3(value);
  else if constexpr (D == DType::f8_e8m0)
    return f32_to_f8_e8m0(value);
  else if constexpr (D == DType::f6_e3m2)
    return f32_to_f6_e3m2(value);
  else if constexpr (D == DType::f6_e2m3)
    return f32_to_f6_e2m3(value);
  else if constexpr (D == DType::f4_e2m1)
    return f32_to_f4_e2m1(value);
  else
    static_assert(D == DType::f32, "a floating type needs a line here that calls its conversion from f32");
}

}  // namespace cast_detail

/// Converts a stored element to the compute type C (float, double, Int128). float rounds s32 and u32, double rounds s64
/// and u64. Int128 is for sources that are not floating.
template <typename C, DType D>
RELAYOUT_INLINE C load(Storage<D> element) {
  static_assert(!kIsFloating<D> || std::is_floating_point_v<C>, "no integer holds a floating source");
  if constexpr (D == DType::f16)
    return static_cast<C>(f16_to_f32(element));
  else if constexpr (D == DType::bf16)
    return static_cast<C>(bf16_to_f32(element));
  else if constexpr (D == DType::f8_e5m2)
    return static_cast<C>(f8_e5m2_to_f32(element));
  else if constexpr (D == DType::f8_e4m3)
    return static_cast<C>(f8_e4m3_to_f32(element));
  else if constexpr (D == DType::f8_e8m0)
    return static_cast<C>(f8_e8m0_to_f32(element));
  else if constexpr (D == DType::f6_e3m2)
    return static_cast<C>(f6_e3m2_to_f32(element));
  else if constexpr (D == DType::f6_e2m3)
    return static_cast<C>(f6_e2m3_to_f32(element));
  else if constexpr (D == DType::f4_e2m1)
    return static_cast<C>(f4_e2m1_to_f32(element));
  else if constexpr (D == DType::boolean)
    return static_cast<C>(element != 0 ? 1 : 0);
  else {
    static_assert(!kIsFloating<D> || D == DType::f32 || D == DType::f64,
                  "a floating type needs a line here that calls its conversion to f32");
    return static_cast<C>(element);
  }
}

/// Converts a value of the compute type to an element of type D by the rules at the top, rounding once.
template <DType D, typename C>
RELAYOUT_INLINE Storage<D> store(C value) {
  using namespace cast_detail;
  if constexpr (D == DType::boolean) {
    return static_cast<uint8_t>(value != 0 ? 1 : 0);
  } else if constexpr (D == DType::f64 || (D == DType::f32 && std::is_same_v<C, double>)) {
    if constexpr (std::is_floating_point_v<C>)
      return static_cast<Storage<D>>(value);
    else
      return integer_to<double>(value);
  } else if constexpr (kIsFloating<D>) {
    if constexpr (std::is_same_v<C, float>)
      return from_f32<D>(value);
    else if constexpr (std::is_same_v<C, double>)
      return from_f32<D>(f64_to_f32_odd(value));
    else if constexpr (D == DType::f32)
      return integer_to<float>(value);
    else if constexpr (D == DType::bf16 || D == DType::f8_e8m0)
      return from_f32<D>(integer_to_f32_odd(value));
    // Magnitudes beyond 2^17 overflow all others, and smaller integers are exact in f32.
    else
      return from_f32<D>(static_cast<float>(static_cast<int32_t>(value < -0x20000  ? -0x20000
                                                                 : value > 0x20000 ? 0x20000
                                                                                   : value)));
  } else if constexpr (std::is_floating_point_v<C>) {
    return to_integer<D>(value);
  } else {
    return static_cast<Storage<D>>(value < kMin<D> ? kMin<D> : value > kMax<D> ? kMax<D> : value);
  }
}

/// The value, or the positive quiet NaN for any NaN: the last step of arithmetic.
template <typename C>
RELAYOUT_INLINE C canonical_nan(C value) {
  return value == value ? value : std::numeric_limits<C>::quiet_NaN();
}

}  // namespace relayout
