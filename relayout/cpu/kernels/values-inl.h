// Values in registers: elements are loaded as f32, multiplied where that is asked for, and stored as another type. The
// results equal those of loops over reorder/cast.h, bit for bit.
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

/// Whether load_values and store_values know a type. f16 needs the instructions of F16C, which come with AVX2.
template <DType D>
constexpr bool kInRegisters = D == DType::f32 || D == DType::bf16 || D == DType::u8 || D == DType::s8 ||
                              D == DType::s32 || (D == DType::f16 && HWY_TARGET <= HWY_AVX2);
/// Whether f32 holds all values of a type exactly. A conversion without arithmetic may then go by way of f32 even where
/// its compute type is another one.
template <DType D>
constexpr bool kExactInF32 = kInRegisters<D>&& D != DType::s32;

template <DType D>
HWY_INLINE Values load_values(const std::byte* from) {
  const F32 d;
  const hn::RebindToSigned<F32> d32;
  if constexpr (D == DType::f64) {
    const hn::Repartition<double, F32> d64;
    const hn::Half<F32> half;
    const auto low = hn::DemoteTo(half, hn::LoadU(d64, as<double>(from)));
    return hn::Combine(d, hn::DemoteTo(half, hn::LoadU(d64, as<double>(from) + hn::Lanes(d64))), low);
  } else if constexpr (D == DType::f32) {
    return hn::LoadU(d, as<float>(from));
  } else if constexpr (D == DType::s32) {
    return hn::ConvertTo(d, hn::LoadU(d32, as<int32_t>(from)));
  } else if constexpr (D == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> half;
    return hn::PromoteTo(d, hn::LoadU(half, as<hwy::float16_t>(from)));
  } else if constexpr (D == DType::bf16) {
    const hn::Rebind<uint16_t, F32> half;
    const hn::RebindToUnsigned<F32> u32;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u32, hn::LoadU(half, as<uint16_t>(from)))));
  } else {
    const hn::Rebind<Storage<D>, F32> narrow;
    return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(narrow, as<Storage<D>>(from))));
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

/// Rounds to the values of an integer type: NaN becomes 0, other values are saturated. Values that are too small may be
/// left to the saturating conversions that follow.
template <DType D>
HWY_INLINE hn::Vec<hn::RebindToSigned<F32>> integers(Values v) {
  constexpr float kHigh = D == DType::s8 ? 127.0f : D == DType::u8 ? 255.0f : 2147483520.0f;
#if HWY_TARGET <= HWY_AVX3
  // A value that is too small becomes the smallest 32-bit integer, which the conversions that follow saturate.
  const __mmask16 number = _mm512_cmp_ps_mask(v.raw, v.raw, _CMP_ORD_Q);
  return {_mm512_cvtps_epi32(_mm512_maskz_min_ps(number, v.raw, _mm512_set1_ps(kHigh)))};
#else
  constexpr float kLow = D == DType::s8 ? -128.0f : D == DType::u8 ? 0.0f : -2147483648.0f;
  const F32 d;
  const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
  return hn::NearestInt(hn::Min(hn::Max(number, hn::Set(d, kLow)), hn::Set(d, kHigh)));
#endif
}

/// Stores one register of values as D; with kStream past the cache, for types of 4 and 8 bytes.
template <DType D, bool kStream>
HWY_INLINE void store_values(Values v, std::byte* to) {
  const F32 d;
  if constexpr (D == DType::f64) {
    const hn::Repartition<double, F32> d64;
    const hn::Half<F32> half;
    put<kStream>(hn::PromoteTo(d64, hn::LowerHalf(half, v)), d64, as<double>(to));
    put<kStream>(hn::PromoteTo(d64, hn::UpperHalf(half, v)), d64, as<double>(to) + hn::Lanes(d64));
  } else if constexpr (D == DType::f32) {
    put<kStream>(v, d, as<float>(to));
  } else if constexpr (D == DType::s32) {
    put<kStream>(integers<D>(v), hn::RebindToSigned<F32>(), as<int32_t>(to));
  } else if constexpr (D == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> half;
    hn::StoreU(hn::DemoteTo(half, v), half, as<hwy::float16_t>(to));
  } else if constexpr (D == DType::bf16) {
    const hn::Rebind<uint16_t, F32> half;
    const auto lower = hn::BitCast(hn::RebindToSigned<F32>(), hn::ShiftRight<16>(upper_bf16(v)));
#if HWY_TARGET <= HWY_AVX3
    hn::StoreU({_mm512_cvtepi32_epi16(lower.raw)}, half, as<uint16_t>(to));
#else
    hn::StoreU(hn::DemoteTo(half, lower), half, as<uint16_t>(to));
#endif
  } else {
    const hn::Rebind<Storage<D>, F32> narrow;
#if HWY_TARGET <= HWY_AVX3
    const __m512i wide = integers<D>(v).raw;
    const __m128i saturated = D == DType::s8 ? _mm512_cvtsepi32_epi8(wide)
                                             : _mm512_cvtusepi32_epi8(_mm512_max_epi32(wide, _mm512_setzero_si512()));
    hn::StoreU({saturated}, narrow, as<Storage<D>>(to));
#else
    hn::StoreU(hn::DemoteTo(narrow, integers<D>(v)), narrow, as<Storage<D>>(to));
#endif
  }
}

#if HWY_TARGET <= HWY_AVX3

/// Makes a line of a type of 1 or 2 bytes out of the registers values(0), values(1) and so on.
template <DType D, typename V>
HWY_INLINE __m512i narrow_line(V values) {
  if constexpr (D == DType::bf16) {
    alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const auto low = upper_bf16(values(0)), high = upper_bf16(values(1));
    return _mm512_permutex2var_epi16(low.raw, _mm512_load_si512(kUpper), high.raw);
  } else if constexpr (D == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> half;
    const auto low = hn::DemoteTo(half, values(0)), high = hn::DemoteTo(half, values(1));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low.raw), high.raw, 1);
  } else {
    // The instructions that pack work within blocks of 16 bytes: block b gets the b-th four values of each register.
    alignas(64) static constexpr uint32_t kOrder[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const __m512i low = _mm512_packs_epi32(integers<D>(values(0)).raw, integers<D>(values(1)).raw);
    const __m512i high = _mm512_packs_epi32(integers<D>(values(2)).raw, integers<D>(values(3)).raw);
    const __m512i packed = D == DType::u8 ? _mm512_packus_epi16(low, high) : _mm512_packs_epi16(low, high);
    return _mm512_permutexvar_epi32(_mm512_load_si512(kOrder), packed);
  }
}

#endif

/// Calls each(operate) with the function that is applied to a register of values before it becomes one of D: it
/// multiplies by the scale and makes NaNs the quiet one. For integer types, NaNs need no handling, because they become
/// 0.
template <DType D, typename Each>
HWY_INLINE void with_scale(const float* scale, Each each) {
  const F32 d;
  if (!scale) return each([](Values v) HWY_ATTR { return v; });
  const auto factor = hn::Set(d, *scale), quiet = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  each([=](Values v) HWY_ATTR {
    const auto scaled = hn::Mul(v, factor);
    if constexpr (D == DType::u8 || D == DType::s8 || D == DType::s32)
      return scaled;
    else
      return hn::IfThenElse(hn::Eq(scaled, scaled), scaled, quiet);
  });
}

}  // namespace

#endif

#endif
