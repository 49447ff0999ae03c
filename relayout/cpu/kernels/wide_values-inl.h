// Values in registers (values-inl.h) of types that f32 does not hold: f64, and integers of 64 bits.
//
// f64 and 64-bit integers become narrow types by way of f32 *rounded to odd*: an inexact result has its last bit set.
// Rounding that to a type of at least two bits less equals rounding the source directly.

#include "relayout/cpu/kernels/values-inl.h"

/// Whether wider types become integers of at most 4 bytes by the instructions that pack and saturate. AVX-512 has an
/// instruction for each pair of types instead.
#ifndef RELAYOUT_PACKS
#define RELAYOUT_PACKS (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3)
#endif

namespace {

using F64 = hn::Repartition<double, F32>;
/// kValues values, in two registers.
struct Doubles {
  hn::Vec<F64> low, high;
};

/// Calls f(i) for both registers, whose elements begin at index i.
template <typename Function>
HWY_INLINE Doubles both(Function f) {
  return {f(0), f(kValues / 2)};
}

/// Rounds to f32, to nearest.
HWY_INLINE Values nearest_f32(const Doubles& v) {
  const hn::Half<F32> half;
  return hn::Combine(F32(), hn::DemoteTo(half, v.high), hn::DemoteTo(half, v.low));
}

HWY_INLINE Doubles doubles(Values v) {
  const hn::Half<F32> half;
  return {hn::PromoteTo(F64(), hn::LowerHalf(half, v)), hn::PromoteTo(F64(), hn::UpperHalf(half, v))};
}

#if HWY_TARGET <= HWY_AVX3

/// Joins two halves of f32 that were rounded towards zero, and sets the last bits of those that are inexact.
HWY_INLINE Values join_odd(__m256 low, __mmask8 low_inexact, __m256 high, __mmask8 high_inexact) {
  const __m512i bits =
      _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_castps_si256(low)), _mm256_castps_si256(high), 1);
  const __mmask16 inexact = _mm512_kunpackb(high_inexact, low_inexact);
  return {_mm512_castsi512_ps(_mm512_mask_or_epi32(bits, inexact, bits, _mm512_set1_epi32(1)))};
}

constexpr int kTowardsZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

HWY_INLINE Values odd_f32(const Doubles& v) {
  const __m256 low = _mm512_cvt_roundpd_ps(v.low.raw, kTowardsZero);
  const __m256 high = _mm512_cvt_roundpd_ps(v.high.raw, kTowardsZero);
  return join_odd(low, _mm512_cmp_pd_mask(_mm512_cvtps_pd(low), v.low.raw, _CMP_NEQ_OQ),  //
                  high, _mm512_cmp_pd_mask(_mm512_cvtps_pd(high), v.high.raw, _CMP_NEQ_OQ));
}

/// Integers of 64 bits as f32, rounded to nearest or to odd.
template <DType S, bool kOdd>
HWY_INLINE Values f32_of_integers(const std::byte* from) {
  constexpr int kRounding = kOdd ? kTowardsZero : _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + kCacheLine);
  const auto rounded = [](__m512i v) HWY_ATTR {
    return S == DType::s64 ? _mm512_cvt_roundepi64_ps(v, kRounding) : _mm512_cvt_roundepu64_ps(v, kRounding);
  };
  const auto inexact = [](__m256 v, __m512i exact) HWY_ATTR -> __mmask8 {
    if constexpr (!kOdd) return 0;
    return _mm512_cmpneq_epi64_mask(S == DType::s64 ? _mm512_cvttps_epi64(v) : _mm512_cvttps_epu64(v), exact);
  };
  const __m256 a = rounded(low), b = rounded(high);
  return join_odd(a, inexact(a, low), b, inexact(b, high));
}

#else

HWY_INLINE Values odd_f32(const Doubles& v) {
  const hn::RebindToSigned<F32> i32;
  const Doubles back = doubles(nearest_f32(v));
  const auto where = [&](auto compare) HWY_ATTR {
    const auto low = compare(hn::Abs(back.low), hn::Abs(v.low)), high = compare(hn::Abs(back.high), hn::Abs(v.high));
    return hn::ConcatEven(i32, hn::BitCast(i32, hn::VecFromMask(F64(), high)),
                          hn::BitCast(i32, hn::VecFromMask(F64(), low)));
  };
  const auto over = where([](auto a, auto b) HWY_ATTR { return hn::Gt(a, b); });
  const auto under = where([](auto a, auto b) HWY_ATTR { return hn::Lt(a, b); });
  // One less where the nearest value is too large, and then the last bit where it is not exact.
  const auto bits = hn::Add(hn::BitCast(i32, nearest_f32(v)), over);
  return hn::BitCast(F32(), hn::Or(bits, hn::And(hn::Or(over, under), hn::Set(i32, 1))));
}

