// A family of kernels (common-inl.h): transposition by tiles of registers (TileShape), with the bytes of groups of 16
// permuted as they are read and as they are written.

#include "relayout/cpu/kernels/common-inl.h"
#include "relayout/cpu/kernels/registers-inl.h"

namespace {

/// Calls start(row) for each stretch of `height` rows, and then one(col) for each tile of `width` columns in it. The
/// last tile of a run starts earlier, so that it is full, and does some rows or columns a second time.
template <typename Start, typename One>
RELAYOUT_INLINE void each_tile(const TileShape& shape, int64_t height, int64_t width, Start start, One one) {
  const int64_t last_row = std::max<int64_t>(0, shape.row_run - height);
  const int64_t last_col = std::max<int64_t>(0, shape.col_run - width);
  for (int64_t row_run = 0; row_run < shape.rows; row_run += shape.row_run) {
    for (int64_t r = 0; r < shape.row_run; r += height) {
      start(row_run + std::min(r, last_row));
      for (int64_t col_run = 0; col_run < shape.cols; col_run += shape.col_run) {
        for (int64_t c = 0; c < shape.col_run; c += width) one(col_run + std::min(c, last_col));
      }
    }
  }
}

#if RELAYOUT_KERNELS_SIMD

/// Loads `bytes` bytes, fewer than 16, without reading others. The other bytes of the register hold anything.
HWY_INLINE hn::Vec<Block16<uint8_t>> load_first(const std::byte* from, int bytes) {
  const Block16<uint8_t> d;
#if HWY_TARGET <= HWY_AVX3
  return hn::Vec<Block16<uint8_t>>{_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << bytes) - 1), from)};
#else
  const auto both = [&]<typename T>(T) HWY_ATTR {
    const int last = bytes - static_cast<int>(sizeof(T));
    return uint64_t{load_unaligned<T>(from)} | uint64_t{load_unaligned<T>(from + last)} << (8 * last);
  };
  const Block16<uint64_t> words;
  if (bytes >= 8) {
    const auto low = hn::Set(words, load_unaligned<uint64_t>(from));
    const auto high = hn::Set(words, bytes == 8 ? 0 : load_unaligned<uint64_t>(from + bytes - 8) >> (8 * (16 - bytes)));
    return hn::BitCast(d, hn::InterleaveLower(words, low, high));
  }
  const uint64_t low = bytes >= 4 ? both(uint32_t()) : bytes >= 2 ? both(uint16_t()) : load_unaligned<uint8_t>(from);
  return hn::BitCast(d, hn::Set(words, low));
#endif
}

/// Loads like load_blocks(), from columns of fewer than 16 bytes.
template <int kStep, class D>
HWY_INLINE hn::Vec<D> load_short_blocks(D d, const std::byte* src, Starts cols, int first, int bytes) {
  using T = hn::TFromD<D>;
  constexpr int kCount = static_cast<int>(hn::MaxLanes(d) * sizeof(T) / 16);
  const auto at = [&](int b)
                      HWY_ATTR { return hn::BitCast(Block16<T>(), load_first(src + cols[first + b * kStep], bytes)); };
  if constexpr (kCount == 1) return at(0);
#if HWY_TARGET <= HWY_AVX2
  if constexpr (kCount == 2) return hn::Combine(d, at(1), at(0));
#endif
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kCount == 4) {
    const hn::Half<D> half;
    return hn::Combine(d, hn::Combine(half, at(3), at(2)), hn::Combine(half, at(1), at(0)));
  }
#endif
}

/// Where some rows of the destination start: kept in registers where there are few of them, otherwise in their list.
template <int kRows>
struct RowStarts {
  static constexpr bool kFew = kRows <= 4;
  std::byte* dst;
  Starts rows;
  std::byte* at[kFew ? kRows : 1];

  HWY_INLINE void start(Starts list, int count) {
    rows = list;
    if constexpr (kFew) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) at[i] = dst + list[i < count ? i : 0];
    }
  }
  HWY_INLINE std::byte* operator[](int i) const {
    if constexpr (kFew)
      return at[i];
    else
      return dst + rows[i];
  }
};

