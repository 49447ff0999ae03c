// Transpositions past the cache of which one side is dense and made of lines, or halves of lines: blocks of channels.
// For transpose-inl.h. That side is read or written in its own order, by so few instructions that the processor has
// many lines in flight. Nothing is prefetched here, because the processor's own prefetching works best.

HWY_INLINE __m512i line_at(const std::byte* at) { return _mm512_loadu_si512(at); }
HWY_INLINE void stream_line(std::byte* at, __m512i line) { _mm512_stream_si512(reinterpret_cast<__m512i*>(at), line); }

/// Transposes columns of one line each into rows that start anywhere.
template <typename T>
void split_lines(const std::byte* src, std::byte* dst, const int64_t* dst_rows, int64_t cols) {
  constexpr int64_t kSize = sizeof(T);
  for (int64_t c = 0; c < cols; c += kCacheLine / kSize)
    transpose_square<T>(ColumnLines<Affine>{src + c * kCacheLine, {kCacheLine}, 0},
                        Rows<true>{dst + c * kSize, dst_rows});
}

/// Splits columns of two pieces of half a line each into rows of such pieces.
void split_pairs(const std::byte* src, std::byte* dst, const int64_t* dst_rows, int64_t cols) {
  std::byte *const first = dst + dst_rows[0], *const second = dst + dst_rows[1];
  for (int64_t c = 0; c < cols; c += 2) {
    const __m512i a = line_at(src + c * kCacheLine), b = line_at(src + (c + 1) * kCacheLine);
    stream_line(first + c * kCacheLine / 2, _mm512_shuffle_i64x2(a, b, 0x44));
    stream_line(second + c * kCacheLine / 2, _mm512_shuffle_i64x2(a, b, 0xee));
  }
}

/// Joins two columns of pieces of half a line each into rows of one line.
void join_pairs(const std::byte* src, const int64_t* src_cols, std::byte* dst, int64_t rows) {
  const std::byte *const first = src + src_cols[0], *const second = src + src_cols[1];
  const int64_t whole = rows / 2 * 2;
  for (int64_t r = 0; r < whole; r += 2) {
    const __m512i a = line_at(first + r * kCacheLine / 2), b = line_at(second + r * kCacheLine / 2);
    stream_line(dst + r * kCacheLine, _mm512_shuffle_i64x2(a, b, 0x44));
    stream_line(dst + (r + 1) * kCacheLine, _mm512_shuffle_i64x2(a, b, 0xee));
  }
  if (whole == rows) return;
  store_unaligned(dst + whole * kCacheLine, load_unaligned<Bytes32>(first + whole * kCacheLine / 2));
  store_unaligned(dst + whole * kCacheLine + kCacheLine / 2, load_unaligned<Bytes32>(second + whole * kCacheLine / 2));
}

/// Transposes columns of half a line each, of elements of 4 bytes, into rows that start anywhere.
void split_halves(const std::byte* src, std::byte* dst, const int64_t* dst_rows, int64_t cols) {
  using T = uint32_t;
  const Wide<T> d;
  for (int64_t c = 0; c < cols; c += 16) {
    const auto line = [&](int i) HWY_ATTR { return hn::LoadU(d, as<T>(src + c * kCacheLine / 2 + i * kCacheLine)); };
    Registers<Wide<T>> upper, lower;
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2) {
      upper.v[i] = line(i / 2);
      lower.v[i] = line(2 + i / 2);
      upper.v[i + 1] = line(4 + i / 2);
      lower.v[i + 1] = line(6 + i / 2);
      transpose_blocks(upper.v[i], lower.v[i], upper.v[i + 1], lower.v[i + 1]);
    }
    // Now block q (16 bytes) of upper.v[i] holds rows 0 to 3 of column 4 * q + i, and that of lower.v[i] rows 4 to 7.
    interleave_rounds<4>(d, upper);
    interleave_rounds<4>(d, lower);
    const Rows<true> to{dst + c * 4, dst_rows};
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) to.put(d, i, upper.v[i]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) to.put(d, 4 + i, lower.v[i]);
  }
}

/// Transposes eight columns of elements of 4 bytes into rows of half a line each.
void join_halves(const std::byte* src, const int64_t* src_cols, std::byte* dst, int64_t rows) {
  using T = uint32_t;
  const Wide<T> d;
  const int64_t whole = rows / 16 * 16;
  for (int64_t r = 0; r < whole; r += 16) {
    Registers<Wide<T>> left, right;
    const ColumnLines<const int64_t*> columns{src + r * 4, src_cols, 0};
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) left.v[i] = columns.read(d, i);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) right.v[i] = columns.read(d, 4 + i);
    // In both, block q of register i holds four columns of row 4 * q + i.
    interleave_rounds<4>(d, left);
    interleave_rounds<4>(d, right);
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2) {
      transpose_blocks(left.v[i], right.v[i], left.v[i + 1], right.v[i + 1]);
      std::byte* const to = dst + r * kCacheLine / 2 + i / 2 * kCacheLine;
      stream_line(to, left.v[i].raw);
      stream_line(to + 2 * kCacheLine, right.v[i].raw);
      stream_line(to + 4 * kCacheLine, left.v[i + 1].raw);
      stream_line(to + 6 * kCacheLine, right.v[i + 1].raw);
    }
  }
  transpose_plain<T>(src + whole * 4, src_cols, dst + whole * kCacheLine / 2, Affine{kCacheLine / 2}, rows - whole, 8,
                     0);
}