template <DType S, bool kOdd>
HWY_INLINE Values f32_of_integers(const std::byte* from) {
  using Lane = Storage<S>;
  const hn::Rebind<Lane, F64> d;
  const hn::RebindToUnsigned<decltype(d)> u64;
  // f64 has no room for the lowest bits of a large integer, so bit 12 stands for all 12 bits below it, too.
  const Doubles v = both([&](int64_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, as<Lane>(from) + i);
    const auto low = hn::Set(d, 0xfff);
    const auto sticky = hn::And(hn::Add(hn::And(x, low), low), hn::Set(d, 0x1000));
    const uint64_t most = S == DType::s64 ? uint64_t{1} << 54 : uint64_t{1} << 53;
    const auto from_least = hn::Add(hn::BitCast(u64, x), hn::Set(u64, S == DType::s64 ? most / 2 : 0));
    const auto large = hn::RebindMask(d, hn::Gt(from_least, hn::Set(u64, most)));
    return hn::ConvertTo(F64(), hn::IfThenElse(large, hn::Or(hn::AndNot(low, x), sticky), x));
  });
  return kOdd ? odd_f32(v) : nearest_f32(v);
}

#endif

/// Loads elements of 8 bytes as f32, rounded to odd for types of less than 4 bytes, and otherwise to nearest.
template <DType S, bool kOdd>
HWY_INLINE Values load_narrowed(const std::byte* from) {
  if constexpr (S == DType::f64) {
    const Doubles v = both([&](int64_t i) HWY_ATTR { return hn::LoadU(F64(), as<double>(from) + i); });
    return kOdd ? odd_f32(v) : nearest_f32(v);
  } else {
    return f32_of_integers<S, kOdd>(from);
  }
}

template <DType S>
HWY_INLINE Doubles load_doubles(const std::byte* from) {
  const hn::Rebind<Storage<S>, F64> d;
  const auto load = [&](int64_t i) HWY_ATTR { return hn::LoadU(d, as<Storage<S>>(from) + i); };
  if constexpr (S == DType::f64)
    return both(load);
  else if constexpr (kBits<S> == 64)
    return both([&](int64_t i) HWY_ATTR { return hn::ConvertTo(F64(), load(i)); });
  else if constexpr (S == DType::s32)
    return both([&](int64_t i) HWY_ATTR { return hn::PromoteTo(F64(), load(i)); });
  else if constexpr (S == DType::u32)
    return both([&](int64_t i)
                    HWY_ATTR { return hn::ConvertTo(F64(), hn::PromoteTo(hn::RebindToUnsigned<F64>(), load(i))); });
  else
    return doubles(load_values<S>(from));
}

/// Rounds to the values of an integer type of 64 bits, within whose range `v` is.
template <DType D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<F64>> long_integers(hn::Vec<F64> v) {
#if HWY_TARGET <= HWY_AVX3
  return {D == DType::s64 ? _mm512_cvtpd_epi64(v.raw) : _mm512_cvtpd_epu64(v.raw)};
#else
  // A sum with such a number has the integer in its low bits.
  const F64 d;
  const hn::RebindToUnsigned<F64> u64;
  const auto whole = hn::Round(v), upper = hn::Floor(hn::Mul(whole, hn::Set(d, 0x1p-32)));
  const auto lower = hn::Sub(whole, hn::Mul(upper, hn::Set(d, 0x1p32)));
  const auto low = hn::And(hn::BitCast(u64, hn::Add(lower, hn::Set(d, 0x1p52))), hn::Set(u64, 0xffffffff));
  return hn::Or(hn::ShiftLeft<32>(hn::BitCast(u64, hn::Add(upper, hn::Set(d, 0x1.8p52)))), low);
#endif
}

/// Stores the low bytes of unsigned lanes as T.
template <typename T, class D, class V>
HWY_INLINE void store_low(D d, V v, T* to) {
  constexpr std::size_t kFrom = sizeof(hn::TFromD<D>), kTo = sizeof(T);
  const hn::Rebind<T, D> narrow;
  if constexpr (kFrom == kTo) {
    hn::StoreU(v, d, to);
  } else {
#if HWY_TARGET <= HWY_AVX3
    if constexpr (kFrom == 8 && kTo == 4) hn::StoreU({_mm512_cvtepi64_epi32(v.raw)}, narrow, to);
    if constexpr (kFrom == 8 && kTo == 2) hn::StoreU({_mm512_cvtepi64_epi16(v.raw)}, narrow, to);
    if constexpr (kFrom == 8 && kTo == 1) hn::StoreU({_mm512_cvtepi64_epi8(v.raw)}, narrow, to);
    if constexpr (kFrom == 4 && kTo == 2) hn::StoreU({_mm512_cvtepi32_epi16(v.raw)}, narrow, to);
    if constexpr (kFrom == 4 && kTo == 1) hn::StoreU({_mm512_cvtepi32_epi8(v.raw)}, narrow, to);
    if constexpr (kFrom == 2 && kTo == 1) hn::StoreU({_mm512_cvtepi16_epi8(v.raw)}, narrow, to);
#else
    hn::StoreU(hn::TruncateTo(narrow, v), narrow, to);
#endif
  }
}

