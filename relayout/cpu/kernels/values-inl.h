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

/// Rounds to the values of an integer type of at most 32 bits: NaN becomes 0, other values are saturated. Values that
/// are too small may be left to store_narrow().
template <DType D>
HWY_INLINE hn::Vec<hn::RebindToSigned<F32>> integers(Values v) {
  constexpr auto kHigh = cast_detail::upper_bound<D, float>(), kLow = static_cast<float>(cast_detail::kMin<D>);
  const F32 d;
#if HWY_TARGET <= HWY_AVX3
  // A value that is too small becomes the smallest 32-bit integer.
  const __mmask16 number = _mm512_cmp_ps_mask(v.raw, v.raw, _CMP_ORD_Q);
  Values most{_mm512_maskz_min_ps(number, v.raw, _mm512_set1_ps(kHigh))};
  if constexpr (kBits<D> == 4 || D == DType::u32) most = hn::Max(most, hn::Set(d, kLow));
  return {D == DType::u32 ? _mm512_cvtps_epu32(most.raw) : _mm512_cvtps_epi32(most.raw)};
#else
  const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
  const auto saturated = hn::Min(hn::Max(number, hn::Set(d, kLow)), hn::Set(d, kHigh));
  if constexpr (D == DType::u32) {
    const auto half = hn::Set(d, 0x1p31f);
    const auto upper = hn::Ge(saturated, half);
    const auto rest = hn::NearestInt(hn::Sub(saturated, hn::IfThenElseZero(upper, half)));
    const hn::RebindToSigned<F32> d32;
    return hn::Xor(rest, hn::IfThenElseZero(hn::RebindMask(d32, upper), hn::Set(d32, INT32_MIN)));
  } else {
    return hn::NearestInt(saturated);
  }
#endif
}

/// f32_to_f8_e5m2() and f32_to_f8_e4m3() of core/float.h.
template <DType D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<F32>> to_f8(Values v) {
  constexpr int kMantissa = D == DType::f8_e5m2 ? 2 : 3, kBias = D == DType::f8_e5m2 ? 15 : 7, kShift = 23 - kMantissa;
  constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
  const F32 d;
  const hn::RebindToUnsigned<F32> u32;
  const auto bits = hn::BitCast(u32, v), abs = hn::BitCast(u32, hn::Abs(v));
  const auto even = hn::And(hn::ShiftRight<kShift>(abs), hn::Set(u32, 1));
  const auto normal =
      hn::ShiftRight<kShift>(hn::Add(hn::Add(abs, even), hn::Set(u32, (1u << (kShift - 1)) - 1 - kRebias)));
  // See float_detail::round_magnitude() for the sum that rounds denormals.
  const auto magic = hn::Set(u32, static_cast<uint32_t>(127 + 24 - kBias - kMantissa) << 23);
  const auto denormal = hn::Sub(hn::BitCast(u32, hn::Add(hn::BitCast(d, abs), hn::BitCast(d, magic))), magic);
  const auto small = hn::RebindMask(u32, hn::Lt(hn::Abs(v), hn::BitCast(d, hn::Set(u32, kRebias + (1u << 23)))));
  const auto rounded = hn::IfThenElse(small, denormal, normal);
  const auto sign = hn::And(hn::ShiftRight<24>(bits), hn::Set(u32, 0x80));
  if constexpr (D == DType::f8_e4m3) return hn::Or(sign, hn::Min(rounded, hn::Set(u32, 0x7f)));
  const auto payload = hn::Or(hn::And(hn::ShiftRight<kShift>(bits), hn::Set(u32, 3)), hn::Set(u32, 0x7e));
  const auto number = hn::Min(rounded, hn::Set(u32, 0x7c));
  return hn::Or(sign, hn::IfThenElse(hn::RebindMask(u32, hn::Eq(v, v)), number, payload));
}

/// Stores integers of 32 bits as T, of 1 or 2 bytes. Values that are too small are saturated.
template <typename T>
HWY_INLINE void store_narrow(hn::Vec<hn::RebindToSigned<F32>> v, std::byte* to) {
  const hn::Rebind<T, F32> narrow;
#if HWY_TARGET <= HWY_AVX3
  // The instruction that saturates to unsigned integers takes unsigned ones.
  const __m512i wide = std::is_signed_v<T> ? v.raw : _mm512_max_epi32(v.raw, _mm512_setzero_si512());
  if constexpr (sizeof(T) == 1)
    hn::StoreU({std::is_signed_v<T> ? _mm512_cvtsepi32_epi8(wide) : _mm512_cvtusepi32_epi8(wide)}, narrow, as<T>(to));
  else
    hn::StoreU({std::is_signed_v<T> ? _mm512_cvtsepi32_epi16(wide) : _mm512_cvtusepi32_epi16(wide)}, narrow, as<T>(to));
#else
  hn::StoreU(hn::DemoteTo(narrow, v), narrow, as<T>(to));
#endif
}

/// Stores one register of values as D, a type of at most 4 bytes.
template <DType D>
HWY_INLINE void store_values(Values v, std::byte* to) {
  const F32 d;
  const hn::RebindToSigned<F32> d32;
  if constexpr (D == DType::f32) {
    hn::StoreU(v, d, as<float>(to));
  } else if constexpr (D == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> half;
    hn::StoreU(hn::DemoteTo(half, v), half, as<hwy::float16_t>(to));
  } else if constexpr (D == DType::bf16) {
    store_narrow<uint16_t>(hn::BitCast(d32, hn::ShiftRight<16>(upper_bf16(v))), to);
  } else if constexpr (kIsFloating<D>) {
    store_narrow<uint8_t>(hn::BitCast(d32, to_f8<D>(v)), to);
  } else if constexpr (D == DType::boolean) {
    const auto zero = hn::RebindMask(d32, hn::Eq(v, hn::Zero(d)));
    store_narrow<uint8_t>(hn::IfThenZeroElse(zero, hn::Set(d32, 1)), to);
  } else if constexpr (kBits<D> == 32) {
    hn::StoreU(integers<D>(v), d32, as<int32_t>(to));
  } else {
    store_narrow<Storage<D>>(integers<D>(v), to);
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

/// Multiplies values by a scale before they become D, and makes NaNs the quiet one. For types that are not floating,
/// NaNs need no handling.
template <DType D>
struct Scale {
  Values factor, quiet;

  explicit HWY_INLINE Scale(float scale)
      : factor(hn::Set(F32(), scale)), quiet(hn::Set(F32(), std::numeric_limits<float>::quiet_NaN())) {}
  HWY_INLINE Values operator()(Values v) const {
    const auto scaled = hn::Mul(v, factor);
    if constexpr (!kIsFloating<D>)
      return scaled;
    else
      return hn::IfThenElse(hn::Eq(scaled, scaled), scaled, quiet);
  }
};

/// Calls each(operate) with the function that is applied to a register of values before it becomes one of D.
template <DType D, typename Each>
HWY_INLINE void with_scale(const float* scale, Each each) {
  if (scale)
    each(Scale<D>(*scale));
  else
    each([](Values v) HWY_ATTR { return v; });
}

}  // namespace

#endif

#endif
