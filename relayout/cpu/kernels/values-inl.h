// Values in registers: elements are loaded as f32, computed with where that is asked for, and stored as another type.
// The results equal those of loops over reorder/cast.h, bit for bit.
#if defined(RELAYOUT_CPU_KERNELS_VALUES) == defined(HWY_TARGET_TOGGLE)
#ifdef RELAYOUT_CPU_KERNELS_VALUES
#undef RELAYOUT_CPU_KERNELS_VALUES
#else
#define RELAYOUT_CPU_KERNELS_VALUES
#endif

#include "relayout/cpu/kernels/common-inl.h"

#if RELAYOUT_KERNELS_SIMD

namespace {

using F32 = hn::ScalableTag<float>;
using Values = hn::Vec<F32>;
constexpr int64_t kValues = HWY_LANES(float);

/// Whether the functions below, and those of wide_values-inl.h, know a type. The narrow floating types need the
/// instructions of F16C, which come with AVX2.
template <DType D>
constexpr bool kInRegisters =
    !kIsFloating<D> || D == DType::f64 || D == DType::f32 || D == DType::bf16 ||
    (HWY_TARGET <= HWY_AVX2 && (D == DType::f16 || D == DType::f8_e5m2 || D == DType::f8_e4m3));

/// Loads elements of a type of at most 4 bytes.
template <DType D>
HWY_INLINE Values load_values(const std::byte* from) {
  const F32 d;
  const hn::Rebind<Storage<D>, F32> stored;
  const hn::RebindToSigned<F32> d32;
  if constexpr (D == DType::f32) {
    return hn::LoadU(d, as<float>(from));
  } else if constexpr (kBits<D> == 32) {
    return hn::ConvertTo(d, hn::LoadU(stored, as<Storage<D>>(from)));
  } else if constexpr (D == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> half;
    return hn::PromoteTo(d, hn::LoadU(half, as<hwy::float16_t>(from)));
  } else if constexpr (D == DType::bf16) {
    const hn::RebindToUnsigned<F32> u32;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u32, hn::LoadU(stored, as<uint16_t>(from)))));
  } else if constexpr (D == DType::f8_e5m2) {
    // These are the upper bytes of f16.
    const hn::Rebind<hwy::float16_t, F32> half;
    const hn::Rebind<uint16_t, F32> u16;
    const auto bits = hn::PromoteTo(u16, hn::LoadU(stored, as<uint8_t>(from)));
    return hn::PromoteTo(d, hn::BitCast(half, hn::ShiftLeft<8>(bits)));
  } else if constexpr (D == DType::f8_e4m3) {
    // Their exponent and mantissa, put where f16 has these, stand for a 256th of the value. What would be 480 is NaN.
    const hn::Rebind<hwy::float16_t, F32> half;
    const hn::Rebind<int16_t, F32> i16;
    const hn::RebindToUnsigned<F32> u32;
    const hn::Rebind<int8_t, F32> i8;
    const auto bits = hn::ShiftLeft<7>(hn::PromoteTo(i16, hn::LoadU(i8, as<int8_t>(from))));
    const auto small = hn::And(bits, hn::Set(i16, static_cast<int16_t>(0xbfff)));
    const auto v = hn::Mul(hn::PromoteTo(d, hn::BitCast(half, small)), hn::Set(d, 256.0f));
    const auto to_nan = hn::BitCast(d, hn::Set(u32, __builtin_bit_cast(uint32_t, 480.0f) ^ 0x7fc00000));
    return hn::Xor(v, hn::IfThenElseZero(hn::Eq(hn::Abs(v), hn::Set(d, 480.0f)), to_nan));
  } else {
    const auto integers = hn::PromoteTo(d32, hn::LoadU(stored, as<Storage<D>>(from)));
    return hn::ConvertTo(d, D == DType::boolean ? hn::Min(integers, hn::Set(d32, 1)) : integers);
  }
}

/// f32_to_bf16() of core/float.h: results are in the upper halves of the lanes; the lower halves hold anything.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<F32>> upper_bf16(Values v) {
  const hn::RebindToUnsigned<F32> u32;
  const auto bits = hn::BitCast(u32, v);
  const auto even = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(u32, 0x7fff)), even);
  return hn::IfThenElse(hn::RebindMask(u32, hn::Eq(v, v)), rounded, hn::Or(bits, hn::Set(u32, 0x400000)));
}

