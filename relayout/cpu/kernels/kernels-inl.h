// The kernels' source, compiled once an instruction set. It is included by scalar.cc (plain C++) and, once a target,
// by simd.cc inside Highway's HWY_NAMESPACE; RELAYOUT_KERNELS_SIMD says which. No include guard.
//
// Conversions by way of a compute type are loops over core/float.h and reorder/cast.h that the compiler vectorizes for
// the target at hand; the common ones by way of f32 have code of their own (convert-inl.h).

namespace {

#ifndef RELAYOUT_INLINE
#define RELAYOUT_INLINE inline __attribute__((always_inline))
#endif

struct Bytes32 {
  Bytes16 low, high;
};

template <typename T>
RELAYOUT_INLINE T load_unaligned(const void* at) {
  T out;
  __builtin_memcpy(&out, at, sizeof out);
  return out;
}
template <typename T>
RELAYOUT_INLINE void store_unaligned(void* at, T value) {
  __builtin_memcpy(at, &value, sizeof value);
}

/// Element i of a run of T at any address, and of any origin: bytes, whatever type they were made as.
template <typename T>
T element(const void* run, int64_t i) {
  return load_unaligned<T>(static_cast<const std::byte*>(run) + i * static_cast<int64_t>(sizeof(T)));
}
template <typename T>
void set_element(void* run, int64_t i, T value) {
  store_unaligned(static_cast<std::byte*>(run) + i * static_cast<int64_t>(sizeof(T)), value);
}

/// A line of the cache.
constexpr int64_t kLine = 64;

/// A hint for what is needed many lines later: into the second level.
RELAYOUT_INLINE void prefetch(const std::byte* at) { __builtin_prefetch(at, 0, 2); }

#if RELAYOUT_KERNELS_SIMD

template <typename T>
using Block16 = hn::Full128<T>;
template <typename T>
using Wide = hn::ScalableTag<T>;
/// Blocks of the widest register.
constexpr int kBlocks = HWY_LANES(uint8_t) / 16;

template <typename T>
HWY_INLINE const T* as(const std::byte* at) {
  return reinterpret_cast<const T*>(at);
}
template <typename T>
HWY_INLINE T* as(std::byte* at) {
  return reinterpret_cast<T*>(at);
}

/// A line from anywhere to anywhere.
HWY_INLINE void copy_line(const std::byte* src, std::byte* dst) {
  const Wide<uint8_t> d;
  for (int64_t i = 0; i < kLine; i += 16 * kBlocks)
    hn::StoreU(hn::LoadU(d, as<uint8_t>(src + i)), d, as<uint8_t>(dst + i));
}

/// Of lambdas that call such functions.
#define RELAYOUT_ATTR HWY_ATTR

#else

RELAYOUT_INLINE void copy_line(const std::byte* src, std::byte* dst) { __builtin_memcpy(dst, src, kLine); }

#define RELAYOUT_ATTR

#endif

/// Up to 64 bytes, by two moves of one size that may overlap.
RELAYOUT_INLINE void copy_short(const std::byte* src, std::byte* dst, int64_t n) {
  const auto both = [&]<typename T>(T) __attribute__((always_inline)) {
    const int64_t last = n - static_cast<int64_t>(sizeof(T));
    const T head = load_unaligned<T>(src), tail = load_unaligned<T>(src + last);
    store_unaligned(dst, head);
    store_unaligned(dst + last, tail);
  };
  if (n >= 32) return both(Bytes32());
  if (n >= 16) return both(Bytes16());
  if (n >= 8) return both(uint64_t());
  if (n >= 4) return both(uint32_t());
  if (n >= 2) return both(uint16_t());
  if (n == 1) *dst = *src;
}

RELAYOUT_INLINE void copy_one(const std::byte* src, std::byte* dst, int64_t n) {
  if (n <= 64) return copy_short(src, dst, n);
  // The library knows the machine's best way for long runs.
  if (n >= 1024) return void(__builtin_memcpy(dst, src, static_cast<std::size_t>(n)));
  for (int64_t i = 0; i + kLine < n; i += kLine) copy_line(src + i, dst + i);
  copy_line(src + n - kLine, dst + n - kLine);
}

/// Every run of a region, by `one`.
template <typename One>
RELAYOUT_INLINE void each_run(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                              Starts dst_cols, int64_t rows, int64_t cols, int64_t bytes, int64_t ahead, One one) {
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte* from = src + src_rows[r];
    std::byte* to = dst + dst_rows[r];
    for (int64_t c = 0; c < cols; ++c) {
      if (ahead != 0) {
        for (int64_t b = 0; b < bytes; b += kLine) prefetch(from + src_cols[c] + ahead + b);
      }
      one(from + src_cols[c], to + dst_cols[c]);
    }
  }
}

