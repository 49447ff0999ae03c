// Conversions of values in registers, for kernels-inl.h: from and to f32, one load, one multiplication where it is
// asked for, one store. They equal the loops over reorder/cast.h bit by bit. No include guard: it is included once a
// target.

#if RELAYOUT_KERNELS_SIMD

using F32 = hn::ScalableTag<float>;
using Values = hn::Vec<F32>;
constexpr int64_t kValues = HWY_LANES(float);

/// Whether load_values and store_values know a type. f16 needs the instructions of F16C, which come with AVX2.
template <DType D>
constexpr bool kInRegisters = D == DType::f32 || D == DType::bf16 || D == DType::u8 || D == DType::s8 ||
                              D == DType::s32 || (D == DType::f16 && HWY_TARGET <= HWY_AVX2);
/// Whether all values of a type are values of f32: then what is no arithmetic may go by f32 though its compute type is
/// another.
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

/// f32_to_bf16() of core/float.h, in the upper halves; the lower ones hold anything.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<F32>> upper_bf16(Values v) {
  const hn::RebindToUnsigned<F32> u32;
  const auto bits = hn::BitCast(u32, v);
  const auto even = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(u32, 0x7fff)), even);
  return hn::IfThenElse(hn::RebindMask(u32, hn::Eq(v, v)), rounded, hn::Or(bits, hn::Set(u32, 0x400000)));
}

/// Rounded to an integer type's values: NaN is 0, the others are saturated; from below that may be left to the
/// saturating conversions that follow.
template <DType D>
HWY_INLINE hn::Vec<hn::RebindToSigned<F32>> integers(Values v) {
  constexpr float kHigh = D == DType::s8 ? 127.0f : D == DType::u8 ? 255.0f : 2147483520.0f;
#if HWY_TARGET <= HWY_AVX3
  // What is too small becomes the smallest of all.
  const __mmask16 number = _mm512_cmp_ps_mask(v.raw, v.raw, _CMP_ORD_Q);
  return {_mm512_cvtps_epi32(_mm512_maskz_min_ps(number, v.raw, _mm512_set1_ps(kHigh)))};
#else
  constexpr float kLow = D == DType::s8 ? -128.0f : D == DType::u8 ? 0.0f : -2147483648.0f;
  const F32 d;
  const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
  return hn::NearestInt(hn::Min(hn::Max(number, hn::Set(d, kLow)), hn::Set(d, kHigh)));
#endif
}

/// One register of values; types of 4 and 8 bytes past the cache where that is wanted.
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

/// A line of a type of 1 or 2 bytes, from registers values(0), values(1) and so on.
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
    // Packs work within blocks of 16 bytes: block b has the b-th four values of each register.
    alignas(64) static constexpr uint32_t kOrder[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const __m512i low = _mm512_packs_epi32(integers<D>(values(0)).raw, integers<D>(values(1)).raw);
    const __m512i high = _mm512_packs_epi32(integers<D>(values(2)).raw, integers<D>(values(3)).raw);
    const __m512i packed = D == DType::u8 ? _mm512_packus_epi16(low, high) : _mm512_packs_epi16(low, high);
    return _mm512_permutexvar_epi32(_mm512_load_si512(kOrder), packed);
  }
}

#endif

/// Values of which both sides have whole lines.
template <DType S, DType D>
constexpr int64_t kStep = kLine /
                          static_cast<int64_t>(std::min({sizeof(Storage<S>), sizeof(Storage<D>), sizeof(float)}));

