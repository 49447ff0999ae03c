// A family of kernels (common-inl.h): transposition in registers (registers-inl.h), through the cache and past it.

#include "relayout/cpu/kernels/common-inl.h"
#include "relayout/cpu/kernels/interleave-inl.h"
#include "relayout/cpu/kernels/registers-inl.h"

namespace {

/// The plain transposition.
template <typename T, class Columns, class Targets>
void transpose_plain(const std::byte* src, Columns src_cols, std::byte* dst, Targets dst_rows, int64_t rows,
                     int64_t cols, int64_t) {
  constexpr int64_t kSize = sizeof(T);
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte* from = src + r * kSize;
    std::byte* to = dst + dst_rows[r];
    for (int64_t c = 0; c < cols; ++c) store_unaligned(to + c * kSize, load_unaligned<T>(from + src_cols[c]));
  }
}

#if RELAYOUT_KERNELS_SIMD

/// Where tiles are put: rows of a destination, through the cache or past it.
template <bool kStream>
struct Rows {
  std::byte* dst;
  const int64_t* starts;

  HWY_INLINE Rows from(int64_t r) const { return {dst, starts + r}; }
  template <class D>
  HWY_INLINE void put(D d, int i, hn::Vec<D> v) const {
    auto* const to = as<hn::TFromD<D>>(dst + starts[i]);
    if constexpr (kStream)
      hn::Stream(v, d, to);
    else
      hn::StoreU(v, d, to);
  }
};

#if HWY_TARGET <= HWY_AVX3_DL

/// Rows of whole lines that start anywhere: each line of a row is put together from the last one made and this one,
/// in registers.
struct CarriedRows {
  std::byte* dst;
  const int64_t* starts;
  std::byte* carry;
  bool first;

  HWY_INLINE CarriedRows from(int64_t r) const { return {dst, starts + r, carry + r * kLine, first}; }
  template <class D>
  HWY_INLINE void put(D, int i, hn::Vec<D> v) const {
    std::byte* const last = carry + i * kLine;
    const __m512i before = _mm512_load_si512(last);
    _mm512_store_si512(last, v.raw);
    if (first) return;
    std::byte* const to = dst + starts[i];
    const intptr_t skip = -reinterpret_cast<intptr_t>(to) & (kLine - 1);
    alignas(64) static constexpr auto kCount = [] {
      std::array<int8_t, 64> out{};
      for (int k = 0; k < 64; ++k) out[static_cast<std::size_t>(k)] = static_cast<int8_t>(k);
      return out;
    }();
    const __m512i index = _mm512_add_epi8(_mm512_load_si512(kCount.data()), _mm512_set1_epi8(static_cast<char>(skip)));
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + skip - kLine), _mm512_permutex2var_epi8(before, index, v.raw));
  }
};

#endif

/// The rows from `skip` on of N rows of as many columns as a register of D has elements of a row.
template <typename T, class D, class Columns, class To>
HWY_INLINE void transpose_tile(D d, const std::byte* src, Columns src_cols, To to, int skip, int64_t ahead) {
  constexpr int kN = 16 / sizeof(T), kCols = static_cast<int>(HWY_MIN(hn::MaxLanes(d), 64 / sizeof(T)));
  Registers<D> a;
  for (int i = 0; i < kN; ++i) a.v[i] = load_blocks<kN>(d, src, src_cols, i);
  if (ahead != 0) {
    for (int i = 0; i < kCols; ++i) prefetch(src + src_cols[i] + ahead);
  }
  interleave_rounds<kN>(d, a);
  for (int i = 0; i < kN; ++i) {
    if (i >= skip) to.put(d, i, a.v[i]);
  }
}

#if HWY_TARGET <= HWY_AVX3

/// What is read next: the same of each column, `ahead` bytes further, where that is not 0. (Not a lambda: gcc drops
/// calls of what does nothing but prefetch, unless they are inlined by force.)
template <class Columns>
struct FetchAhead {
  const std::byte* src;
  Columns src_cols;
  int64_t ahead;

  HWY_INLINE void operator()(int i) const {
    if (ahead != 0) prefetch(src + src_cols[i] + ahead);
  }
};

