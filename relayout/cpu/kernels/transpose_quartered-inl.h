// Transposition past the cache of values of 4 bytes that become 1 byte, for transpose_pipelined-inl.h.

/// Transposes `rows` rows of `columns`, lines of columns, into rows that start at lines.
///
/// Most of it is reading. Of a *strip*, a few lines of each of 64 columns, 16 columns at a time are read side by side,
/// a line of each, as many as the processor follows by itself; the next strip is fetched meanwhile. A strip is put
/// together in the first-level cache, and its lines are written while the next one is read.
template <class Columns>
struct QuarteredTransposition {
  static constexpr int64_t kRows = 128, kSide = 16;

  const Columns& columns;
  const std::byte* src;
  Starts src_cols;
  std::byte* dst;
  Starts dst_rows;
  int64_t rows, cols, ahead;

  /// A strip that is put together: the rows that are written, and those that there are.
  struct Strip {
    const std::byte* image = nullptr;
    std::byte* dst = nullptr;
    Starts starts = nullptr;
    int64_t put = 0, rows = 0;
  };

  HWY_INLINE static void put(Strip& strip, int64_t lines) {
    const int64_t end = std::min(strip.rows, strip.put + lines);
    for (; strip.put < end; ++strip.put) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(strip.dst + strip.starts[strip.put]),
                          _mm512_load_si512(strip.image + strip.put * kLine));
    }
  }

  /// kSide rows of as many columns: 16 bytes of each row's line.
  template <bool kWhole>
  HWY_INLINE void make_square(const std::byte* base, Starts starts, int64_t count, std::byte* to) const {
    // Blocks of 16 bytes have four rows of four columns.
    alignas(16) static constexpr uint8_t kByRow[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const __m512i by_row = _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(kByRow)));
    __m512i four[4];
#pragma GCC unroll 4
    for (int64_t k = 0; k < 4; ++k) {
      const auto column = [&](int64_t i) HWY_ATTR {
        const std::byte* const from = base + starts[4 * k + i];
        if (ahead != 0) prefetch(from + ahead);
        return columns.rounded(from, kWhole ? kSide : count);
      };
      const __m512i low = _mm512_packs_epi32(column(0), column(1)), high = _mm512_packs_epi32(column(2), column(3));
      four[k] = _mm512_shuffle_epi8(Columns::pack(low, high), by_row);
    }
    const __m512i a = _mm512_unpacklo_epi32(four[0], four[1]), b = _mm512_unpackhi_epi32(four[0], four[1]);
    const __m512i c = _mm512_unpacklo_epi32(four[2], four[3]), d = _mm512_unpackhi_epi32(four[2], four[3]);
    const auto put_rows = [&](int64_t row, __m512i v) HWY_ATTR {
      const auto one = [&](int64_t i, __m128i block)
                           HWY_ATTR { _mm_store_si128(reinterpret_cast<__m128i*>(to + (row + 4 * i) * kLine), block); };
      one(0, _mm512_castsi512_si128(v));
      one(1, _mm512_extracti32x4_epi32(v, 1));
      one(2, _mm512_extracti32x4_epi32(v, 2));
      one(3, _mm512_extracti32x4_epi32(v, 3));
    };
    put_rows(0, _mm512_unpacklo_epi64(a, c));
    put_rows(1, _mm512_unpackhi_epi64(a, c));
    put_rows(2, _mm512_unpacklo_epi64(b, d));
    put_rows(3, _mm512_unpackhi_epi64(b, d));
  }
  /// The same where the code of one more copy is not worth it.
  HWY_NOINLINE void make_last(const std::byte* base, Starts starts, int64_t count, std::byte* to) const {
    make_square<false>(base, starts, count, to);
  }

  void run() const {
    alignas(64) std::byte images[2][kRows * kLine];
    Strip before;
    int made = 0;
    for (int64_t col = 0; col < cols; col += kLine) {
      for (int64_t row = 0; row < rows; row += kRows, made ^= 1) {
        const int64_t count = std::min(kRows, rows - row);
        for (int64_t c = 0; c < kLine; c += kSide) {
          const std::byte* base = src + row * Columns::kFrom;
          std::byte* to = images[made] + c;
          int64_t r = 0;
          for (; r + kSide <= count; r += kSide, base += kSide * Columns::kFrom, to += kSide * kLine) {
            make_square<true>(base, src_cols + col + c, kSide, to);
            put(before, kSide * kSide / kLine);
          }
          if (r < count) make_last(base, src_cols + col + c, count - r, to);
        }
        put(before, kRows);
        before = {images[made], dst + col, dst_rows + row, 0, count};
      }
    }
    put(before, kRows);
  }
};
