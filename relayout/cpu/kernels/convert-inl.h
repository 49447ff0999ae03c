// A family of kernels (common-inl.h): runs of values converted in registers (values-inl.h), through the cache and past
// it.

#include "relayout/cpu/kernels/common-inl.h"
#include "relayout/cpu/kernels/values-inl.h"

namespace {

#if RELAYOUT_KERNELS_SIMD

/// The number of values that one step converts: they are whole lines of both types.
template <DType S, DType D>
constexpr int64_t kStep = kCacheLine /
                          static_cast<int64_t>(std::min({sizeof(Storage<S>), sizeof(Storage<D>), sizeof(float)}));

/// Converts kStep values; `values(i)` returns a register of values from index i on.
template <DType S, DType D, bool kStream, typename V>
HWY_INLINE void convert_step(std::byte* to, V values) {
  constexpr int64_t kSize = sizeof(Storage<D>), kPerLine = kCacheLine / kSize;
  if constexpr (kSize >= 4) {
    for (int64_t i = 0; i < kStep<S, D>; i += kValues) store_values<D, kStream>(values(i), to + i * kSize);
  } else {
    for (int64_t i = 0; i < kStep<S, D>; i += kPerLine) {
#if HWY_TARGET <= HWY_AVX3
      const auto line = narrow_line<D>([&](int64_t k) HWY_ATTR { return values(i + k * kValues); });
      put<kStream>(hn::Vec<Wide<uint8_t>>{line}, Wide<uint8_t>(), as<uint8_t>(to + i * kSize));
#else
      alignas(64) std::byte line[kCacheLine];
      std::byte* at = kStream ? line : to + i * kSize;
      for (int64_t k = 0; k < kPerLine; k += kValues) store_values<D, false>(values(i + k), at + k * kSize);
      if constexpr (kStream) stream_lines(line, to + i * kSize, kCacheLine, 0);
#endif
    }
  }
}

/// Loads some bytes into memory that has room for kMost, by one store, so that a load of all kMost bytes need not wait
/// for several stores.
template <int64_t kMost>
HWY_INLINE void load_some(const std::byte* src, std::byte* all, int64_t bytes) {
#if HWY_TARGET <= HWY_AVX3
  const uint64_t some = (uint64_t{1} << bytes % kCacheLine) - 1;
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

/// Stores some bytes of such memory.
template <int64_t kMost>
HWY_INLINE void store_some(const std::byte* all, std::byte* dst, int64_t bytes) {
#if HWY_TARGET <= HWY_AVX3
  const uint64_t some = (uint64_t{1} << bytes % kCacheLine) - 1;
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

/// Prefetches the source's lines that lie `ahead` bytes behind the `bytes` bytes from `at` on, if `offset`, the place
/// of `at` in its run, is a multiple of a line. Does nothing where `ahead` is 0. Inlined by force, as gcc drops calls
/// of a function that only prefetches.
HWY_INLINE void fetch_ahead(const std::byte* at, int64_t offset, int64_t bytes, int64_t ahead) {
  if (ahead == 0 || offset % kCacheLine != 0) return;
  for (int64_t b = 0; b < bytes; b += kCacheLine) prefetch(at + ahead + b);
}

/// Converts `count` values, fewer than a register has, by way of memory that has room for a whole register.
template <DType S, DType D, bool kStream, typename Operate>
HWY_INLINE void convert_partial(const std::byte* src, std::byte* dst, int64_t count, Operate operate) {
  constexpr int64_t kSrc = sizeof(Storage<S>), kDst = sizeof(Storage<D>);
  if (count <= 0 || count >= kValues) __builtin_unreachable();
  alignas(64) std::byte from[kValues * kSrc] = {}, to[kValues * kDst];
  load_some<kValues * kSrc>(src, from, count * kSrc);
  store_values<D, false>(operate(load_values<S>(from)), to);
  // A masked store would also touch the neighbouring line, which is written past the cache.
  if constexpr (kStream && kValues * kDst <= kCacheLine)
    copy_short(to, dst, count * kDst);
  else
    store_some<kValues * kDst>(to, dst, count * kDst);
}

/// Converts a run from value i on by whole steps, and returns the index of the first value that is left.
template <DType S, DType D, bool kStream, typename Operate>
HWY_INLINE int64_t convert_steps(const std::byte* src, std::byte* dst, int64_t i, int64_t n, int64_t ahead,
                                 Operate operate) {
  constexpr int64_t kSrc = sizeof(Storage<S>), kDst = sizeof(Storage<D>);
  const auto step = [&](int64_t at) HWY_ATTR {
    const std::byte* from = src + at * kSrc;
    convert_step<S, D, kStream>(dst + at * kDst,
                                [&](int64_t k) HWY_ATTR { return operate(load_values<S>(from + k * kSrc)); });
  };
  if constexpr (kStream) {
    // Long runs are converted at several places at a time: the processor prefetches more of a few streams side by side
    // than of one.
    constexpr int64_t kStreams = 4, kMin = 4096;
    if (const int64_t each = (n - i) / kStreams / kStep<S, D> * kStep<S, D>; each >= kMin) {
      for (const int64_t end = i + each; i < end; i += kStep<S, D>) {
        for (int64_t k = 0; k < kStreams; ++k) step(i + k * each);
      }
      i += (kStreams - 1) * each;
    }
  }
  for (; i + kStep<S, D> <= n; i += kStep<S, D>) {
    fetch_ahead(src + i * kSrc, i * kSrc, kStep<S, D> * kSrc, ahead);
    step(i);
  }
  return i;
}

/// Converts a run of n values through the cache. `operate` multiplies by the scale, or does nothing.
template <DType S, DType D, typename Operate>
HWY_INLINE void convert_run(const std::byte* src, std::byte* dst, int64_t n, int64_t ahead, Operate operate) {
  constexpr int64_t kSrc = sizeof(Storage<S>), kDst = sizeof(Storage<D>);
  const auto one = [&](int64_t i)
                       HWY_ATTR { store_values<D, false>(operate(load_values<S>(src + i * kSrc)), dst + i * kDst); };
  int64_t i = convert_steps<S, D, false>(src, dst, 0, n, ahead, operate);
  for (; i + kValues <= n; i += kValues) {
    fetch_ahead(src + i * kSrc, i * kSrc, kValues * kSrc, ahead);
    one(i);
  }
  if (i == n) return;
  // The last register is converted as a whole, some of its values for the second time.
  if (n >= kValues)
    one(n - kValues);
  else
    convert_partial<S, D, false>(src + i * kSrc, dst + i * kDst, n - i, operate);
}

/// Converts a run and writes whole lines of the destination past the cache. If the run ends before the first line
/// begins, or if elements lie across two lines, does nothing and returns false.
template <DType S, DType D, typename Operate>
HWY_INLINE bool convert_run_past_cache(const std::byte* src, std::byte* dst, int64_t n, int64_t ahead,
                                       Operate operate) {
  constexpr int64_t kSrc = sizeof(Storage<S>), kDst = sizeof(Storage<D>);
  const int64_t head = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst)) & (kCacheLine - 1);
  if (head % kDst != 0 || head > n * kDst) return false;
  const int64_t before = head / kDst;
  // The values before the first whole line and behind the last one.
  const auto edge = [&](int64_t i, int64_t end) HWY_ATTR {
    for (; i + kValues <= end; i += kValues) {
      fetch_ahead(src + i * kSrc, i * kSrc, kValues * kSrc, ahead);
      store_values<D, false>(operate(load_values<S>(src + i * kSrc)), dst + i * kDst);
    }
    if (i < end) convert_partial<S, D, true>(src + i * kSrc, dst + i * kDst, end - i, operate);
  };
  for (int64_t i = 0, end = before;; end = n) {
    edge(i, end);
    if (end == n) return true;
    i = convert_steps<S, D, true>(src, dst, before, n, ahead, operate);
  }
}

template <DType S, DType D, bool kStream>
void convert(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs, int64_t n,
             const float* scale, int64_t ahead) {
  const auto each = [&](auto operate) HWY_ATTR {
    // Runs of one register, of which there are many, have a loop of their own.
    if (n == kValues) {
      constexpr int64_t kBytes = kValues * static_cast<int64_t>(sizeof(Storage<D>));
      for (int64_t r = 0; r < runs; ++r) {
        const std::byte* from = src + src_runs[r];
        std::byte* to = dst + dst_runs[r];
        if (ahead != 0) prefetch(from + ahead);
        if (kStream && kBytes % kCacheLine == 0 && reinterpret_cast<uintptr_t>(to) % kCacheLine == 0)
          store_values<D, kStream>(operate(load_values<S>(from)), to);
        else
          store_values<D, false>(operate(load_values<S>(from)), to);
      }
      return;
    }
    for (int64_t r = 0; r < runs; ++r) {
      if constexpr (kStream) {
        constexpr int64_t kHere = 0;
        if (!convert_run_past_cache<S, D>(src + src_runs[r], dst + dst_runs[r], n, ahead, operate))
          convert<S, D, false>(src + src_runs[r], &kHere, dst + dst_runs[r], &kHere, 1, n, scale, ahead);
      } else {
        convert_run<S, D>(src + src_runs[r], dst + dst_runs[r], n, ahead, operate);
      }
    }
  };
  with_scale<D>(scale, each);
}

template <DType S, DType D, bool kStream>
constexpr ConvertKernel convert_kernel() {
  // The compute type of these pairs is f64, but conversion by way of f32 gives the same results.
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

template <bool kStream, DType S, std::size_t... D>
constexpr std::array<ConvertKernel, kDTypeCount> convert_row(std::index_sequence<D...>) {
  return {convert_kernel<S, static_cast<DType>(D), kStream>()...};
}

template <bool kStream, std::size_t... S>
constexpr std::array<std::array<ConvertKernel, kDTypeCount>, kDTypeCount> convert_table(std::index_sequence<S...>) {
  return {convert_row<kStream, static_cast<DType>(S)>(std::make_index_sequence<kDTypeCount>())...};
}

}  // namespace

void add_conversions(Kernels& k) {
  constexpr auto all = std::make_index_sequence<kDTypeCount>();
  k.convert = convert_table<false>(all);
  k.convert_stream = convert_table<true>(all);
}
