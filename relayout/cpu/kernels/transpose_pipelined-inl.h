// A family of kernels (common-inl.h): transposition past the cache of elements of 1 and 2 bytes, and of values that are
// converted from or to them. Reading, transposing and writing go on at the same time.
//
// A *tile* is one or two lines of columns by one line of rows. Its columns are read line by line and interleaved in
// *groups* of 8 bytes of columns, which stay in the first-level cache. From there rows are put together, 16 bytes of a
// group at a time. Bursts of stores past the cache would hold up everything else, so the groups of the next tile are
// made in between the rows of this one.

#include "relayout/cpu/kernels/common-inl.h"
#include "relayout/cpu/kernels/registers-inl.h"
#include "relayout/cpu/kernels/values-inl.h"

#if RELAYOUT_KERNELS_SIMD && HWY_TARGET <= HWY_AVX3

namespace {

/// Interleaves elements of kSize bytes of two registers, within blocks of 16 bytes.
template <int64_t kSize>
HWY_INLINE __m512i interleave_low(__m512i a, __m512i b) {
  return kSize == 1 ? _mm512_unpacklo_epi8(a, b) : _mm512_unpacklo_epi16(a, b);
}
template <int64_t kSize>
HWY_INLINE __m512i interleave_high(__m512i a, __m512i b) {
  return kSize == 1 ? _mm512_unpackhi_epi8(a, b) : _mm512_unpackhi_epi16(a, b);
}

/// Columns of T, which are not converted.
template <typename T>
struct PlainColumns {
  static constexpr int64_t kSize = sizeof(T), kFrom = sizeof(T);

  HWY_INLINE __m512i line(const std::byte* from) const { return _mm512_loadu_si512(from); }
  HWY_INLINE __m512i partial(const std::byte* from, int64_t rows) const {
    return _mm512_maskz_loadu_epi8((uint64_t{1} << (rows * kSize)) - 1, from);
  }
};

/// Columns of S that are converted to D, which is narrower, as they are read; see with_arithmetic() for `operate`.
template <DType S, DType D, class Operate>
struct NarrowedColumns {
  static constexpr int64_t kSize = sizeof(Storage<D>), kFrom = sizeof(Storage<S>);
  Operate operate;

  HWY_INLINE __m512i line(const std::byte* from) const {
    return narrow_register<D>([&](int64_t k) HWY_ATTR { return operate(load_values<S>(from + k * kValues * kFrom)); })
        .raw;
  }
  // This is called rarely, so that it is not inlined.
  HWY_NOINLINE __m512i partial(const std::byte* from, int64_t rows) const {
    alignas(64) std::byte all[kCacheLine / kSize * kFrom] = {};
    __builtin_memcpy(all, from, static_cast<std::size_t>(rows * kFrom));
    return line(all);
  }
};

/// A target: rows that start at lines of the destination. put() of a target writes the next one or two lines of row i.
struct LineRows {
  static constexpr int64_t kWiden = 1;
  std::byte* dst;
  const int64_t* starts;

  HWY_INLINE LineRows at(int64_t row, int64_t bytes) const { return {dst + bytes, starts + row}; }
  template <int kLines>
  HWY_INLINE void put(int64_t i, const __m512i (&lines)[2]) const {
    std::byte* const to = dst + starts[i];
    for (int k = 0; k < kLines; ++k) _mm512_stream_si512(reinterpret_cast<__m512i*>(to + k * kCacheLine), lines[k]);
  }
};

/// A target: rows that start at lines and are converted to f32, which is wider.
template <DType S, class Operate>
struct WidenedRows {
  static constexpr int64_t kSize = sizeof(Storage<S>), kWiden = sizeof(float) / kSize;
  std::byte* dst;
  const int64_t* starts;
  Operate operate;

  HWY_INLINE WidenedRows at(int64_t row, int64_t bytes) const { return {dst + bytes, starts + row, operate}; }
  template <int kLines>
  HWY_INLINE void put(int64_t i, const __m512i (&lines)[2]) const {
    alignas(64) std::byte narrow[kLines * kCacheLine];
    std::byte* const to = dst + starts[i];
    for (int k = 0; k < kLines; ++k) _mm512_store_si512(narrow + k * kCacheLine, lines[k]);
    for (int64_t b = 0; b < kLines * kCacheLine; b += kValues * kSize)
      hn::Stream(operate(load_values<S>(narrow + b)), F32(), as<float>(to + b * kWiden));
  }
};

/// A target: rows that start anywhere in lines, see CarriedRows.
struct CarriedLineRows {
  static constexpr int64_t kWiden = 1;
  std::byte* dst;
  const int64_t* starts;
  std::byte* carry;
  bool first;