template <typename T>
void copy_whole(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                Starts dst_cols, int64_t rows, int64_t cols, int64_t ahead) {
  each_run(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, static_cast<int64_t>(sizeof(T)), ahead,
           [](const std::byte* from, std::byte* to) { store_unaligned(to, load_unaligned<T>(from)); });
}

void copy(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows, Starts dst_cols,
          int64_t rows, int64_t cols, int64_t bytes, int64_t ahead) {
  switch (bytes) {
    case 16: return copy_whole<Bytes16>(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, ahead);
    case 32: return copy_whole<Bytes32>(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, ahead);
    case 64:
      return each_run(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, kLine, ahead,
                      [](const std::byte* from, std::byte* to) RELAYOUT_ATTR { copy_line(from, to); });
    default:
      each_run(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, bytes, ahead,
               [=](const std::byte* from, std::byte* to) RELAYOUT_ATTR { copy_one(from, to, bytes); });
  }
}

void fill(std::byte* dst, Starts dst_rows, Starts dst_cols, int64_t rows, int64_t cols, int64_t last_col, uint64_t mask,
          uint64_t bits) {
  const auto each = [&](auto one) __attribute__((always_inline)) {
    for (int64_t r = 0; r < rows; ++r) {
      std::byte* const to = dst + dst_rows[r];
      for (int64_t c = 0; c < cols; ++c) one(to + std::min(dst_cols[c], last_col));
    }
  };
#if RELAYOUT_KERNELS_SIMD && HWY_TARGET <= HWY_AVX3
  const __m512i value = _mm512_set1_epi64(static_cast<int64_t>(bits));
  if (mask == ~uint64_t{0}) return each([=](std::byte* to) HWY_ATTR { _mm512_storeu_si512(to, value); });
  each([=](std::byte* to) HWY_ATTR { _mm512_mask_storeu_epi8(to, mask, value); });
#else
  std::byte value[kLine + 8];
  for (int64_t i = 0; i <= kLine; i += 8) store_unaligned(value + i, bits);
  struct {
    int8_t first, bytes;
  } runs[kLine / 2];
  int count = 0;
  for (int first = 0; first < kLine && mask >> first != 0;) {
    first += std::countr_zero(mask >> first);
    const int n = std::countr_one(mask >> first);
    runs[count++] = {static_cast<int8_t>(first), static_cast<int8_t>(n)};
    first += n;
  }
  each([&](std::byte * to) __attribute__((always_inline)) {
    for (int i = 0; i < count; ++i) copy_short(value + runs[i].first % 8, to + runs[i].first, runs[i].bytes);
  });
#endif
}

#include "relayout/cpu/kernels/interleave-inl.h"
#include "relayout/cpu/kernels/transpose-inl.h"
//
#include "relayout/cpu/kernels/tiles-inl.h"
#include "relayout/cpu/kernels/transpose_cached-inl.h"

RELAYOUT_INLINE void shuffle_plain(const std::byte* src, std::byte* dst, int64_t bytes, const uint8_t* pattern) {
  for (int64_t i = 0; i < bytes; ++i) dst[i] = src[(i & ~int64_t{15}) + pattern[i & 15]];
}

