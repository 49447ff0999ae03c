// Transposition past the cache of elements of 1 and 2 bytes into short rows, for transpose_pipelined-inl.h: rows of a
// quarter or half of a line, or of two to four elements.

/// Transposes kCols `columns`, see transpose_pipelined-inl.h. Rows start at multiples of 16 bytes. The loops are
/// unrolled so that the arrays stay in registers.
template <int64_t kCols, class Columns>
HWY_NOINLINE void transpose_short_rows(const Columns& columns, const std::byte* src, Starts src_cols, std::byte* dst,
                                       Starts dst_rows, int64_t rows, int64_t ahead) {
  constexpr int64_t kSize = Columns::kSize, kRows = kCacheLine / kSize, kRowBytes = kCols * kSize;
  // A square of kN by kN elements in each block of 16 bytes; a row has kSquares of these, a line has kTogether rows.
  constexpr int64_t kN = 16 / kSize, kSquares = kCols / kN, kTogether = kCacheLine / kRowBytes;
  for (int64_t row = 0; row < rows; row += kRows) {
    const int64_t count = std::min(kRows, rows - row);
    __m512i a[kCols], b[kN];
#pragma GCC unroll 32
    for (int64_t c = 0; c < kCols; ++c) {
      const std::byte* const from = src + src_cols[c] + row * Columns::kFrom;
      a[c] = count == kRows ? columns.line(from) : columns.partial(from, count);
      if (ahead != 0) {
#pragma GCC unroll 8
        for (int64_t k = 0; k < kRows * Columns::kFrom; k += kCacheLine) prefetch(from + ahead + k);
      }
    }
#pragma GCC unroll 2
    for (int64_t p = 0; p < kSquares; ++p) {
#pragma GCC unroll 4
      for (int64_t round = 1; round < kN; round *= 2) {
#pragma GCC unroll 8
        for (int64_t i = 0; i < kN / 2; ++i) {
          b[2 * i] = interleave_low<kSize>(a[p * kN + i], a[p * kN + i + kN / 2]);
          b[2 * i + 1] = interleave_high<kSize>(a[p * kN + i], a[p * kN + i + kN / 2]);
        }
#pragma GCC unroll 16
        for (int64_t i = 0; i < kN; ++i) a[p * kN + i] = b[i];
      }
    }
    // Block k of register i is row k * kN + i of a square. Next, blocks of one line come into one register.
    __m512i lines[kCols];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kN; i += kTogether) {
      hn::Vec<Wide<uint8_t>> v[4];
#pragma GCC unroll 4
      for (int64_t k = 0; k < 4; ++k) v[k].raw = a[k % kSquares * kN + i + k / kSquares];
      transpose_blocks(v[0], v[1], v[2], v[3]);
#pragma GCC unroll 4
      for (int64_t k = 0; k < 4; ++k) lines[(k * kN + i) / kTogether] = v[k].raw;
    }
    const Starts starts = dst_rows + row;
    auto* const to = reinterpret_cast<__m512i*>(dst + starts[0]);
    if (count == kRows && reinterpret_cast<uintptr_t>(to) % kCacheLine == 0 && starts[1] - starts[0] == kRowBytes &&
        even(starts, count)) {
#pragma GCC unroll 32
      for (int64_t i = 0; i < kCols; ++i) _mm512_stream_si512(to + i, lines[i]);
    } else {
      alignas(64) std::byte made[kCols * kCacheLine];
#pragma GCC unroll 32
      for (int64_t i = 0; i < kCols; ++i) _mm512_store_si512(made + i * kCacheLine, lines[i]);
      for (int64_t r = 0; r < count; ++r) {
        for (int64_t i = 0; i < kRowBytes; i += 16)
          _mm_stream_si128(reinterpret_cast<__m128i*>(dst + starts[r] + i),
                           _mm_load_si128(reinterpret_cast<const __m128i*>(made + r * kRowBytes + i)));
      }
    }
  }
}

/// Interleaves two to four `columns` into rows that follow each other.
template <int kCols, class Columns>
HWY_NOINLINE void interleave_columns(const Columns& columns, const std::byte* src, Starts src_cols, std::byte* dst,
                                     int64_t rows, int64_t ahead) {
  using T = std::conditional_t<Columns::kSize == 1, uint8_t, uint16_t>;
  constexpr int64_t kRows = kCacheLine / Columns::kSize, kRow = kCols * Columns::kSize;
  const Wide<T> d;
  int64_t first = 0;
  while (first < kRows && (reinterpret_cast<intptr_t>(dst) + first * kRow) % kCacheLine != 0) ++first;
  const bool lines = first < kRows;
  for (int64_t row = 0, count; row < rows; row += count) {
    count = std::min(row == 0 && lines && first > 0 ? first : kRows, rows - row);
    Few<Wide<T>, kCols> in;
    for (int c = 0; c < kCols; ++c) {
      const std::byte* const from = src + src_cols[c] + row * Columns::kFrom;
      in.v[c].raw = count == kRows ? columns.line(from) : columns.partial(from, count);
      if (ahead != 0) {
        for (int64_t k = 0; k < kRows * Columns::kFrom; k += kCacheLine) prefetch(from + ahead + k);
      }
    }
    std::byte* const to = dst + row * kRow;
    if (count == kRows && lines) {
      store_interleaved<true>(d, in, as<T>(to));
    } else {
      alignas(64) std::byte made[kCols * kCacheLine];
      store_interleaved<false>(d, in, as<T>(made));
      __builtin_memcpy(to, made, static_cast<std::size_t>(count * kRow));
    }
  }
}
