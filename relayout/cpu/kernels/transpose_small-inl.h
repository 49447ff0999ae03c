// Transposition of fewer rows or columns than a block of 16 bytes has elements, for transpose-inl.h. Only where there
// is SIMD.

/// Two to four columns and rows that start anywhere: interleaved in the cache, then copied row by row.
template <typename T, int kCols, class Columns, class Targets>
void transpose_few_columns(const std::byte* src, Columns src_cols, std::byte* dst, Targets dst_rows, int64_t rows) {
  constexpr int64_t kMost = 64, kSize = sizeof(T);
  alignas(64) std::byte buffer[kMost * kCols * kSize];
  for (int64_t r = 0; r < rows; r += kMost) {
    const int64_t n = std::min(kMost, rows - r);
    int64_t from[kCols];
    for (int c = 0; c < kCols; ++c) from[c] = src_cols[c] + r * kSize;
    interleave<T, kCols>(src, from, buffer, n);
    for (int64_t i = 0; i < n; ++i) __builtin_memcpy(dst + dst_rows[r + i], buffer + i * kCols * kSize, kCols * kSize);
  }
}

/// Two to four rows of columns that start anywhere: gathered in the cache, then deinterleaved.
template <typename T, int kRows, class Columns, class Targets>
void transpose_few_rows(const std::byte* src, Columns src_cols, std::byte* dst, Targets dst_rows, int64_t cols) {
  constexpr int64_t kMost = 64, kSize = sizeof(T);
  alignas(64) std::byte buffer[kMost * kRows * kSize];
  for (int64_t c = 0; c < cols; c += kMost) {
    const int64_t n = std::min(kMost, cols - c);
    for (int64_t i = 0; i < n; ++i) __builtin_memcpy(buffer + i * kRows * kSize, src + src_cols[c + i], kRows * kSize);
    int64_t to[kRows];
    for (int r = 0; r < kRows; ++r) to[r] = dst_rows[r] + c * kSize;
    deinterleave<T, kRows>(buffer, dst, to, n);
  }
}

/// Loads 5 to 8 bytes, or up to 16, as two halves that may overlap: the last bytes are in the upper half of 8 or 16
/// bytes. Going by way of memory would be slower, because a load would wait for several stores.
template <typename Half>
HWY_INLINE hn::Vec<Block16<uint8_t>> load_halves(const std::byte* from, int64_t bytes) {
  const Block16<uint8_t> d8;
  const Block16<uint64_t> d;
  const std::byte* const upper = from + bytes - sizeof(Half);
  if constexpr (sizeof(Half) == 4) {
    const auto both = load_unaligned<uint32_t>(from) | static_cast<uint64_t>(load_unaligned<uint32_t>(upper)) << 32;
    return hn::BitCast(d8, hn::Set(d, both));
  } else {
    const hn::Half<Block16<uint64_t>> half;
    const auto at = [&](const std::byte* p) HWY_ATTR { return hn::ZeroExtendVector(d, hn::LoadU(half, as<Half>(p))); };
    return hn::BitCast(d8, hn::InterleaveLower(d, at(from), at(upper)));
  }
}

/// Loads one register of blocks, as load_blocks() does, of columns that have fewer than 16 bytes.
template <int kStep, typename Half, class D, class Columns>
HWY_INLINE hn::Vec<D> load_half_blocks(D d, const std::byte* src, Columns cols, int first, int64_t bytes) {
  const auto at = [&](int b) HWY_ATTR { return load_halves<Half>(src + cols[first + b * kStep], bytes); };
  const hn::Repartition<uint8_t, D> d8;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (hn::MaxLanes(d8) == 64) {
    const auto pair = [&](int b) HWY_ATTR {
      return _mm256_inserti128_si256(_mm256_castsi128_si256(at(b).raw), at(b + 1).raw, 1);
    };
    return hn::Vec<D>{_mm512_inserti64x4(_mm512_castsi256_si512(pair(0)), pair(2), 1)};
  }
#endif
#if HWY_TARGET <= HWY_AVX2
  if constexpr (hn::MaxLanes(d8) == 32) return hn::BitCast(d, hn::Combine(d8, at(1), at(0)));
#endif
  if constexpr (hn::MaxLanes(d8) == 16) return hn::BitCast(d, at(0));
}

/// Transposes 5 to 15 rows of elements of 1 byte, or 5 to 7 of 2 bytes, and at least as many columns as 16 bytes have
/// elements. Half is a type of 4 bytes if all rows together have up to 8 bytes, otherwise one of 8 bytes.
template <typename T, typename Half, class Columns, class Targets>
HWY_INLINE void transpose_half_rows(const std::byte* src, Columns src_cols, std::byte* dst, Targets dst_rows,
                                    int64_t rows, int64_t cols) {
  constexpr int kN = 16 / sizeof(T), kHalf = sizeof(Half) / sizeof(T);
  const auto tile = [&](auto d, int64_t c) HWY_ATTR {
    Registers<decltype(d)> a;
    for (int i = 0; i < kN; ++i) {
      if constexpr (std::is_same_v<Columns, Affine>)
        a.v[i] = load_half_blocks<kN, Half>(d, src + src_cols[c], src_cols, i, rows * static_cast<int64_t>(sizeof(T)));
      else
        a.v[i] = load_half_blocks<kN, Half>(d, src, src_cols + c, i, rows * static_cast<int64_t>(sizeof(T)));
    }
    interleave_rounds<kN>(d, a);
    // From the upper half, only the rows that the lower half lacks are needed.
    const int upper = static_cast<int>(rows) - 2 * kHalf;
    for (int i = 0; i < 2 * kHalf; ++i) {
      const int row = i < kHalf ? i : i + upper;
      if (i < kHalf || row >= kHalf)
        hn::StoreU(a.v[i], d, as<T>(dst + dst_rows[row] + c * static_cast<int64_t>(sizeof(T))));
    }
  };
  const auto all = [&](auto d) HWY_ATTR {
    constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(d));
    for (int64_t c = 0; c < cols; c += kWidth) tile(d, std::min(c, cols - kWidth));
  };
  const Wide<T> wide;
  if (cols >= static_cast<int64_t>(hn::MaxLanes(wide))) return all(wide);
  all(Block16<T>());
}