void shuffle(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows, Starts dst_cols,
             int64_t rows, int64_t cols, int64_t bytes, const uint8_t* pattern) {
#if RELAYOUT_KERNELS_SIMD
  const Wide<uint8_t> wide;
  const Block16<uint8_t> block;
  constexpr int64_t kStep = 16 * kBlocks;
  const auto one = hn::LoadU(block, pattern);
  const auto all = hn::LoadDup128(wide, pattern);
  each_run(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, bytes, 0,
           [&](const std::byte* from, std::byte* to) HWY_ATTR {
             int64_t i = 0;
             for (; i + kStep <= bytes; i += kStep) {
               hn::StoreU(hn::TableLookupBytes(hn::LoadU(wide, as<uint8_t>(from + i)), all), wide, as<uint8_t>(to + i));
             }
             for (; i + 16 <= bytes; i += 16) {
               hn::StoreU(hn::TableLookupBytes(hn::LoadU(block, as<uint8_t>(from + i)), one), block,
                          as<uint8_t>(to + i));
             }
             if (i < bytes) shuffle_plain(from + i, to + i, bytes - i, pattern);
           });
#else
  each_run(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, bytes, 0,
           [=](const std::byte* from, std::byte* to) { shuffle_plain(from, to, bytes, pattern); });
#endif
}

#if RELAYOUT_KERNELS_SIMD

#include "relayout/cpu/kernels/copy_stream-inl.h"

void flush() { hwy::FlushStream(); }

#endif

template <typename C, DType D>
void load_run(const std::byte* src, void* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, load<C, D>(element<Storage<D>>(src, i)));
}

template <typename C, DType D>
void store_run(const void* values, std::byte* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) set_element<Storage<D>>(dst, i, store<D, C>(element<C>(values, i)));
}

/// One rounding a step, in the order of the formula in reorder/attributes.h.
template <typename C>
void arithmetic_run(void* values, const void* old, const AttributeValues* attributes, int64_t stride, int64_t n,
                    const Arithmetic& a) {
  const auto each = [&](auto member, auto step) __attribute__((always_inline)) {
    if (stride == 0) {
      const C constant = static_cast<C>(attributes->*member);
      for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, step(element<C>(values, i), constant));
    } else {
      for (int64_t i = 0; i < n; ++i) {
        set_element<C>(values, i, step(element<C>(values, i), static_cast<C>(attributes[i * stride].*member)));
      }
    }
  };
  if (a.src_zero_point) each(&AttributeValues::src_zero_point, [](C x, C y) { return x - y; });
  if (a.src_scale) each(&AttributeValues::src_scale, [](C x, C y) { return x * y; });
  if (a.beta != 0) {
    for (int64_t i = 0; i < n; ++i) {
      const C add = static_cast<C>(a.beta) * element<C>(old, i);
      set_element<C>(values, i, element<C>(values, i) + add);
    }
  }
  if (a.dst_scale) each(&AttributeValues::dst_scale, [](C x, C y) { return x / y; });
  if (a.dst_zero_point) each(&AttributeValues::dst_zero_point, [](C x, C y) { return x + y; });
  for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, canonical_nan(element<C>(values, i)));
}

#include "relayout/cpu/kernels/convert-inl.h"
//
#include "relayout/cpu/kernels/transpose_pipelined-inl.h"

template <bool kStream, DType S, std::size_t... D>
constexpr std::array<ConvertKernel, kDTypeCount> convert_row(std::index_sequence<D...>) {
  return {convert_kernel<S, static_cast<DType>(D), kStream>()...};
}

template <bool kStream, std::size_t... S>
constexpr std::array<std::array<ConvertKernel, kDTypeCount>, kDTypeCount> convert_table(std::index_sequence<S...>) {
  return {convert_row<kStream, static_cast<DType>(S)>(std::make_index_sequence<kDTypeCount>())...};
}

#if RELAYOUT_KERNELS_SIMD && HWY_TARGET <= HWY_AVX3

constexpr std::array<std::array<PipelinedKernel, kDTypeCount>, kDTypeCount> pipelined_conversions() {
  std::array<std::array<PipelinedKernel, kDTypeCount>, kDTypeCount> out{};
  const auto both_ways = [&]<DType kNarrow>(std::integral_constant<DType, kNarrow>) {
    constexpr auto f32 = static_cast<std::size_t>(DType::f32), narrow = static_cast<std::size_t>(kNarrow);
    out[f32][narrow] = &transpose_narrowing<DType::f32, kNarrow>;
    out[narrow][f32] = &transpose_widening<kNarrow, DType::f32>;
  };
  both_ways(std::integral_constant<DType, DType::u8>());
  both_ways(std::integral_constant<DType, DType::s8>());
  both_ways(std::integral_constant<DType, DType::f16>());
  both_ways(std::integral_constant<DType, DType::bf16>());
  return out;
}

