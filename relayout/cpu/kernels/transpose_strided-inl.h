// Transposition in registers of rows and columns that are a fixed distance apart, for kernels-inl.h: addresses are
// computed, as they would cost more than the shuffles if they were read from lists. No include guard: it is included
// once a target.

#if RELAYOUT_KERNELS_SIMD

/// Keeps the compiler from computing what follows from a pointer in advance: it would have more addresses than
/// registers.
template <typename P>
HWY_INLINE void here(P*& at) {
  asm("" : "+r"(at));
}

/// N rows of as many columns as a register of D has elements of a row.
template <typename T, class D>
HWY_INLINE void transpose_strided_tile(D d, const std::byte* src, Affine src_cols, std::byte* dst, Affine dst_rows) {
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
    dst += dst_rows.stride;
  }
}

/// Rows and columns of which there are enough for a tile of D; the last tiles repeat some. A line of the source is read
/// at once.
template <typename T, class D>
HWY_INLINE void transpose_strided_by(D d, const std::byte* src, Affine src_cols, std::byte* dst, Affine dst_rows,
                                     int64_t rows, int64_t cols) {
  constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(d)), kSize = sizeof(T), kN = 16 / kSize;
  for (int64_t c = 0; c < cols; c += kWidth) {
    const int64_t col = std::min(c, cols - kWidth);
    const std::byte* from = src + src_cols[col];
    std::byte* to = dst + col * kSize;
    int64_t r = 0;
    for (; r + 4 * kN <= rows; r += 4 * kN) {
      for (int64_t i = 0; i < 4; ++i)
        transpose_strided_tile<T>(d, from + (r + i * kN) * kSize, src_cols, to + dst_rows[r + i * kN], dst_rows);
    }
    for (; r < rows; r += kN) {
      const int64_t row = std::min(r, rows - kN);
      transpose_strided_tile<T>(d, from + row * kSize, src_cols, to + dst_rows[row], dst_rows);
    }
  }
}

#endif  // RELAYOUT_KERNELS_SIMD

template <typename T>
void transpose_strided(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows,
                       int64_t cols) {
  const Affine src_cols{src_stride}, dst_rows{dst_stride};
#if RELAYOUT_KERNELS_SIMD
  if constexpr (sizeof(T) <= 8) {
    constexpr int64_t kN = 16 / sizeof(T);
    const Wide<T> wide;
    if (rows < kN || cols < kN) return transpose_small<T>(src, src_cols, dst, dst_rows, rows, cols);
    if (cols >= static_cast<int64_t>(hn::MaxLanes(wide)))
      return transpose_strided_by<T>(wide, src, src_cols, dst, dst_rows, rows, cols);
#if HWY_TARGET <= HWY_AVX3
    if (cols >= 2 * kN) return transpose_strided_by<T>(hn::Half<Wide<T>>(), src, src_cols, dst, dst_rows, rows, cols);
#endif
    return transpose_strided_by<T>(Block16<T>(), src, src_cols, dst, dst_rows, rows, cols);
  }
#endif
  transpose_plain<T>(src, src_cols, dst, dst_rows, rows, cols, 0);
}