#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
/// Rounds to integers; what is too large or NaN becomes the smallest one.
HWY_INLINE hn::Vec<hn::RebindToSigned<F32>> nearest(Values v) {
#if HWY_TARGET <= HWY_AVX2
  return {_mm256_cvtps_epi32(v.raw)};
#else
  return {_mm_cvtps_epi32(v.raw)};
#endif
}
#endif

/// Rounds to the values of an integer type of at most 32 bits: NaN becomes 0, other values are saturated. Values that
/// are too small may be left to the saturating conversions that follow.
template <DType D>
HWY_INLINE hn::Vec<hn::RebindToSigned<F32>> integers(Values v) {
  constexpr auto kHigh = cast_detail::upper_bound<D, float>(), kLow = static_cast<float>(cast_detail::kMin<D>);
  const F32 d;
#if HWY_TARGET <= HWY_AVX3
  // A value that is too small becomes the smallest 32-bit integer.
  const __mmask16 number = _mm512_cmp_ps_mask(v.raw, v.raw, _CMP_ORD_Q);
  Values most{_mm512_maskz_min_ps(number, v.raw, _mm512_set1_ps(kHigh))};
  if constexpr (D == DType::u32) most = hn::Max(most, hn::Set(d, kLow));
  return {D == DType::u32 ? _mm512_cvtps_epu32(most.raw) : _mm512_cvtps_epi32(most.raw)};
#else
  if constexpr (!HWY_ARCH_X86 || D == DType::u32) {
    const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
    const auto saturated = hn::Min(hn::Max(number, hn::Set(d, kLow)), hn::Set(d, kHigh));
    if constexpr (D != DType::u32) return hn::NearestInt(saturated);
    const auto half = hn::Set(d, 0x1p31f);
    const auto upper = hn::Ge(saturated, half);
    const auto rest = hn::NearestInt(hn::Sub(saturated, hn::IfThenElseZero(upper, half)));
    const hn::RebindToSigned<F32> d32;
    return hn::Xor(rest, hn::IfThenElseZero(hn::RebindMask(d32, upper), hn::Set(d32, INT32_MIN)));
  } else {
    // The instruction makes the smallest 32-bit integer of a value that is too small and of NaN, which the smaller of
    // two values is on x86 where the second is NaN. Of unsigned types both are 0.
    if constexpr (kIsSigned<D>) v = hn::IfThenElseZero(hn::Eq(v, v), v);
    return nearest(hn::Min(hn::Set(d, kHigh), v));
  }
#endif
}

/// f32_to_f8_e5m2() and f32_to_f8_e4m3() of core/float.h.
template <DType D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<F32>> to_f8(Values v) {
  constexpr int kMantissa = D == DType::f8_e5m2 ? 2 : 3, kBias = D == DType::f8_e5m2 ? 15 : 7, kShift = 23 - kMantissa;
  constexpr float kOverflow = D == DType::f8_e5m2 ? 65536.0f : 480.0f;
  const F32 d;
  const hn::RebindToUnsigned<F32> u32;
  const auto smallest_normal = hn::Set(u32, static_cast<uint32_t>(128 - kBias) << 23);
  // The least value that overflows also takes the place of NaN, by x86's rule for the smaller of two values.
  const auto abs = hn::Min(hn::Abs(v), hn::Set(d, kOverflow));
  // How far the exponent is above that of the smallest normal value; denormals count as if they had that one.
  const auto exponent = hn::And(hn::BitCast(u32, abs), hn::Set(u32, 0x7f800000));
  const auto above = hn::Sub(hn::Max(exponent, smallest_normal), smallest_normal);
  // In the sum with a power of two whose last place is the result's, the FPU rounds there; what it adds to the bits of
  // that power is the mantissa, with its leading bit.
  const auto power = hn::Add(above, hn::Set(u32, static_cast<uint32_t>(128 - kBias + kShift) << 23));
  const auto mantissa = hn::Sub(hn::BitCast(u32, hn::Add(abs, hn::BitCast(d, power))), power);
  const auto sign = hn::And(hn::ShiftRight<24>(hn::BitCast(u32, v)), hn::Set(u32, 0x80));
  const auto number = hn::Or(hn::Add(hn::ShiftRight<kShift>(above), mantissa), sign);
  if constexpr (D == DType::f8_e4m3) return number;
  const auto quiet = hn::Or(hn::And(hn::ShiftRight<kShift>(hn::BitCast(u32, v)), hn::Set(u32, 1)), hn::Set(u32, 2));
  return hn::Or(number, hn::IfThenZeroElse(hn::RebindMask(u32, hn::Eq(v, v)), quiet));
}