  HWY_INLINE CarriedLineRows at(int64_t row, int64_t bytes) const {
    return {dst + bytes, starts + row, carry + row * kCacheLine, first && bytes == 0};
  }
  template <int kLines>
  HWY_INLINE void put(int64_t i, const __m512i (&lines)[2]) const {
    std::byte* const last = carry + i * kCacheLine;
    const __m512i before = _mm512_load_si512(last);
    _mm512_store_si512(last, lines[kLines - 1]);
    std::byte* to = dst + starts[i];
    const int64_t skip = -static_cast<int64_t>(reinterpret_cast<intptr_t>(to)) & (kCacheLine - 1);
    to += skip - kCacheLine;
    if (!first) write(to, skip, before, lines[0]);
    if constexpr (kLines == 2) write(to + kCacheLine, skip, lines[0], lines[1]);
  }

 private:
  /// Writes the 64 bytes from byte `skip` on of a line and the next one.
  HWY_INLINE static void write(std::byte* to, int64_t skip, __m512i line, __m512i next) {
#if HWY_TARGET <= HWY_AVX3_DL
    alignas(64) static constexpr auto kCount = [] {
      std::array<int8_t, 64> out{};
      for (int k = 0; k < 64; ++k) out[static_cast<std::size_t>(k)] = static_cast<int8_t>(k);
      return out;
    }();
    const __m512i index = _mm512_add_epi8(_mm512_load_si512(kCount.data()), _mm512_set1_epi8(static_cast<char>(skip)));
    const __m512i both = _mm512_permutex2var_epi8(line, index, next);
#else
    alignas(64) std::byte pair[2 * kCacheLine];
    _mm512_store_si512(pair, line);
    _mm512_store_si512(pair + kCacheLine, next);
    const __m512i both = _mm512_loadu_si512(pair + skip);
#endif
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), both);
  }
};

/// Transposes `rows` rows of `columns`, which start at src + src_cols[c], into whole lines of columns.
template <class Columns, class To>
struct PipelinedTransposition {
  /// The bytes of an element that is transposed; the rows of a tile; the columns of a group; the groups of a line of
  /// columns.
  static constexpr int64_t kSize = Columns::kSize, kRows = kCacheLine / kSize, kCols = 8 / kSize, kGroups = 8;
  /// Groups lie an odd number of lines apart, so that they do not compete for few sets of the cache.
  static constexpr int64_t kPitch = kCols * kCacheLine + kCacheLine;

  const Columns& columns;
  const std::byte* src;
  Starts src_cols;
  To to;
  int64_t rows, cols, ahead;

  /// The lines of each column in a strip, which is prefetched together. Columns that do not start at lines, or are
  /// converted, are prefetched a tile at a time.
  static constexpr int64_t kStripLines = 4;
  static constexpr bool kStrips = Columns::kFrom == kSize;
  const bool strips = kStrips && start_at_lines();
  /// The rows of a tile are written in kSteps steps of kPairs pairs of rows, two steps for each group that is made.
  static constexpr int64_t kSteps = 2 * kGroups, kPairs = kRows / 2 / kSteps;

  struct Tile {
    int64_t row, col, rows, groups;
  };

  bool start_at_lines() const {
    int64_t starts = reinterpret_cast<intptr_t>(src);
    for (int64_t c = 0; c < cols; ++c) starts |= src_cols[c];
    return starts % kCacheLine == 0;
  }

  HWY_INLINE Tile tile(int64_t row, int64_t col) const {
    return {row, col, std::min(kRows, rows - row), row < rows ? std::min(2 * kGroups, (cols - col) / kCols) : 0};
  }
  HWY_INLINE Tile next(const Tile& t) const {
    const int64_t col = t.col + t.groups * kCols;
    return col < cols ? tile(t.row, col) : tile(t.row + kRows, 0);
  }

  /// What is prefetched while a tile is read: the next *strip*, which is a few lines of each column. All lines of one
  /// column are prefetched before those of the next, because memory is then read faster than by one line of each column
  /// in turn.
  struct Ahead {
    const std::byte* src;
    Starts cols;
    int64_t lines;
  };
  HWY_INLINE Ahead ahead_of(const Tile& t) const {
    const int64_t index = t.row / kRows, at = index % kStripLines;
    // The last strip may have fewer lines, and is prefetched a tile at a time.
    const bool strip = kStrips && strips && (index - at + kStripLines - 1) * kRows < rows;
    if (!strip) return {src + t.row * Columns::kFrom + ahead, src_cols + t.col, 1};
    return {src + (t.row - at * kRows) * kSize + ahead, src_cols + (at * cols + t.col) / kStripLines, kStripLines};
  }
  /// Prefetches the lines that go with group g.
  HWY_INLINE void fetch(const Ahead& next, int64_t g) const {
    if (ahead == 0) return;
    if (kStrips && next.lines == kStripLines) {
#pragma GCC unroll 8
      for (int64_t i = 0; i < kCols; ++i)
        prefetch(next.src + next.cols[(g * kCols + i) / kStripLines] + i % kStripLines * kCacheLine);
    } else {
#pragma GCC unroll 8
      for (int64_t i = 0; i < kCols; ++i) {
#pragma GCC unroll 8
        for (int64_t k = 0; k < kRows * Columns::kFrom; k += kCacheLine)
          prefetch(next.src + next.cols[g * kCols + i] + k);
      }
    }
  }