/// Moves a region by tiles of as many columns as a register of D has elements. kShort: rows come in runs of fewer than
/// 16 bytes, or, if D has 16 bytes, columns do. kFetch: lines are prefetched.
template <int kSize, bool kShort, bool kFetch, class D>
HWY_INLINE void tiles_of(D d, const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                         Starts dst_cols, const TileShape& shape) {
  using T = hn::TFromD<D>;
  constexpr int kN = 16 / kSize, kWidth = static_cast<int>(hn::MaxLanes(d) * sizeof(T)) / kSize;
  const hn::Repartition<uint8_t, D> bytes;
  const auto read = hn::BitCast(d, hn::LoadDup128(bytes, shape.src_pattern));
  const auto written = hn::BitCast(d, hn::LoadDup128(bytes, shape.dst_pattern));
  const int height = static_cast<int>(std::min<int64_t>(kN, shape.row_run));
  const int width = static_cast<int>(std::min<int64_t>(kWidth, shape.col_run));
  const std::byte* from = src;
  RowStarts<kN> to_rows{dst, dst_rows, {}};
  const auto start = [&](int64_t row) HWY_ATTR {
    from = src + src_rows[row];
    to_rows.start(dst_rows + row, kShort ? height : kN);
  };
  each_tile(shape, kN, kWidth, start, [&](int64_t col) HWY_ATTR {
    const int64_t to = dst_cols[col];
    if constexpr (kFetch) {
      const int cols = kShort ? width : kWidth, rows = kShort ? height : kN;
      for (int i = 0; i < cols; ++i) __builtin_prefetch(from + src_cols[col + i] + shape.src_ahead);
      for (int i = 0; i < rows && shape.dst_ahead != 0; ++i) __builtin_prefetch(to_rows[i] + to + shape.dst_ahead, 1);
    }
    Registers<D> a;
    for (int i = 0; i < kN; ++i) {
      if (kShort && i >= width)
        a.v[i] = hn::Zero(d);
      else if (kShort && height < kN)
        a.v[i] = load_short_blocks<kN>(d, from, src_cols + col, i, height * kSize);
      else
        a.v[i] = load_blocks<kN>(d, from, src_cols + col, i);
      a.v[i] = hn::TableLookupBytes(a.v[i], read);
    }
    interleave_rounds<kN>(d, a);
    for (int i = 0; i < kN; ++i) {
      if (kShort && i >= height) break;
      const auto v = hn::TableLookupBytes(a.v[i], written);
      if constexpr (kShort && kWidth == kN)
        store_partial(v, d, to_rows[i] + to, width * kSize);
      else
        hn::StoreU(v, d, as<T>(to_rows[i] + to));
    }
  });
}

#if HWY_TARGET <= HWY_AVX2

/// Moves a region by tiles of 16 bytes of columns and as many rows as fill a register of D. Each block of a register
/// has other rows of the same columns and is stored by itself.
template <int kSize, bool kFetch, class D>
HWY_INLINE void tall_tiles(D d, const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                           Starts dst_cols, const TileShape& shape) {
  using T = hn::TFromD<D>;
  constexpr int kN = 16 / kSize, kHigh = static_cast<int>(hn::MaxLanes(d) * sizeof(T)) / 16;
  const hn::Repartition<uint8_t, D> bytes;
  const Block16<uint8_t> block;
  const auto read = hn::BitCast(d, hn::LoadDup128(bytes, shape.src_pattern));
  const auto written = hn::BitCast(d, hn::LoadDup128(bytes, shape.dst_pattern));
  const std::byte* from = src;
  Starts to_rows = dst_rows;
  const auto start = [&](int64_t row) HWY_ATTR {
    from = src + src_rows[row];
    to_rows = dst_rows + row;
  };
  each_tile(shape, kHigh * kN, kN, start, [&](int64_t col) HWY_ATTR {
    std::byte* const to = dst + dst_cols[col];
    if constexpr (kFetch) {
      for (int i = 0; i < kN; ++i) __builtin_prefetch(from + src_cols[col + i] + shape.src_ahead);
      for (int i = 0; i < kN * kHigh && shape.dst_ahead != 0; ++i)
        __builtin_prefetch(to + to_rows[i] + shape.dst_ahead, 1);
    }
    Registers<D> a;
    for (int i = 0; i < kN; ++i) a.v[i] = hn::TableLookupBytes(hn::LoadU(d, as<T>(from + src_cols[col + i])), read);
    interleave_rounds<kN>(d, a);
    for (int i = 0; i < kN; ++i) {
      const auto v = hn::BitCast(bytes, hn::TableLookupBytes(a.v[i], written));
      const Starts rows = to_rows + i;
      hn::StoreU(block_of<0>(bytes, v), block, as<uint8_t>(to + rows[0]));
      hn::StoreU(block_of<1>(bytes, v), block, as<uint8_t>(to + rows[kN]));
      if constexpr (kHigh == 4) {
        hn::StoreU(block_of<2>(bytes, v), block, as<uint8_t>(to + rows[2 * kN]));
        hn::StoreU(block_of<3>(bytes, v), block, as<uint8_t>(to + rows[3 * kN]));
      }
    }
  });
}