/// Values as a type of 1 or 2 bytes that is not f16, in lanes of 32 bits. Integers that are too small are left to the
/// saturating conversions that follow.
template <DType D>
HWY_INLINE hn::Vec<hn::RebindToSigned<F32>> narrow_lanes(Values v) {
  const hn::RebindToSigned<F32> d32;
  if constexpr (D == DType::bf16) {
    return hn::BitCast(d32, hn::ShiftRight<16>(upper_bf16(v)));
  } else if constexpr (kIsFloating<D>) {
    return hn::BitCast(d32, to_f8<D>(v));
  } else if constexpr (D == DType::boolean) {
    return hn::IfThenZeroElse(hn::RebindMask(d32, hn::Eq(v, hn::Zero(F32()))), hn::Set(d32, 1));
  } else {
    return integers<D>(v);
  }
}

/// Stores one register of values as D, a type of at most 4 bytes.
template <DType D>
HWY_INLINE void store_values(Values v, std::byte* to) {
  using T = Storage<D>;
  const hn::Rebind<T, F32> stored;
  if constexpr (D == DType::f32) {
    hn::StoreU(v, F32(), as<float>(to));
  } else if constexpr (D == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> half;
    hn::StoreU(hn::DemoteTo(half, v), half, as<hwy::float16_t>(to));
  } else if constexpr (kBits<D> == 32) {
    hn::StoreU(hn::BitCast(stored, integers<D>(v)), stored, as<T>(to));
  } else {
    const auto lanes = narrow_lanes<D>(v);
#if HWY_TARGET <= HWY_AVX3
    // The instruction that saturates to unsigned integers takes unsigned ones.
    const __m512i wide = std::is_signed_v<T> ? lanes.raw : _mm512_max_epi32(lanes.raw, _mm512_setzero_si512());
    if constexpr (sizeof(T) == 1)
      hn::StoreU({std::is_signed_v<T> ? _mm512_cvtsepi32_epi8(wide) : _mm512_cvtusepi32_epi8(wide)}, stored, as<T>(to));
    else
      hn::StoreU({std::is_signed_v<T> ? _mm512_cvtsepi32_epi16(wide) : _mm512_cvtusepi32_epi16(wide)}, stored,
                 as<T>(to));
#else
    hn::StoreU(hn::DemoteTo(stored, lanes), stored, as<T>(to));
#endif
  }
}

#if HWY_ARCH_X86

using Bytes = hn::Vec<Wide<uint8_t>>;

/// Packs integers of 32 bits of two registers, or of four, to registers of integers of 2 bytes, or of 1, in their
/// order, saturated to signed or unsigned ones. The instructions that pack work within blocks of 16 bytes.
template <bool kSigned, typename V>
HWY_INLINE Bytes pack(V a, V b) {
#if HWY_TARGET <= HWY_AVX3
  alignas(64) static constexpr uint64_t kOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  const __m512i v = kSigned ? _mm512_packs_epi32(a.raw, b.raw) : _mm512_packus_epi32(a.raw, b.raw);
  return {_mm512_permutexvar_epi64(_mm512_load_si512(kOrder), v)};
#elif HWY_TARGET <= HWY_AVX2
  const __m256i v = kSigned ? _mm256_packs_epi32(a.raw, b.raw) : _mm256_packus_epi32(a.raw, b.raw);
  return {_mm256_permute4x64_epi64(v, 0xd8)};
#else
  return {kSigned ? _mm_packs_epi32(a.raw, b.raw) : _mm_packus_epi32(a.raw, b.raw)};
#endif
}
template <bool kSigned, typename V>
HWY_INLINE Bytes pack(V a, V b, V c, V d) {
#if HWY_TARGET <= HWY_AVX3
  alignas(64) static constexpr uint32_t kOrder[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const __m512i low = _mm512_packs_epi32(a.raw, b.raw), high = _mm512_packs_epi32(c.raw, d.raw);
  const __m512i v = kSigned ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
  return {_mm512_permutexvar_epi32(_mm512_load_si512(kOrder), v)};
#elif HWY_TARGET <= HWY_AVX2
  const __m256i low = _mm256_packs_epi32(a.raw, b.raw), high = _mm256_packs_epi32(c.raw, d.raw);
  const __m256i v = kSigned ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
  return {_mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))};