/// What is read next, `ahead` bytes further where that is not 0, line by line of one column after the other: memory is
/// read faster in stretches, and of many prefetches at once the processor drops some.
struct FetchColumns {
  const std::byte* src;
  const int64_t* src_cols;
  int64_t bytes, ahead, at = 0;

  HWY_INLINE void operator()(int) {
    if (ahead == 0) return;
    prefetch(src + *src_cols + ahead + at);
    at += kLine;
    if (at < bytes) return;
    at = 0;
    ++src_cols;
  }
};

/// A square of 64 bytes by 64 bytes, read as whole lines; elements of 4 and 8 bytes. Of the 16 registers that it has
/// at most, g * N + i is column g * N + i before and row g * N + i after. As it reads column i it calls fetch(i).
template <typename T, class Columns, class To, class Fetch>
HWY_INLINE void transpose_square(const std::byte* src, Columns src_cols, To to, Fetch&& fetch) {
  constexpr int kN = 16 / sizeof(T);
  const Wide<T> d;
  Registers<Wide<T>> group[4];
  // Unrolled, so that registers need not go by way of memory.
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) {
      group[g].v[i] = hn::LoadU(d, as<T>(src + src_cols[g * kN + i]));
      fetch(g * kN + i);
    }
    interleave_rounds<kN>(d, group[g]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) {
    transpose_blocks(group[0].v[i], group[1].v[i], group[2].v[i], group[3].v[i]);
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) to.put(d, g * kN + i, group[g].v[i]);
  }
}

#endif

/// Rows from r on, of at least N, of the columns of a register of D. What is left is done by a tile that repeats some.
template <typename T, class D, class Columns, class To>
HWY_INLINE void transpose_tiles(D d, const std::byte* src, Columns src_cols, To to, int64_t r, int64_t rows,
                                int64_t ahead) {
  constexpr int64_t kN = 16 / sizeof(T), kSize = sizeof(T);
  while (r < rows) {
    const int64_t from = std::min(r, rows - kN);
    // One prefetch a line is enough.
    const int64_t far = r * kSize % kLine == 0 ? ahead : 0;
    transpose_tile<T>(d, src + from * kSize, src_cols, to.from(from), static_cast<int>(r - from), far);
    r = from + kN;
  }
}

/// All rows, at least N, of the columns of a register of D.
template <typename T, class D, class Columns, class To>
HWY_INLINE void transpose_rows(D d, const std::byte* src, Columns src_cols, To to, int64_t rows, int64_t ahead) {
  int64_t r = 0;
#if HWY_TARGET <= HWY_AVX3
  constexpr int64_t kSize = sizeof(T), kSquare = kLine / kSize;
  if constexpr ((kSize == 4 || kSize == 8) && static_cast<int64_t>(hn::MaxLanes(d)) == kSquare) {
    for (; r + kSquare <= rows; r += kSquare) {
      const std::byte* const from = src + r * kSize;
      transpose_square<T>(from, src_cols, to.from(r), FetchAhead<Columns>{from, src_cols, ahead});
    }
  }
#endif
  transpose_tiles<T>(d, src, src_cols, to, r, rows, ahead);
}

/// The same, by the list or, where they are a fixed distance apart, by a stride.
template <typename T, class D, class To>
HWY_INLINE void transpose_columns(D d, const std::byte* src, const int64_t* src_cols, To to, int64_t rows,
                                  int64_t ahead) {
  if (even(src_cols, static_cast<int64_t>(hn::MaxLanes(d))))
    transpose_rows<T>(d, src + src_cols[0], Affine{src_cols[1] - src_cols[0]}, to, rows, ahead);
  else
    transpose_rows<T>(d, src, src_cols, to, rows, ahead);
}

#include "relayout/cpu/kernels/transpose_small-inl.h"

#if HWY_TARGET <= HWY_AVX3

