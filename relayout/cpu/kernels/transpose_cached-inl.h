// Transposition in registers through the cache, for transpose-inl.h: of rows and columns whose starts are in lists, and
// of those that are a fixed distance apart. Loading addresses takes longer than the shuffles, so addresses are computed
// wherever the distance is fixed.

#if RELAYOUT_KERNELS_SIMD

/// Keeps the compiler from computing addresses that depend on a pointer in advance, because they would not fit into the
/// registers.
template <typename P>
HWY_INLINE void here(P*& at) {
  asm("" : "+r"(at));
}

/// Transposes a tile of N rows and as many columns as a register of D has elements. Its rows start dst_stride bytes
/// apart.
template <typename T, class D>
HWY_INLINE void transpose_cached_tile(D d, const std::byte* src, Affine src_cols, std::byte* dst, int64_t dst_stride) {
  constexpr int kN = 16 / sizeof(T);
  Registers<D> a;
  for (int i = 0; i < kN; ++i) {
    here(src);
    a.v[i] = load_blocks<1>(d, src, Affine{kN * src_cols.stride}, 0);
    src += src_cols.stride;
  }
  interleave_rounds<kN>(d, a);
  for (int i = 0; i < kN; ++i) {
    here(dst);
    hn::StoreU(a.v[i], d, as<T>(dst));
    dst += dst_stride;
  }
}

/// Transposes a line of rows of the source by four tiles, of which each has load instructions of its own, as the
/// processor learns for each load instruction by how much its address grows, and prefetches accordingly.
template <typename T, class D>
HWY_INLINE void transpose_cached_line(D d, const std::byte* src, Affine src_cols, std::byte* dst, Affine dst_rows) {
  constexpr int64_t kN = 16 / sizeof(T);
  transpose_cached_tile<T>(d, src, src_cols, dst, dst_rows.stride);
  transpose_cached_tile<T>(d, src + 16, src_cols, dst + dst_rows[kN], dst_rows.stride);
  transpose_cached_tile<T>(d, src + 32, src_cols, dst + dst_rows[2 * kN], dst_rows.stride);
  transpose_cached_tile<T>(d, src + 48, src_cols, dst + dst_rows[3 * kN], dst_rows.stride);
}

/// Transposes a region by tiles of D. There are at least as many columns and rows as a tile has. The last tiles start
/// earlier, so that they are full, and do some rows or columns a second time.
template <typename T, class D>
HWY_INLINE void transpose_by(D d, const std::byte* src, const int64_t* src_cols, std::byte* dst,
                             const int64_t* dst_rows, int64_t rows, int64_t cols, int64_t ahead) {
  constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(d)), kSize = sizeof(T);
  for (int64_t c = 0; c < cols; c += kWidth) {
    const int64_t* const from = src_cols + std::min(c, cols - kWidth);
    const Rows<false> to{dst + std::min(c, cols - kWidth) * kSize, dst_rows};
    transpose_columns<T>(d, src, from, to, rows, ahead);
  }
}

/// The transposition by strides: some columns at a time, and of these row after row, so that the destination is written
/// in its own order. kFetch: the next lines of both sides are prefetched into the first level; those of the destination
/// `ahead` bytes ahead.
template <bool kFetch, typename T, class D>
HWY_INLINE void transpose_by_strides(D d, const std::byte* src, Affine src_cols, std::byte* dst, Affine dst_rows,
                                     int64_t rows, int64_t cols, int64_t ahead) {
  constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(d)), kSize = sizeof(T), kN = 16 / kSize, kRows = 4 * kN;
  const int64_t columns = kFetch ? std::max<int64_t>(128, kWidth) : cols, whole = rows / kRows * kRows;
  for (int64_t first = 0; first < cols; first += columns) {
    for (int64_t row = 0; row < whole; row += kRows) {
      for (int64_t c = first; c < std::min(cols, first + columns); c += kWidth) {
        const int64_t col = std::min(c, cols - kWidth);
        const std::byte* const from = src + src_cols[col] + row * kSize;
        std::byte* const to = dst + dst_rows[row] + col * kSize;
        if constexpr (kFetch) {
          for (int64_t i = 0; i < kWidth; ++i) __builtin_prefetch(from + src_cols[i] + kCacheLine);
          for (int64_t i = 0; i < kRows; ++i) __builtin_prefetch(to + dst_rows[i] + ahead, 1);
        }
        transpose_cached_line<T>(d, from, src_cols, to, dst_rows);
      }
    }
  }
  for (int64_t r = whole; r < rows; r += kN) {
    const int64_t row = std::min(r, rows - kN);
    for (int64_t c = 0; c < cols; c += kWidth) {
      const int64_t col = std::min(c, cols - kWidth);
      transpose_cached_tile<T>(d, src + src_cols[col] + row * kSize, src_cols, dst + dst_rows[row] + col * kSize,
                               dst_rows.stride);
    }
  }
}

/// Not inlined, so that the registers of the loop without prefetches are enough.
template <typename T, class D>
HWY_NOINLINE void transpose_fetching(D d, const std::byte* src, Affine src_cols, std::byte* dst, Affine dst_rows,
                                     int64_t rows, int64_t cols, int64_t ahead) {
  transpose_by_strides<true, T>(d, src, src_cols, dst, dst_rows, rows, cols, ahead);
}
template <typename T, class D>
HWY_INLINE void transpose_by(D d, const std::byte* src, Affine src_cols, std::byte* dst, Affine dst_rows, int64_t rows,
                             int64_t cols, int64_t ahead) {
  if (ahead != 0) return transpose_fetching<T>(d, src, src_cols, dst, dst_rows, rows, cols, ahead);
  transpose_by_strides<false, T>(d, src, src_cols, dst, dst_rows, rows, cols, 0);
}

/// Chooses the widest tiles that the columns fill.
template <typename T, class Columns, class Targets>
HWY_INLINE void transpose_cached(const std::byte* src, Columns src_cols, std::byte* dst, Targets dst_rows, int64_t rows,
                                 int64_t cols, int64_t ahead) {
  constexpr int64_t kN = 16 / sizeof(T);
  const Wide<T> wide;
  if (rows < kN || cols < kN) return transpose_small<T>(src, src_cols, dst, dst_rows, rows, cols);
  if (cols >= static_cast<int64_t>(hn::MaxLanes(wide)))
    return transpose_by<T>(wide, src, src_cols, dst, dst_rows, rows, cols, ahead);
#if HWY_TARGET <= HWY_AVX3
  if (cols >= 2 * kN) return transpose_by<T>(hn::Half<Wide<T>>(), src, src_cols, dst, dst_rows, rows, cols, ahead);
#endif
  transpose_by<T>(Block16<T>(), src, src_cols, dst, dst_rows, rows, cols, ahead);
}

#else

template <typename T, class Columns, class Targets>
void transpose_cached(const std::byte* src, Columns src_cols, std::byte* dst, Targets dst_rows, int64_t rows,
                      int64_t cols, int64_t ahead) {
  transpose_plain<T>(src, src_cols, dst, dst_rows, rows, cols, ahead);
}

#endif  // RELAYOUT_KERNELS_SIMD

template <typename T>
void transpose(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows, int64_t rows, int64_t cols,
               int64_t ahead) {
  transpose_cached<T>(src, src_cols, dst, dst_rows, rows, cols, ahead);
}

template <typename T>
void transpose_strided(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows,
                       int64_t cols, int64_t ahead) {
  transpose_cached<T>(src, Affine{src_stride}, dst, Affine{dst_stride}, rows, cols, ahead);
}