#else
  const __m128i low = _mm_packs_epi32(a.raw, b.raw), high = _mm_packs_epi32(c.raw, d.raw);
  return {kSigned ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high)};
#endif
}

/// Makes a register of D, a type of 1 or 2 bytes, of the registers lanes(0), lanes(1) and so on of 32-bit integers.
template <DType D, typename Function>
HWY_INLINE Bytes pack_lanes(Function lanes) {
  constexpr bool kSigned = std::is_signed_v<Storage<D>>;
  if constexpr (sizeof(Storage<D>) == 2)
    return pack<kSigned>(lanes(0), lanes(1));
  else
    return pack<kSigned>(lanes(0), lanes(1), lanes(2), lanes(3));
}

/// Makes a register of a type of 1 or 2 bytes out of the registers values(0), values(1) and so on.
template <DType D, typename V>
HWY_INLINE Bytes narrow_register(V values) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (D == DType::bf16) {
    alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const auto low = upper_bf16(values(0)), high = upper_bf16(values(1));
    return {_mm512_permutex2var_epi16(low.raw, _mm512_load_si512(kUpper), high.raw)};
  }
#endif
  if constexpr (D == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> half;
    const hn::Half<Wide<uint8_t>> bytes;
    const auto low = hn::BitCast(bytes, hn::DemoteTo(half, values(0)));
    return hn::Combine(Wide<uint8_t>(), hn::BitCast(bytes, hn::DemoteTo(half, values(1))), low);
  } else {
    return pack_lanes<D>([&](int64_t k) HWY_ATTR { return narrow_lanes<D>(values(k)); });
  }
}

#endif

/// Computes the formula of reorder/attributes.h without the old value, before values become D. NaNs become the quiet
/// one; for types that are not floating they need no handling.
template <DType D>
HWY_INLINE Values computed(Values v, Values subtracted, Values factor, Values divisor, bool divides, Values added) {
  v = hn::Mul(hn::Sub(v, subtracted), factor);
  if (divides) v = hn::Div(v, divisor);
  v = hn::Add(v, added);
  if constexpr (kIsFloating<D>)
    return hn::IfThenElse(hn::Eq(v, v), v, hn::Set(F32(), std::numeric_limits<float>::quiet_NaN()));
  else
    return v;
}

/// Does so with the same attribute values for all elements of a run.
template <DType D>
struct Arithmetics {
  Values subtracted, factor, divisor, added;
  bool divides;

  explicit HWY_INLINE Arithmetics(const RunAttributes& a, int64_t run = 0)
      : subtracted(hn::Set(F32(), a.subtracted[a.entry(0, run)])),
        factor(hn::Set(F32(), a.src_scale[a.entry(0, run)])),
        divisor(hn::Set(F32(), a.dst_scale[a.entry(0, run)])),
        added(hn::Set(F32(), a.added[a.entry(0, run)])),
        divides(a.divides) {}
  HWY_INLINE Values operator()(Values v) const { return computed<D>(v, subtracted, factor, divisor, divides, added); }
};

/// Does so with values of their own for the elements from i on.
template <DType D>
HWY_INLINE Values computed_at(Values v, const RunAttributes& a, int64_t i) {
  const F32 d;
  return computed<D>(v, hn::LoadU(d, a.subtracted + i), hn::LoadU(d, a.src_scale + i), hn::LoadU(d, a.dst_scale + i),
                     a.divides, hn::LoadU(d, a.added + i));
}

/// Calls each(operate) with the function that is applied to a register of values before it becomes one of D.
template <DType D, typename Each>
HWY_INLINE void with_arithmetic(const RunAttributes* attributes, Each each) {
  if (attributes)
    each(Arithmetics<D>(*attributes));
  else
    each([](Values v) HWY_ATTR { return v; });
}

}  // namespace

#endif

#endif