/// kStep values, from `values(i)`: those from i on.
template <DType S, DType D, bool kStream, typename V>
HWY_INLINE void convert_step(std::byte* to, V values) {
  constexpr int64_t kSize = sizeof(Storage<D>), kPerLine = kLine / kSize;
  if constexpr (kSize >= 4) {
    for (int64_t i = 0; i < kStep<S, D>; i += kValues) store_values<D, kStream>(values(i), to + i * kSize);
  } else {
    for (int64_t i = 0; i < kStep<S, D>; i += kPerLine) {
#if HWY_TARGET <= HWY_AVX3
      const auto line = narrow_line<D>([&](int64_t k) HWY_ATTR { return values(i + k * kValues); });
      put<kStream>(hn::Vec<Wide<uint8_t>>{line}, Wide<uint8_t>(), as<uint8_t>(to + i * kSize));
#else
      alignas(64) std::byte line[kLine];
      std::byte* at = kStream ? line : to + i * kSize;
      for (int64_t k = 0; k < kPerLine; k += kValues) store_values<D, false>(values(i + k), at + k * kSize);
      if constexpr (kStream) stream_lines(line, to + i * kSize, kLine, 0);
#endif
    }
  }
}

/// Some bytes to memory for kMost, as a whole: what is loaded from there need not wait for several stores.
template <int64_t kMost>
HWY_INLINE void load_some(const std::byte* src, std::byte* all, int64_t bytes) {
#if HWY_TARGET <= HWY_AVX3
  const uint64_t some = (uint64_t{1} << bytes % kLine) - 1;
  if constexpr (kMost == 16)
    return _mm_store_si128(reinterpret_cast<__m128i*>(all), _mm_maskz_loadu_epi8(static_cast<__mmask16>(some), src));
  if constexpr (kMost == 32) {
    const auto mask = static_cast<__mmask32>(some);
    return _mm256_store_si256(reinterpret_cast<__m256i*>(all), _mm256_maskz_loadu_epi8(mask, src));
  }
  if constexpr (kMost == 64) return _mm512_store_si512(all, _mm512_maskz_loadu_epi8(some, src));
#endif
  __builtin_memcpy(all, src, static_cast<std::size_t>(bytes));
}

/// The other way.
template <int64_t kMost>
HWY_INLINE void store_some(const std::byte* all, std::byte* dst, int64_t bytes) {
#if HWY_TARGET <= HWY_AVX3
  const uint64_t some = (uint64_t{1} << bytes % kLine) - 1;
  if constexpr (kMost == 16) {
    const __m128i v = _mm_load_si128(reinterpret_cast<const __m128i*>(all));
    return _mm_mask_storeu_epi8(dst, static_cast<__mmask16>(some), v);
  }
  if constexpr (kMost == 32) {
    const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(all));
    return _mm256_mask_storeu_epi8(dst, static_cast<__mmask32>(some), v);
  }
  if constexpr (kMost == 64) return _mm512_mask_storeu_epi8(dst, some, _mm512_load_si512(all));
#endif
  __builtin_memcpy(dst, all, static_cast<std::size_t>(bytes));
}