/// Integers, or 0 for NaN, as values of a floating type that are in the range of an integer type.
template <DType D>
HWY_INLINE hn::Vec<F64> saturated(hn::Vec<F64> v) {
  const F64 d;
  const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
  const auto low = hn::Set(d, static_cast<double>(cast_detail::kMin<D>));
  return hn::Min(hn::Max(number, low), hn::Set(d, cast_detail::upper_bound<D, double>()));
}

/// Stores as f64 or as integers.
template <DType D>
HWY_INLINE void store_doubles(const Doubles& v, std::byte* to) {
  const F64 d;
  const hn::RebindToUnsigned<F64> u64;
  const auto store = [&](hn::Vec<F64> x, int64_t i) HWY_ATTR {
    if constexpr (D == DType::boolean) x = hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), hn::Set(d, 1.0));
    if constexpr (D == DType::f64) {
      hn::StoreU(x, d, as<double>(to) + i);
    } else if constexpr (kBits<D> == 64) {
      hn::StoreU(long_integers<D>(saturated<D>(x)), u64, as<uint64_t>(to) + i);
    } else {
      // The sum rounds, and has the integer in its low bits.
      using T = std::make_unsigned_t<Storage<D>>;
      const auto bits = hn::BitCast(u64, hn::Add(saturated<D>(x), hn::Set(d, 0x1.8p52)));
      store_low(u64, bits, as<T>(to) + i);
    }
  };
  store(v.low, 0);
  store(v.high, kValues / 2);
}

#if RELAYOUT_PACKS

// Integers of 32 bits out of wider types, which become narrower ones by the instructions that pack and saturate.

using D32 = hn::RebindToSigned<F32>;
using Lanes = hn::Vec<D32>;

/// The lower or the upper halves of lanes of 64 bits, block by block of 16 bytes, and such halves in their order.
template <bool kUpper>
HWY_INLINE Lanes halves(Lanes a, Lanes b) {
  constexpr int kOf = kUpper ? 0xdd : 0x88;
#if HWY_TARGET <= HWY_AVX2
  return {_mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a.raw), _mm256_castsi256_ps(b.raw), kOf))};
#else
  return {_mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a.raw), _mm_castsi128_ps(b.raw), kOf))};
#endif
}
HWY_INLINE Lanes in_order(Lanes v) {
#if HWY_TARGET <= HWY_AVX2
  return {_mm256_permute4x64_epi64(v.raw, 0xd8)};
#else
  return v;
#endif
}

/// Integers as values of D, where packing does not make them such.
template <DType S, DType D, class Tag, class V>
HWY_INLINE V saturated_for_packing(Tag d, V v) {
  using T = hn::TFromD<Tag>;
  using Unsigned = std::make_unsigned_t<T>;
  const hn::RebindToUnsigned<Tag> u;
  constexpr auto kMost =
      std::min<Int128>(D == DType::boolean ? Int128{1} : cast_detail::kMax<D>, std::numeric_limits<T>::max());
  if constexpr (D == DType::boolean || (!kIsSigned<S> && D != DType::u32)) {
    // Large ones are negative here.
    return hn::BitCast(d, hn::Min(hn::BitCast(u, v), hn::Set(u, static_cast<Unsigned>(kMost))));
  } else {
    return v;
  }
}

/// A register's integers of 8 or 4 bytes for D.
template <DType S, DType D>
HWY_INLINE Lanes lanes_of_integers(const std::byte* from) {
  const D32 d;
  const auto load = [&](int64_t i) HWY_ATTR { return hn::LoadU(d, as<int32_t>(from) + i); };
  if constexpr (kBits<S> == 32) {
    return saturated_for_packing<S, D>(d, load(0));
  } else {
    const auto a = load(0), b = load(kValues), low = halves<false>(a, b), high = halves<true>(a, b);
    Lanes v;
    if constexpr (D == DType::boolean) {
      v = hn::Or(low, high);
    } else if constexpr (!kIsSigned<S>) {
      v = hn::Or(low, hn::Not(hn::VecFromMask(d, hn::Eq(high, hn::Zero(d)))));
    } else if constexpr (D == DType::u32) {
      const auto large = hn::VecFromMask(d, hn::Gt(high, hn::Zero(d)));
      v = hn::AndNot(hn::ShiftRight<31>(high), hn::Or(low, large));
    } else {
      const auto most = hn::Xor(hn::ShiftRight<31>(high), hn::Set(d, INT32_MAX));
      v = hn::IfThenElse(hn::Eq(hn::ShiftRight<31>(low), high), low, most);
    }
    return in_order(saturated_for_packing<S, D>(d, v));
  }
}