/// Transposes 5 to 15 columns of elements of 1 byte, or 5 to 7 of 2 bytes, and at least as many rows as 16 bytes have
/// elements. Whole rows are made in registers and stored by masks or, where the instruction set has none, as two halves
/// that may overlap.
template <typename T, typename Half, class Columns, class Targets>
HWY_INLINE void transpose_half_columns(const std::byte* src, Columns src_cols, std::byte* dst, Targets dst_rows,
                                       int64_t rows, int64_t cols) {
  constexpr int kN = 16 / sizeof(T);
  constexpr int64_t kSize = sizeof(T);
  const auto tile = [&](auto d, int64_t r) HWY_ATTR {
    constexpr int64_t kRows = static_cast<int64_t>(hn::MaxLanes(d));
    Registers<decltype(d)> a;
    for (int i = 0; i < kN; ++i) a.v[i] = i < cols ? hn::LoadU(d, as<T>(src + src_cols[i] + r * kSize)) : hn::Zero(d);
    interleave_rounds<kN>(d, a);
    // Block b of register i is row b * N + i.
#if HWY_TARGET <= HWY_AVX3
    const hn::Repartition<uint8_t, decltype(d)> bytes;
    const Block16<uint8_t> block;
    const auto put = [&](hn::Vec<Block16<uint8_t>> v, int64_t row)
                         HWY_ATTR { store_partial(v, block, dst + dst_rows[r + row], static_cast<int>(cols * kSize)); };
#pragma GCC unroll 16
    for (int i = 0; i < kN; ++i) {
      const auto v = hn::BitCast(bytes, a.v[i]);
      put(block_of<0>(bytes, v), i);
      if constexpr (kRows > kN) {
        put(block_of<1>(bytes, v), kN + i);
        put(block_of<2>(bytes, v), 2 * kN + i);
        put(block_of<3>(bytes, v), 3 * kN + i);
      }
    }
#else
    alignas(64) std::byte made[kRows * 16];
    for (int i = 0; i < kN; ++i) hn::Store(a.v[i], d, as<T>(made + i * kRows * kSize));
    const int64_t upper = cols * kSize - static_cast<int64_t>(sizeof(Half));
    for (int64_t i = 0; i < kRows; ++i) {
      const std::byte* const from = made + i % kN * kRows * kSize + i / kN * 16;
      std::byte* const to = dst + dst_rows[r + i];
      store_unaligned(to, load_unaligned<Half>(from));
      store_unaligned(to + upper, load_unaligned<Half>(from + upper));
    }
#endif
  };
  const auto all = [&](auto d) HWY_ATTR {
    constexpr int64_t kRows = static_cast<int64_t>(hn::MaxLanes(d));
    for (int64_t r = 0; r < rows; r += kRows) tile(d, std::min(r, rows - kRows));
  };
  const Wide<T> wide;
  if (rows >= static_cast<int64_t>(hn::MaxLanes(wide))) return all(wide);
  all(Block16<T>());
}

/// Transposes fewer rows or columns than a tile has, without touching memory beyond them.
template <typename T, class Columns, class Targets>
HWY_NOINLINE void transpose_small(const std::byte* src, Columns src_cols, std::byte* dst, Targets dst_rows,
                                  int64_t rows, int64_t cols) {
  constexpr int64_t kN = 16 / sizeof(T), kSize = sizeof(T);
  if (rows >= kN) {
    if (cols == 2) return transpose_few_columns<T, 2>(src, src_cols, dst, dst_rows, rows);
    if (cols == 3) return transpose_few_columns<T, 3>(src, src_cols, dst, dst_rows, rows);
    if (cols == 4) return transpose_few_columns<T, 4>(src, src_cols, dst, dst_rows, rows);
  }
  if (cols >= kN) {
    if (rows == 2) return transpose_few_rows<T, 2>(src, src_cols, dst, dst_rows, cols);
    if (rows == 3) return transpose_few_rows<T, 3>(src, src_cols, dst, dst_rows, cols);
    if (rows == 4) return transpose_few_rows<T, 4>(src, src_cols, dst, dst_rows, cols);
  }
  if constexpr (kSize <= 2) {
    if (cols >= kN && rows > 4) {
      return rows * kSize <= 8 ? transpose_half_rows<T, uint32_t>(src, src_cols, dst, dst_rows, rows, cols)
                               : transpose_half_rows<T, uint64_t>(src, src_cols, dst, dst_rows, rows, cols);
    }
    if (rows >= kN && cols > 4) {
      return cols * kSize <= 8 ? transpose_half_columns<T, uint32_t>(src, src_cols, dst, dst_rows, rows, cols)
                               : transpose_half_columns<T, uint64_t>(src, src_cols, dst, dst_rows, rows, cols);
    }
  }
  transpose_plain<T>(src, src_cols, dst, dst_rows, rows, cols, 0);
}
