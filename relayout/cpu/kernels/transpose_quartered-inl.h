// Transposition past the cache of values of 4 bytes that become 1 byte, for transpose_pipelined-inl.h.

/// Transposes `rows` rows of `columns`, which are whole lines of columns, into rows that start at lines.
///
/// Most of the time goes to reading, as four bytes are read for each one written. A *strip* is a few lines of each of
/// 64 columns. 16 of these columns are read side by side, one line of each, because the processor itself prefetches as
/// many. The next strip is prefetched meanwhile. A strip is put together in the first-level cache, and its lines are
/// written while the next strip is read.
template <class Columns>
struct QuarteredTransposition {
  static constexpr int64_t kRows = 128, kSide = 16;
  /// A plan prefetches farther ahead than this only if the source has no gaps.
  static constexpr int64_t kFar = 4096;

  const Columns& columns;
  const std::byte* src;
  Starts src_cols;
  std::byte* dst;
  Starts dst_rows;
  int64_t rows, cols, ahead;

  /// A strip that is put together: how many of its rows are written, and how many it has.
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
                          _mm512_load_si512(strip.image + strip.put * kCacheLine));
    }
  }

  /// Makes kSide rows of as many columns: 16 bytes of the line of each row.
  template <bool kWhole>
  HWY_INLINE void make_square(const std::byte* base, Starts starts, int64_t count, std::byte* to, const std::byte* next,
                              Starts next_starts) const {
    // Each block of 16 bytes has four rows of four columns.
    alignas(16) static constexpr uint8_t kByRow[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const __m512i by_row = _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(kByRow)));
    __m512i four[4];
#pragma GCC unroll 4
    for (int64_t k = 0; k < 4; ++k) {
      const auto column = [&](int64_t i) HWY_ATTR {
        if (ahead != 0) prefetch(next + next_starts[4 * k + i]);
        return columns.rounded(base + starts[4 * k + i], kWhole ? kSide : count);
      };
      const __m512i low = _mm512_packs_epi32(column(0), column(1)), high = _mm512_packs_epi32(column(2), column(3));
      four[k] = _mm512_shuffle_epi8(Columns::pack(low, high), by_row);
    }
    const __m512i a = _mm512_unpacklo_epi32(four[0], four[1]), b = _mm512_unpackhi_epi32(four[0], four[1]);
    const __m512i c = _mm512_unpacklo_epi32(four[2], four[3]), d = _mm512_unpackhi_epi32(four[2], four[3]);
    const auto put_rows = [&](int64_t row, __m512i v) HWY_ATTR {
      const auto one = [&](int64_t i, __m128i block) HWY_ATTR {
        _mm_store_si128(reinterpret_cast<__m128i*>(to + (row + 4 * i) * kCacheLine), block);
      };
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
  /// The same, not inlined: for calls that are too rare to be worth one more copy of the code.
  HWY_NOINLINE void make_last(const std::byte* base, Starts starts, int64_t count, std::byte* to, const std::byte* next,
                              Starts next_starts) const {
    make_square<false>(base, starts, count, to, next, next_starts);
  }

  void run() const {
    alignas(64) std::byte images[2][kRows * kCacheLine];
    Strip before;
    int made = 0;
    // Strips have about the same size, so that each prefetches all of the next one.
    const int64_t strips = (rows + kRows - 1) / kRows, squares = (rows + kSide - 1) / kSide;
    const int64_t step = (squares + strips - 1) / strips * kSide;
    for (int64_t col = 0; col < cols; col += kCacheLine) {
      for (int64_t row = 0; row < rows; row += step, made ^= 1) {
        const int64_t count = std::min(step, rows - row);
        // Finds the next strip, to prefetch it: it has the next columns or, after the last columns, the first columns
        // of the next rows. A source without gaps is prefetched as far ahead as the plan says.
        const bool linear = ahead > kFar, last = row + step >= rows, wraps = last && col + kCacheLine >= cols;
        const std::byte* next = src + (linear ? row * Columns::kFrom + ahead
                                              : (wraps  ? rows
                                                 : last ? 0
                                                        : row + step) *
                                                    Columns::kFrom);
        const Starts next_cols = src_cols + (linear || !last ? col : wraps ? 0 : col + kCacheLine);
        for (int64_t c = 0; c < kCacheLine; c += kSide) {
          const Starts starts = src_cols + col + c;
          const std::byte* base = src + row * Columns::kFrom;
          std::byte* to = images[made] + c;
          for (int64_t r = 0; r < count; r += kSide, base += kSide * Columns::kFrom, to += kSide * kCacheLine) {
            const std::byte* const fetched = next + r * Columns::kFrom;
            if (r + kSide <= count)
              make_square<true>(base, starts, kSide, to, fetched, next_cols + c);
            else
              make_last(base, starts, count - r, to, fetched, next_cols + c);
            put(before, kSide * kSide / kCacheLine);
          }
        }
        put(before, kRows);
        before = {images[made], dst + col, dst_rows + row, 0, count};
      }
    }
    put(before, kRows);
  }
};
