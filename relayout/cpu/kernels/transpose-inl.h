// A family of kernels (common-inl.h): transposition in registers (registers-inl.h), through the cache and past it.

#include "relayout/cpu/kernels/common-inl.h"
#include "relayout/cpu/kernels/interleave-inl.h"
#include "relayout/cpu/kernels/registers-inl.h"

namespace {

/// The plain transposition, one element at a time.
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

#include "relayout/cpu/kernels/transpose_lines-inl.h"

/// Transposes a tile of N rows and as many columns as a register of D has elements, and writes its rows from `skip` on.
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

/// Transposes a square of 64 bytes by 64 bytes of elements of 4 or 8 bytes, read as whole lines. It has 16 or 8
/// registers. Register g * N + i holds column g * N + i before and row g * N + i after the transposition.
template <typename T, class Lines, class To>
HWY_INLINE void transpose_square(Lines lines, To to) {
  constexpr int kN = 16 / sizeof(T);
  const Wide<T> d;
  Registers<Wide<T>> group[4];
  // The loops are unrolled so that the array stays in registers.
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) group[g].v[i] = lines.read(d, g * kN + i);
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

/// Transposes the rows from row r on, of as many columns as a register of D has elements. There are at least N rows.
/// The last tile starts earlier, so that it is full, and does some rows a second time.
template <typename T, class D, class Columns, class To>
HWY_INLINE void transpose_tiles(D d, const std::byte* src, Columns src_cols, To to, int64_t r, int64_t rows,
                                int64_t ahead) {
  constexpr int64_t kN = 16 / sizeof(T), kSize = sizeof(T);
  while (r < rows) {
    const int64_t from = std::min(r, rows - kN);
    // One prefetch for each line is enough.
    const int64_t far = r * kSize % kCacheLine == 0 ? ahead : 0;
    transpose_tile<T>(d, src + from * kSize, src_cols, to.from(from), static_cast<int>(r - from), far);
    r = from + kN;
  }
}

/// Transposes all rows, at least N, of as many columns as a register of D has elements.
template <typename T, class D, class Columns, class To>
HWY_INLINE void transpose_rows(D d, const std::byte* src, Columns src_cols, To to, int64_t rows, int64_t ahead) {
  int64_t r = 0;
#if HWY_TARGET <= HWY_AVX3
  constexpr int64_t kSize = sizeof(T), kSquare = kCacheLine / kSize;
  if constexpr ((kSize == 4 || kSize == 8) && static_cast<int64_t>(hn::MaxLanes(d)) == kSquare) {
    for (; r + kSquare <= rows; r += kSquare) {
      const std::byte* const from = src + r * kSize;
      transpose_square<T>(ColumnLines<Columns>{from, src_cols, ahead}, to.from(r));
    }
  }
#endif
  transpose_tiles<T>(d, src, src_cols, to, r, rows, ahead);
}

/// Does the same, but finds columns that are a fixed distance apart by a stride instead of the list.
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

/// Transposes all whole squares of kLines + 1 squares of columns that lie side by side, row after row.
template <typename T, int kLines, class To>
HWY_INLINE void transpose_beside(const std::byte* src, const int64_t* src_cols, To to, int64_t rows, int64_t ahead) {
  constexpr int64_t kSize = sizeof(T), kSquare = kCacheLine / kSize;
  for (int64_t r = 0; r < rows; r += kSquare) {
    const ColumnLines<const int64_t*> columns{src + r * kSize, src_cols, ahead};
    for (int line = 0; line < kLines; ++line)
      transpose_square<T>(columns.from(line * kSquare), Image<kLines>{to.image.lines + line * kCacheLine});
    transpose_square<T>(columns.from(kLines * kSquare), to.from(r));
  }
}

/// Transposes any number of rows and whole lines of columns, kSquares squares side by side. Memory is written much
/// faster where several lines of a row are written one after the other, and read faster where a line of each of these
/// columns is read before the next line of any of them. The columns that are left over are done by half as many squares
/// side by side, and so on.
template <typename T, int kSquares>
HWY_INLINE void transpose_squares(const std::byte* src, const int64_t* src_cols, std::byte* dst,
                                  const int64_t* dst_rows, int64_t rows, int64_t cols, int64_t ahead) {
  constexpr int64_t kSize = sizeof(T), kSquare = kCacheLine / kSize, kCols = kSquares * kSquare;
  int64_t c = 0;
  if constexpr (kSquares > 1) {
    constexpr int kLines = kSquares - 1;
    const int64_t whole = rows / kSquare * kSquare;
    alignas(64) std::byte lines[kSquare * kLines * kCacheLine];
    for (; c + kCols <= cols; c += kCols) {
      const RowsOfLines<kLines> to{dst + c * kSize, dst_rows, {lines}};
      if (whole > 0) transpose_beside<T, kLines>(src, src_cols + c, to, whole, ahead);
      for (int line = 0; line < kSquares && whole < rows; ++line)
        transpose_tiles<T>(Wide<T>(), src, src_cols + c + line * kSquare,
                           Rows<true>{to.dst + line * kCacheLine, dst_rows}, whole, rows, ahead);
    }
    if (c < cols)
      transpose_squares<T, kSquares / 2>(src, src_cols + c, dst + c * kSize, dst_rows, rows, cols - c, ahead);
  } else {
    for (; c < cols; c += kSquare)
      transpose_columns<T>(Wide<T>(), src, src_cols + c, Rows<true>{dst + c * kSize, dst_rows}, rows, ahead);
  }
}

#endif

/// Transposes past the cache. Rows start at lines of the destination and are whole lines, or have 16 or 32 bytes and
/// start at multiples of their size.
template <typename T>
void transpose_stream(const std::byte* src, const int64_t* src_cols, std::byte* dst, const int64_t* dst_rows,
                      int64_t rows, int64_t cols, int64_t ahead) {
  constexpr int64_t kSize = sizeof(T), kWhole = kCacheLine / kSize;
  constexpr int64_t kN = 16 / kSize, kWidth = kN * kBlocks;
  if (rows < kN) return transpose_small<T>(src, src_cols, dst, dst_rows, rows, cols);
  if (cols == kN) return transpose_columns<T>(Block16<T>(), src, src_cols, Rows<true>{dst, dst_rows}, rows, ahead);
#if HWY_TARGET <= HWY_AVX3
  if (cols == 2 * kN)
    return transpose_columns<T>(hn::CappedTag<T, 2 * kN>(), src, src_cols, Rows<true>{dst, dst_rows}, rows, ahead);
  if constexpr (kSize == 4 || kSize == 8) {
    if (cols > kWhole) return transpose_squares<T, kBeside>(src, src_cols, dst, dst_rows, rows, cols, ahead);
  }
#endif
  const Wide<T> d;
  for (int64_t c = 0; c < cols; c += kWhole) {
    if constexpr (kWidth == kWhole) {
      transpose_columns<T>(d, src, src_cols + c, Rows<true>{dst + c * kSize, dst_rows}, rows, ahead);
    } else {
      // Registers are narrower than a line, so the stores that make a line must follow each other at once. Where a
      // tile has 8 or 16 rows, stores to so many lines in turns were not combined, so the lines are put together in the
      // cache first.
      constexpr bool kTogether = kN >= 8;
      const int64_t part_end = std::min(cols, c + kWhole), bytes = (part_end - c) * kSize;
      alignas(64) std::byte lines[kTogether ? kN * kCacheLine : 1];
      int64_t starts[kN];
      for (int64_t i = 0; i < kN; ++i) starts[i] = i * kCacheLine;
      for (int64_t r = 0; r < rows;) {
        const int64_t from = std::min(r, rows - kN), far = r * kSize % kCacheLine == 0 ? ahead : 0;
        const int skip = static_cast<int>(r - from);
        for (int64_t part = c; part < part_end; part += kWidth) {
          if constexpr (kTogether)
            transpose_tile<T>(d, src + from * kSize, src_cols + part, Rows<false>{lines + (part - c) * kSize, starts},
                              skip, far);
          else
            transpose_tile<T>(d, src + from * kSize, src_cols + part, Rows<true>{dst + part * kSize, dst_rows + from},
                              skip, far);
        }
        for (int64_t i = skip; kTogether && i < kN; ++i) {
          std::byte* const to = dst + dst_rows[from + i] + c * kSize;
          for (int64_t b = 0; b < bytes; b += 16 * kBlocks)
            hn::Stream(hn::Load(d, as<T>(lines + i * kCacheLine + b)), d, as<T>(to + b));
        }
        r = from + kN;
      }
    }
  }
}

/// Transposes like transpose_stream(), but rows may start anywhere in lines.
template <typename T>
void transpose_carried(const std::byte* src, const int64_t* src_cols, std::byte* dst, const int64_t* dst_rows,
                       std::byte* carry, bool first, int64_t rows, int64_t cols, int64_t ahead) {
  constexpr int64_t kSize = sizeof(T), kWhole = kCacheLine / kSize;
  const Wide<T> d;
  for (int64_t c = 0; c < cols; c += kWhole, first = false) {
#if HWY_TARGET <= HWY_AVX3_DL
    transpose_columns<T>(d, src, src_cols + c, CarriedRows{dst + c * kSize, dst_rows, carry, first}, rows, ahead);
#else
    // Some rows are done at a time. `pairs` holds, for each row, its carried line and the line made now behind it.
    constexpr int64_t kMost = 32, kStep = 16 * kBlocks;
    const Wide<uint8_t> bytes;
    alignas(64) std::byte pairs[kMost * 2 * kCacheLine];
    int64_t starts[kMost];
    for (int64_t r = 0; r < kMost; ++r) starts[r] = (2 * r + 1) * kCacheLine;
    for (int64_t r = 0; r < rows;) {
      const int64_t rest = rows - r, count = rest < kMost ? rest : rest < kMost + 16 ? kMost / 2 : kMost;
      const auto move_line = [&](const std::byte* from, std::byte* to) HWY_ATTR {
        for (int64_t b = 0; b < kCacheLine; b += kStep)
          hn::Store(hn::Load(bytes, as<uint8_t>(from + b)), bytes, as<uint8_t>(to + b));
      };
      std::byte* const last = carry + r * kCacheLine;
      for (int64_t i = 0; i < count && !first; ++i) move_line(last + i * kCacheLine, pairs + 2 * i * kCacheLine);
      for (int64_t part = 0; part < kCacheLine; part += kStep) {
        transpose_columns<T>(d, src + r * kSize, src_cols + c + part / kSize, Rows<false>{pairs + part, starts}, count,
                             part == 0 ? ahead : 0);
      }
      for (int64_t i = 0; i < count; ++i) {
        move_line(pairs + starts[i], last + i * kCacheLine);
        if (first) continue;
        std::byte* const to = dst + dst_rows[r + i] + c * kSize;
        const int64_t skip = -reinterpret_cast<intptr_t>(to) & (kCacheLine - 1);
        const std::byte* const from = pairs + 2 * i * kCacheLine + skip;
        for (int64_t b = 0; b < kCacheLine; b += kStep)
          hn::Stream(hn::LoadU(bytes, as<uint8_t>(from + b)), bytes, as<uint8_t>(to + skip - kCacheLine + b));
      }
      r += count;
    }
#endif
  }
}

#endif  // RELAYOUT_KERNELS_SIMD

#include "relayout/cpu/kernels/transpose_cached-inl.h"

}  // namespace