/// A run of n values. `operate` is the multiplication, or nothing.
template <DType S, DType D, bool kStream, typename Operate>
HWY_INLINE void convert_run(const std::byte* src, std::byte* dst, int64_t n, int64_t ahead, Operate operate) {
  constexpr int64_t kSrc = sizeof(Storage<S>), kDst = sizeof(Storage<D>);
  // Inlined by force: gcc drops calls of what does nothing but prefetch.
  const auto fetch = [&](int64_t i, int64_t bytes) __attribute__((always_inline)) {
    if (ahead == 0 || i * kSrc % kLine != 0) return;
    for (int64_t b = 0; b < bytes; b += kLine) prefetch(src + i * kSrc + ahead + b);
  };
  const auto one = [&](int64_t i)
                       HWY_ATTR { store_values<D, false>(operate(load_values<S>(src + i * kSrc)), dst + i * kDst); };
  // Fewer than a register has, by way of memory that has as many.
  const auto part = [&](int64_t i, int64_t count) HWY_ATTR {
    alignas(64) std::byte from[kValues * kSrc] = {}, to[kValues * kDst];
    load_some<kValues * kSrc>(src + i * kSrc, from, count * kSrc);
    store_values<D, false>(operate(load_values<S>(from)), to);
    store_some<kValues * kDst>(to, dst + i * kDst, count * kDst);
  };
  int64_t i = 0;
  bool lines = kStream;
  if constexpr (kStream) {
    const int64_t head = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst)) & (kLine - 1);
    // No element may lie across lines.
    lines = head % kDst == 0 && head <= n * kDst;
    const int64_t before = lines ? head / kDst : 0;
    for (; i + kValues <= before; i += kValues) one(i);
    if (i < before) part(i, before - i);
    i = before;
  }
  const auto steps = [&]<bool kLines>(std::bool_constant<kLines>) HWY_ATTR {
    const auto step = [&](int64_t at) HWY_ATTR {
      const std::byte* from = src + at * kSrc;
      convert_step<S, D, kLines>(dst + at * kDst,
                                 [&](int64_t k) HWY_ATTR { return operate(load_values<S>(from + k * kSrc)); });
    };
    if constexpr (kLines) {
      // Long runs in several places at a time: of a few streams side by side the machine fetches more than of one.
      constexpr int64_t kStreams = 4, kMin = 4096;
      if (const int64_t part = (n - i) / kStreams / kStep<S, D> * kStep<S, D>; part >= kMin) {
        for (const int64_t end = i + part; i < end; i += kStep<S, D>) {
          for (int64_t k = 0; k < kStreams; ++k) step(i + k * part);
        }
        i += (kStreams - 1) * part;
      }
    }
    for (; i + kStep<S, D> <= n; i += kStep<S, D>) {
      fetch(i, kStep<S, D> * kSrc);
      step(i);
    }
  };
  if (lines)
    steps(std::bool_constant<kStream>());
  else
    steps(std::false_type());
  for (; i + kValues <= n; i += kValues) {
    fetch(i, kValues * kSrc);
    one(i);
  }
  if (i == n) return;
  // The last register's values, some for the second time; but not in lines that have passed by the cache.
  if (!kStream && n >= kValues)
    one(n - kValues);
  else
    part(i, n - i);
}

/// Calls each(operate) with what is done to a register of values.
template <typename Each>
HWY_INLINE void with_scale(const float* scale, Each each) {
  const F32 d;
  if (!scale) return each([](Values v) HWY_ATTR { return v; });
  const auto factor = hn::Set(d, *scale), quiet = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  each([=](Values v) HWY_ATTR {
    const auto scaled = hn::Mul(v, factor);
    return hn::IfThenElse(hn::Eq(scaled, scaled), scaled, quiet);
  });
}

template <DType S, DType D, bool kStream>
void convert(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs, int64_t n,
             const float* scale, int64_t ahead) {
  const auto each = [&](auto operate) HWY_ATTR {
    // Short runs, of which there are many.
    if (n == kValues) {
      constexpr int64_t kBytes = kValues * static_cast<int64_t>(sizeof(Storage<D>));
      for (int64_t r = 0; r < runs; ++r) {
        const std::byte* from = src + src_runs[r];
        std::byte* to = dst + dst_runs[r];
        if (ahead != 0) prefetch(from + ahead);
        if (kStream && kBytes % kLine == 0 && reinterpret_cast<uintptr_t>(to) % kLine == 0)
          store_values<D, kStream>(operate(load_values<S>(from)), to);
        else
          store_values<D, false>(operate(load_values<S>(from)), to);
      }
      return;
    }
    for (int64_t r = 0; r < runs; ++r)
      convert_run<S, D, kStream>(src + src_runs[r], dst + dst_runs[r], n, ahead, operate);
  };
  with_scale(scale, each);
}

template <DType S, DType D, bool kStream>
constexpr ConvertKernel convert_kernel() {
  // By way of f64, as the rules ask for, these are the same.
  constexpr bool kWide = (S == DType::f64 && D == DType::f32) || (kExactInF32<S> && D == DType::f64);
  if constexpr (kWide || (kInRegisters<S> && kInRegisters<D> && !(S == DType::s32 && D == DType::s32)))
    return &convert<S, D, kStream>;
  else
    return nullptr;
}

#else

template <DType S, DType D, bool kStream>
constexpr ConvertKernel convert_kernel() {
  return nullptr;
}

#endif