  /// Makes group g of a tile: rows 2 * p and 2 * p + 1 are the 16 bytes at pair_at(p).
  template <bool kWhole>
  HWY_INLINE void make_group(const std::byte* base, Starts starts, int64_t count, std::byte* group) const {
    __m512i a[kCols], b[kCols];
    // The loops are unrolled so that the arrays stay in registers.
#pragma GCC unroll 8
    for (int64_t i = 0; i < kCols; ++i) {
      const std::byte* const from = base + starts[i];
      a[i] = kWhole ? columns.line(from) : columns.partial(from, count);
    }
#pragma GCC unroll 4
    for (int64_t round = 1; round < kCols; round *= 2) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < kCols / 2; ++i) {
        b[2 * i] = interleave_low<kSize>(a[i], a[i + kCols / 2]);
        b[2 * i + 1] = interleave_high<kSize>(a[i], a[i + kCols / 2]);
      }
#pragma GCC unroll 8
      for (int64_t i = 0; i < kCols; ++i) a[i] = b[i];
    }
#pragma GCC unroll 8
    for (int64_t i = 0; i < kCols; ++i) _mm512_store_si512(group + i * kCacheLine, a[i]);
  }
  /// The same, not inlined: for calls that are too rare to be worth one more copy of the code.
  HWY_NOINLINE void make_group_apart(const Tile& t, int64_t g, std::byte* groups) const {
    const std::byte* const base = src + t.row * Columns::kFrom;
    const Starts starts = src_cols + t.col + g * kCols;
    fetch(ahead_of(t), g);
    if (t.rows == kRows)
      make_group<true>(base, starts, t.rows, groups + g * kPitch);
    else
      make_group<false>(base, starts, t.rows, groups + g * kPitch);
  }
  HWY_INLINE static int64_t pair_at(int64_t pair) { return pair % kCols * kCacheLine + pair / kCols * 16; }

  /// Loads 16 bytes of each of four groups, which are every second one.
  HWY_INLINE static __m512i four_groups(const std::byte* at) {
    const auto group = [&](int64_t i)
                           HWY_ATTR { return _mm_load_si128(reinterpret_cast<const __m128i*>(at + 2 * i * kPitch)); };
    __m512i v = _mm512_castsi128_si512(group(0));
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, group(1));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, group(2));
    return _mm512_mask_broadcast_i32x4(v, 0xf000, group(3));
  }

  template <int kLines, bool kWhole>
  HWY_INLINE static void put_pair(const To& to, int64_t pair, int64_t count, const std::byte* groups) {
    const std::byte* const from = groups + pair_at(pair);
    __m512i first[2], second[2];
#pragma GCC unroll 2
    for (int64_t k = 0; k < kLines; ++k) {
      const __m512i even = four_groups(from + k * kGroups * kPitch);
      const __m512i odd = four_groups(from + (k * kGroups + 1) * kPitch);
      first[k] = _mm512_unpacklo_epi64(even, odd);
      second[k] = _mm512_unpackhi_epi64(even, odd);
    }
    if (kWhole || 2 * pair < count) to.template put<kLines>(2 * pair, first);
    if (kWhole || 2 * pair + 1 < count) to.template put<kLines>(2 * pair + 1, second);
  }

  /// Writes the rows of a tile from its groups, and in between makes the groups of the next tile. kWhole: both tiles
  /// have kRows rows, as most have.
  template <int kLines, bool kWhole>
  HWY_NOINLINE void step(const Tile& now, const std::byte* groups, const Tile& then, std::byte* next_groups) const {
    const To at = to.at(now.row, now.col * kSize * To::kWiden);
    const std::byte* const base = src + then.row * Columns::kFrom;
    const Ahead next = ahead_of(then);
    Starts starts = src_cols + then.col;
    for (int64_t i = 0; i < kSteps; ++i, starts += kCols) {
      if (i < then.groups) {
        if constexpr (kWhole) {
          fetch(next, i);
          make_group<true>(base, starts, kRows, next_groups + i * kPitch);
        } else {
          make_group_apart(then, i, next_groups);
        }
      }
#pragma GCC unroll 2
      for (int64_t p = 0; p < kPairs; ++p) put_pair<kLines, kWhole>(at, i * kPairs + p, now.rows, groups);
    }
  }

  void run() const {
    alignas(64) std::byte groups[2][2 * kGroups * kPitch];
    Tile now = tile(0, 0);
    for (int64_t g = 0; g < now.groups; ++g) make_group_apart(now, g, groups[0]);
    for (int made = 0; now.groups > 0; made ^= 1) {
      const Tile then = next(now);
      const bool whole = now.rows == kRows && then.rows == kRows;
      const auto run_step =
          now.groups > kGroups
              ? (whole ? &PipelinedTransposition::step<2, true> : &PipelinedTransposition::step<2, false>)
              : (whole ? &PipelinedTransposition::step<1, true> : &PipelinedTransposition::step<1, false>);
      (this->*run_step)(now, groups[made], then, groups[made ^ 1]);
      now = then;
    }
  }
};