/// Whether all columns start at lines, and are not apart by multiples of what makes them share few sets of the second
/// level, and few banks of the memory, where the source's pages follow each other: then they are read in stretches.
HWY_INLINE bool read_by_lines(const std::byte* src, const int64_t* src_cols, int64_t cols) {
  constexpr int64_t kSameSets = 32 << 10;
  int64_t starts = 0, apart = 0;
  for (int64_t c = 0; c < cols; ++c) {
    starts |= reinterpret_cast<intptr_t>(src) + src_cols[c];
    apart |= src_cols[c] - src_cols[0];
  }
  return starts % kLine == 0 && apart % kSameSets != 0;
}

/// transpose_stream() by squares, some rows' lines one after the other: memory is written faster so. Not for columns
/// that start anywhere: both lines of each load would have left the first level when the next row of squares is read.
template <typename T>
void transpose_stream_squares(const std::byte* src, const int64_t* src_cols, std::byte* dst, const int64_t* dst_rows,
                              int64_t rows, int64_t cols, int64_t ahead) {
  constexpr int64_t kSize = sizeof(T), kSquare = kLine / kSize;
  FetchColumns fetch{src, src_cols, rows * kSize, ahead};
  const int64_t whole = rows / kSquare * kSquare;
  for (int64_t r = 0; r < whole; r += kSquare) {
    for (int64_t c = 0; c < cols; c += kSquare) {
      const Rows<true> to{dst + c * kSize, dst_rows + r};
      transpose_square<T>(src + r * kSize, src_cols + c, to, fetch);
    }
  }
  for (int64_t c = 0; c < cols && whole < rows; c += kSquare)
    transpose_tiles<T>(Wide<T>(), src, src_cols + c, Rows<true>{dst + c * kSize, dst_rows}, whole, rows, 0);
}

#endif

/// As transpose(), with rows that start at lines of the destination and whole lines of columns; or with rows of 16 or
/// 32 bytes that start at multiples of their size.
template <typename T>
void transpose_stream(const std::byte* src, const int64_t* src_cols, std::byte* dst, const int64_t* dst_rows,
                      int64_t rows, int64_t cols, int64_t ahead) {
  constexpr int64_t kSize = sizeof(T), kWhole = kLine / kSize;
  constexpr int64_t kN = 16 / kSize, kWidth = kN * kBlocks;
  if (rows < kN) return transpose_small<T>(src, src_cols, dst, dst_rows, rows, cols);
  if (cols == kN) return transpose_columns<T>(Block16<T>(), src, src_cols, Rows<true>{dst, dst_rows}, rows, ahead);
#if HWY_TARGET <= HWY_AVX3
  if (cols == 2 * kN)
    return transpose_columns<T>(hn::CappedTag<T, 2 * kN>(), src, src_cols, Rows<true>{dst, dst_rows}, rows, ahead);
  if constexpr (kSize == 4 || kSize == 8) {
    if (cols > kWhole && read_by_lines(src, src_cols, cols))
      return transpose_stream_squares<T>(src, src_cols, dst, dst_rows, rows, cols, ahead);
  }
#endif
  const Wide<T> d;
  for (int64_t c = 0; c < cols; c += kWhole) {
    if constexpr (kWidth == kWhole) {
      transpose_columns<T>(d, src, src_cols + c, Rows<true>{dst + c * kSize, dst_rows}, rows, ahead);
    } else {
      // Narrower registers: a line's parts follow each other at once.
      for (int64_t r = 0; r < rows;) {
        const int64_t from = std::min(r, rows - kN), far = r * kSize % kLine == 0 ? ahead : 0;
        for (int64_t part = c; part < std::min(cols, c + kWhole); part += kWidth) {
          transpose_tile<T>(d, src + from * kSize, src_cols + part, Rows<true>{dst + part * kSize, dst_rows + from},
                            static_cast<int>(r - from), far);
        }
        r = from + kN;
      }
    }
  }
}