#endif

/// Chooses the widest registers that a run of columns fills.
template <int kSize, bool kFetch, typename T>
HWY_INLINE void tiles_by(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                         Starts dst_cols, const TileShape& shape) {
  const auto by = [&](auto d) HWY_ATTR {
    if (std::min(shape.row_run, shape.col_run) * kSize < 16)
      tiles_of<kSize, true, kFetch>(d, src, src_rows, src_cols, dst, dst_rows, dst_cols, shape);
    else
      tiles_of<kSize, false, kFetch>(d, src, src_rows, src_cols, dst, dst_rows, dst_cols, shape);
  };
  const int64_t cols = shape.col_run * kSize;
  [[maybe_unused]] const int64_t rows = shape.row_run * kSize;
  if (cols >= 16 * kBlocks) return by(Wide<T>());
#if HWY_TARGET <= HWY_AVX2
  const auto tall = [&](auto d) HWY_ATTR {
    tall_tiles<kSize, kFetch>(d, src, src_rows, src_cols, dst, dst_rows, dst_cols, shape);
  };
  if (cols >= 16 && rows >= 16 * kBlocks) return tall(Wide<T>());
#endif
#if HWY_TARGET <= HWY_AVX3
  if (cols >= 32) return by(hn::Half<Wide<T>>());
  if (cols >= 16 && rows >= 32) return tall(hn::Half<Wide<T>>());
#endif
  by(Block16<T>());
}

template <int kSize, typename T>
void tiles(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows, Starts dst_cols,
           const TileShape& shape) {
  // Kernels with and without prefetching are compiled separately, because a check for each tile takes time (docs/lab).
  if (shape.src_ahead != 0 || shape.dst_ahead != 0)
    tiles_by<kSize, true, T>(src, src_rows, src_cols, dst, dst_rows, dst_cols, shape);
  else
    tiles_by<kSize, false, T>(src, src_rows, src_cols, dst, dst_rows, dst_cols, shape);
}

#else

template <int kSize, typename T>
void tiles(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows, Starts dst_cols,
           const TileShape& shape) {
  constexpr int kN = 16 / kSize;
  const int height = static_cast<int>(std::min<int64_t>(kN, shape.row_run));
  const int width = static_cast<int>(std::min<int64_t>(kN, shape.col_run));
  int64_t row = 0;
  each_tile(
      shape, kN, kN, [&](int64_t first) { row = first; },
      [&](int64_t col) {
        std::byte tile[kN][16];  // by row
        for (int c = 0; c < width; ++c) {
          const std::byte* from = src + src_rows[row] + src_cols[col + c];
          for (int i = 0; i < height * kSize; ++i) tile[i / kSize][c * kSize + i % kSize] = from[shape.src_pattern[i]];
        }
        for (int r = 0; r < height; ++r) {
          std::byte* to = dst + dst_rows[row + r] + dst_cols[col];
          for (int i = 0; i < width * kSize; ++i) to[i] = tile[r][shape.dst_pattern[i]];
        }
      });
}

#endif

}  // namespace

void add_tiles(Kernels& k) {
  k.tiles = {&tiles<1, uint8_t>, &tiles<2, uint16_t>, &tiles<4, uint32_t>, &tiles<8, uint64_t>, &tiles<16, uint64_t>};
}