/// The kernels by the number of columns (rows) and the size of elements: from two to four, and those of odd numbers.
#define RELAYOUT_UP_TO_FOUR(kernel)                                                              \
  {&kernel<uint8_t, 2>, &kernel<uint16_t, 2>, &kernel<uint32_t, 2>, &kernel<uint64_t, 2>},       \
      {&kernel<uint8_t, 3>, &kernel<uint16_t, 3>, &kernel<uint32_t, 3>, &kernel<uint64_t, 3>}, { \
    &kernel<uint8_t, 4>, &kernel<uint16_t, 4>, &kernel<uint32_t, 4>, &kernel<uint64_t, 4>        \
  }
#define RELAYOUT_FEW(kernel)                                                                       \
  {                                                                                                \
    {                                                                                              \
      RELAYOUT_UP_TO_FOUR(kernel), {RELAYOUT_ODD(kernel, 5)}, {}, {RELAYOUT_ODD(kernel, 7)}, {}, { \
        RELAYOUT_ODD(kernel, 9)                                                                    \
      }                                                                                            \
    }                                                                                              \
  }
#if RELAYOUT_KERNELS_SIMD && HWY_TARGET <= HWY_AVX3_DL
#define RELAYOUT_ODD(kernel, few) &kernel<uint8_t, few>, &kernel<uint16_t, few>, &kernel<uint32_t, few>, nullptr
#elif RELAYOUT_KERNELS_SIMD
#define RELAYOUT_ODD(kernel, few) nullptr, nullptr, &kernel<uint32_t, few>, nullptr
#else
#define RELAYOUT_ODD(kernel, few)
#endif