/// As transpose_stream(), with rows that start anywhere.
template <typename T>
void transpose_carried(const std::byte* src, const int64_t* src_cols, std::byte* dst, const int64_t* dst_rows,
                       std::byte* carry, bool first, int64_t rows, int64_t cols, int64_t ahead) {
  constexpr int64_t kSize = sizeof(T), kWhole = kLine / kSize;
  const Wide<T> d;
  for (int64_t c = 0; c < cols; c += kWhole, first = false) {
#if HWY_TARGET <= HWY_AVX3_DL
    transpose_columns<T>(d, src, src_cols + c, CarriedRows{dst + c * kSize, dst_rows, carry, first}, rows, ahead);
#else
    // Some rows' lines beside their last ones, in memory.
    constexpr int64_t kMost = 32, kStep = 16 * kBlocks;
    const Wide<uint8_t> bytes;
    alignas(64) std::byte pairs[kMost * 2 * kLine];
    int64_t starts[kMost];
    for (int64_t r = 0; r < kMost; ++r) starts[r] = (2 * r + 1) * kLine;
    for (int64_t r = 0; r < rows;) {
      const int64_t rest = rows - r, count = rest < kMost ? rest : rest < kMost + 16 ? kMost / 2 : kMost;
      const auto move_line = [&](const std::byte* from, std::byte* to) HWY_ATTR {
        for (int64_t b = 0; b < kLine; b += kStep)
          hn::Store(hn::Load(bytes, as<uint8_t>(from + b)), bytes, as<uint8_t>(to + b));
      };
      std::byte* const last = carry + r * kLine;
      for (int64_t i = 0; i < count && !first; ++i) move_line(last + i * kLine, pairs + 2 * i * kLine);
      for (int64_t part = 0; part < kLine; part += kStep) {
        transpose_columns<T>(d, src + r * kSize, src_cols + c + part / kSize, Rows<false>{pairs + part, starts}, count,
                             part == 0 ? ahead : 0);
      }
      for (int64_t i = 0; i < count; ++i) {
        move_line(pairs + starts[i], last + i * kLine);
        if (first) continue;
        std::byte* const to = dst + dst_rows[r + i] + c * kSize;
        const int64_t skip = -reinterpret_cast<intptr_t>(to) & (kLine - 1);
        const std::byte* const from = pairs + 2 * i * kLine + skip;
        for (int64_t b = 0; b < kLine; b += kStep)
          hn::Stream(hn::LoadU(bytes, as<uint8_t>(from + b)), bytes, as<uint8_t>(to + skip - kLine + b));
      }
      r += count;
    }
#endif
  }
}

#endif  // RELAYOUT_KERNELS_SIMD

#include "relayout/cpu/kernels/transpose_cached-inl.h"

}  // namespace

/// By extent and size of the elements.
#define RELAYOUT_FEW(kernel)                                                                       \
  {                                                                                                \
    {&kernel<uint8_t, 2>, &kernel<uint16_t, 2>, &kernel<uint32_t, 2>, &kernel<uint64_t, 2>},       \
        {&kernel<uint8_t, 3>, &kernel<uint16_t, 3>, &kernel<uint32_t, 3>, &kernel<uint64_t, 3>}, { \
      &kernel<uint8_t, 4>, &kernel<uint16_t, 4>, &kernel<uint32_t, 4>, &kernel<uint64_t, 4>        \
    }                                                                                              \
  }

void add_transpositions(Kernels& k) {
  k.transpose = {&transpose<uint8_t>, &transpose<uint16_t>, &transpose<uint32_t>, &transpose<uint64_t>,
                 &transpose<Bytes16>};
  k.transpose_strided = {&transpose_strided<uint8_t>, &transpose_strided<uint16_t>, &transpose_strided<uint32_t>,
                         &transpose_strided<uint64_t>, &transpose_strided<Bytes16>};
  k.interleave = {RELAYOUT_FEW(interleave)};
  k.deinterleave = {RELAYOUT_FEW(deinterleave)};
#if RELAYOUT_KERNELS_SIMD
  k.transpose_stream = {&transpose_stream<uint8_t>, &transpose_stream<uint16_t>, &transpose_stream<uint32_t>,
                        &transpose_stream<uint64_t>, nullptr};
  k.transpose_carried = {&transpose_carried<uint8_t>, &transpose_carried<uint16_t>, &transpose_carried<uint32_t>,
                         &transpose_carried<uint64_t>, nullptr};
  k.interleave_stream = {RELAYOUT_FEW(interleave_stream)};
  k.deinterleave_stream = {RELAYOUT_FEW(deinterleave_stream)};
#endif
}

#undef RELAYOUT_FEW