/// The same for values, by the rules of integers().
template <DType D>
HWY_INLINE Lanes lanes_of_doubles(const Doubles& v) {
  const D32 i32;
  const F64 d;
  if constexpr (D == DType::boolean) {
    const auto zero = [&](hn::Vec<F64> x)
                          HWY_ATTR { return hn::BitCast(i32, hn::VecFromMask(d, hn::Eq(x, hn::Zero(d)))); };
    return hn::AndNot(in_order(halves<false>(zero(v.low), zero(v.high))), hn::Set(i32, 1));
  } else if constexpr (D == DType::u32) {
    // The sum rounds, and has the integer in its low bits.
    const auto bits = [&](hn::Vec<F64> x)
                          HWY_ATTR { return hn::BitCast(i32, hn::Add(saturated<D>(x), hn::Set(d, 0x1.8p52))); };
    return in_order(halves<false>(bits(v.low), bits(v.high)));
  } else {
    const auto most = [&](hn::Vec<F64> x) HWY_ATTR {
      if constexpr (kIsSigned<D>) x = hn::IfThenElseZero(hn::Eq(x, x), x);
      return hn::Min(hn::Set(d, cast_detail::upper_bound<D, double>()), x).raw;
    };
#if HWY_TARGET <= HWY_AVX2
    const __m128i low = _mm256_cvtpd_epi32(most(v.low)), high = _mm256_cvtpd_epi32(most(v.high));
    return {_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1)};
#else
    return {_mm_unpacklo_epi64(_mm_cvtpd_epi32(most(v.low)), _mm_cvtpd_epi32(most(v.high)))};
#endif
  }
}

/// Stores integers of 32 bits as D, saturated.
template <DType D>
HWY_INLINE void store_lanes(Lanes v, std::byte* to) {
  using T = Storage<D>;
  const hn::Rebind<T, D32> stored;
  // Highway makes bytes of these by way of 2 bytes, of which it drops the highest bit.
  if constexpr (D == DType::u8) v = hn::Min(v, hn::Set(D32(), 255));
  if constexpr (sizeof(T) == 4)
    hn::StoreU(hn::BitCast(stored, v), stored, as<T>(to));
  else
    hn::StoreU(hn::DemoteTo(stored, v), stored, as<T>(to));
}

/// Packs integers of 2 bytes of two registers to bytes.
template <DType S, DType D>
HWY_INLINE Bytes pack_bytes(const std::byte* from) {
  constexpr bool kSigned = std::is_signed_v<Storage<D>>;
  const Wide<int16_t> d;
  const auto part = [&](int64_t i)
                        HWY_ATTR { return saturated_for_packing<S, D>(d, hn::LoadU(d, as<int16_t>(from) + i)).raw; };
  const auto low = part(0), high = part(HWY_LANES(int16_t));
#if HWY_TARGET <= HWY_AVX2
  const __m256i v = kSigned ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
  return {_mm256_permute4x64_epi64(v, 0xd8)};
#else
  return {kSigned ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high)};
#endif
}

#endif

/// Loads integers of 8 bytes as f32 for types in which magnitudes from 2^17 on overflow.
template <DType S>
HWY_INLINE Values load_saturated(const std::byte* from) {
  const auto saturated = [](auto d, auto v) HWY_ATTR {
    v = hn::Min(v, hn::Set(d, 0x20000));
    if constexpr (kIsSigned<S>) v = hn::Max(v, hn::Set(d, -0x20000));
    return v;
  };
#if RELAYOUT_PACKS
  return hn::ConvertTo(F32(), saturated(D32(), lanes_of_integers<S, DType::s32>(from)));
#else
  const hn::Rebind<Storage<S>, F64> d;
  const hn::RebindToSigned<F32> i32;
  const auto part = [&](int64_t i)
                        HWY_ATTR { return hn::BitCast(i32, saturated(d, hn::LoadU(d, as<Storage<S>>(from) + i))); };
  const auto low = part(0), high = part(kValues / 2);
  return hn::ConvertTo(F32(), hn::ConcatEven(i32, high, low));
#endif
}

}  // namespace