#endif

template <typename C, std::size_t... D>
constexpr std::array<LoadKernel, kDTypeCount> load_row(std::index_sequence<D...>) {
  constexpr auto kernel = []<DType kType>() -> LoadKernel {
    if constexpr (kIsFloating<kType> && !std::is_floating_point_v<C>)
      return nullptr;
    else
      return &load_run<C, kType>;
  };
  return {kernel.template operator()<static_cast<DType>(D)>()...};
}

template <typename C, std::size_t... D>
constexpr std::array<StoreKernel, kDTypeCount> store_row(std::index_sequence<D...>) {
  return {&store_run<C, static_cast<DType>(D)>...};
}

/// By extent and size of the elements.
#define RELAYOUT_FEW(kernel)                                                                       \
  {                                                                                                \
    {&kernel<uint8_t, 2>, &kernel<uint16_t, 2>, &kernel<uint32_t, 2>, &kernel<uint64_t, 2>},       \
        {&kernel<uint8_t, 3>, &kernel<uint16_t, 3>, &kernel<uint32_t, 3>, &kernel<uint64_t, 3>}, { \
      &kernel<uint8_t, 4>, &kernel<uint16_t, 4>, &kernel<uint32_t, 4>, &kernel<uint64_t, 4>        \
    }                                                                                              \
  }

constexpr Kernels make_kernels(std::string_view isa) {
  constexpr auto all = std::make_index_sequence<kDTypeCount>();
  Kernels k{};
  k.isa = isa;
  k.transpose = {&transpose<uint8_t>, &transpose<uint16_t>, &transpose<uint32_t>, &transpose<uint64_t>,
                 &transpose<Bytes16>};
  k.transpose_strided = {&transpose_strided<uint8_t>, &transpose_strided<uint16_t>, &transpose_strided<uint32_t>,
                         &transpose_strided<uint64_t>, &transpose_strided<Bytes16>};
  k.interleave = {RELAYOUT_FEW(interleave)};
  k.deinterleave = {RELAYOUT_FEW(deinterleave)};
  k.copy = &copy;
  k.shuffle = &shuffle;
  k.fill = &fill;
  k.tiles = {&tiles<1, uint8_t>, &tiles<2, uint16_t>, &tiles<4, uint32_t>, &tiles<8, uint64_t>, &tiles<16, uint64_t>};
#if RELAYOUT_KERNELS_SIMD
#if HWY_TARGET <= HWY_AVX3
  k.transpose_pipelined = {&transpose_pipelined<uint8_t>, &transpose_pipelined<uint16_t>};
  k.convert_pipelined = pipelined_conversions();
#endif
  k.transpose_stream = {&transpose_stream<uint8_t>, &transpose_stream<uint16_t>, &transpose_stream<uint32_t>,
                        &transpose_stream<uint64_t>, nullptr};
  k.transpose_carried = {&transpose_carried<uint8_t>, &transpose_carried<uint16_t>, &transpose_carried<uint32_t>,
                         &transpose_carried<uint64_t>, nullptr};
  k.interleave_stream = {RELAYOUT_FEW(interleave_stream)};
  k.deinterleave_stream = {RELAYOUT_FEW(deinterleave_stream)};
  k.copy_stream = &copy_stream;
  k.flush = &flush;
#endif
  k.load = {load_row<float>(all), load_row<double>(all), load_row<Int128>(all)};
  k.store = {store_row<float>(all), store_row<double>(all), store_row<Int128>(all)};
  k.convert = convert_table<false>(all);
  k.convert_stream = convert_table<true>(all);
  k.arithmetic = {&arithmetic_run<float>, &arithmetic_run<double>};
  return k;
}

#undef RELAYOUT_FEW
#undef RELAYOUT_ATTR

}  // namespace