void add_transpositions(Kernels& k) {
  k.transpose = {&transpose<uint8_t>, &transpose<uint16_t>, &transpose<uint32_t>, &transpose<uint64_t>};
  k.transpose_strided = {&transpose_strided<uint8_t>, &transpose_strided<uint16_t>, &transpose_strided<uint32_t>,
                         &transpose_strided<uint64_t>};
  k.interleave = RELAYOUT_FEW(interleave);
  k.deinterleave = RELAYOUT_FEW(deinterleave);
#if RELAYOUT_KERNELS_SIMD
  k.transpose_stream = {&transpose_stream<uint8_t>, &transpose_stream<uint16_t>, &transpose_stream<uint32_t>,
                        &transpose_stream<uint64_t>};
  k.transpose_carried = {&transpose_carried<uint8_t>, &transpose_carried<uint16_t>, &transpose_carried<uint32_t>,
                         &transpose_carried<uint64_t>};
  k.interleave_stream = {{RELAYOUT_UP_TO_FOUR(interleave_stream)}};
  k.deinterleave_stream = {{RELAYOUT_UP_TO_FOUR(deinterleave_stream)}};
#endif
}

#undef RELAYOUT_ODD
#undef RELAYOUT_FEW
#undef RELAYOUT_UP_TO_FOUR