/// Transposes `columns`: where there is a carry, into rows that start anywhere in lines; otherwise into rows of whole
/// lines.
template <class Columns>
HWY_INLINE void transpose_columns_pipelined(const Columns& columns, const std::byte* src, Starts src_cols,
                                            std::byte* dst, Starts dst_rows, std::byte* carry, bool first, int64_t rows,
                                            int64_t cols, int64_t ahead) {
  if (carry) {
    const CarriedLineRows to{dst, dst_rows, carry, first};
    PipelinedTransposition<Columns, CarriedLineRows>{columns, src, src_cols, to, rows, cols, ahead}.run();
  } else {
    PipelinedTransposition<Columns, LineRows>{columns, src, src_cols, {dst, dst_rows}, rows, cols, ahead}.run();
  }
}

/// The kernel for elements of T.
template <typename T>
void transpose_pipelined(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows, std::byte* carry,
                         bool first, int64_t rows, int64_t cols, const RunAttributes*, int64_t ahead) {
  transpose_columns_pipelined(PlainColumns<T>(), src, src_cols, dst, dst_rows, carry, first, rows, cols, ahead);
}

/// The kernel that converts S to D, which is narrower.
template <DType S, DType D>
void transpose_narrowing(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows, std::byte* carry,
                         bool first, int64_t rows, int64_t cols, const RunAttributes* attributes, int64_t ahead) {
  with_arithmetic<D>(attributes, [&](auto operate) HWY_ATTR {
    const NarrowedColumns<S, D, decltype(operate)> columns{operate};
    transpose_columns_pipelined(columns, src, src_cols, dst, dst_rows, carry, first, rows, cols, ahead);
  });
}

/// The kernel that converts S to f32, which is wider: rows are whole lines and start at lines.
template <DType S>
void transpose_widening(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows, std::byte*, bool,
                        int64_t rows, int64_t cols, const RunAttributes* attributes, int64_t ahead) {
  const PlainColumns<Storage<S>> columns;
  with_arithmetic<DType::f32>(attributes, [&](auto operate) HWY_ATTR {
    using To = WidenedRows<S, decltype(operate)>;
    PipelinedTransposition<PlainColumns<Storage<S>>, To>{columns, src,  src_cols, {dst, dst_rows, operate},
                                                         rows,    cols, ahead}
        .run();
  });
}

constexpr std::array<std::array<PipelinedKernel, kPairedTypes>, kPairedTypes> pipelined_conversions() {
  std::array<std::array<PipelinedKernel, kPairedTypes>, kPairedTypes> out{};
  const auto both_ways = [&]<DType kNarrow>(std::integral_constant<DType, kNarrow>) {
    constexpr auto f32 = static_cast<std::size_t>(DType::f32), narrow = static_cast<std::size_t>(kNarrow);
    out[f32][narrow] = &transpose_narrowing<DType::f32, kNarrow>;
    out[narrow][f32] = &transpose_widening<kNarrow>;
  };
  both_ways(std::integral_constant<DType, DType::u8>());
  both_ways(std::integral_constant<DType, DType::s8>());
  both_ways(std::integral_constant<DType, DType::f16>());
  both_ways(std::integral_constant<DType, DType::bf16>());
  return out;
}

}  // namespace

void add_pipelines(Kernels& k) {
  k.transpose_pipelined = {&transpose_pipelined<uint8_t>, &transpose_pipelined<uint16_t>};
  k.convert_pipelined = pipelined_conversions();
}

#else

void add_pipelines(Kernels&) {}

#endif
