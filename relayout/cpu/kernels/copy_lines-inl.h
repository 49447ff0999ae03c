// Copies past the cache of runs of 16, 32 and 64 bytes that follow each other in the destination, for
// copy_stream-inl.h: each line is put together in a register and written as a whole.

/// The rows and columns of the runs to copy, see copy_stream().
struct Runs {
  const std::byte* src;
  std::byte* dst;
  Starts src_rows, src_cols, dst_rows, dst_cols;
  int64_t rows, cols;
};

/// How many bytes of the source are read at a time where several rows are written side by side.
constexpr int64_t kNearBytes = 16 << 10;

/// Writes a line made of the runs of kBytes bytes at(0), at(1) and so on.
template <int64_t kBytes, typename At>
HWY_INLINE void put_line(std::byte* dst, At at) {
  const hn::CappedTag<uint8_t, kBytes> piece;
  constexpr int64_t kStep = 16 * kBlocks, kRuns = kStep / kBytes;
  constexpr auto kRegister = static_cast<int64_t>(hn::MaxLanes(piece));
  static_assert(kRuns <= 1 || HWY_TARGET <= HWY_AVX2);
  if constexpr (kRuns <= 1) {
    for (int64_t b = 0; b < kCacheLine; b += kRegister)
      hn::Stream(hn::LoadU(piece, as<uint8_t>(at(b / kBytes) + b % kBytes)), piece, as<uint8_t>(dst + b));
    return;
  }
#if HWY_TARGET <= HWY_AVX2
  const Wide<uint8_t> d;
  const auto load = [&](int64_t i) HWY_ATTR { return hn::LoadU(piece, as<uint8_t>(at(i))); };
  if constexpr (kRuns == 2) {
    for (int64_t i = 0; i < kCacheLine / kBytes; i += 2)
      hn::Stream(hn::Combine(d, load(i + 1), load(i)), d, as<uint8_t>(dst + i * kBytes));
  }
#endif
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kRuns == 4) {
    const hn::Half<decltype(d)> half;
    hn::Stream(hn::Combine(d, hn::Combine(half, load(3), load(2)), hn::Combine(half, load(1), load(0))), d,
               as<uint8_t>(dst));
  }
#endif
}

#if HWY_TARGET <= HWY_AVX3
/// Writes a line that starts `skip` bytes into at(0); `skip` is over 0.
template <int64_t kBytes, typename At>
HWY_INLINE void put_line_between(std::byte* dst, int64_t skip, At at) {
  const auto low = [](int64_t bytes) { return ~uint64_t{0} >> (kCacheLine - bytes); };
  __m512i line = _mm512_maskz_loadu_epi8(low(kBytes - skip), at(0) + skip);
  for (int64_t i = 1; i <= kCacheLine / kBytes; ++i) {
    const int64_t in_line = i * kBytes - skip, bytes = std::min(kBytes, kCacheLine - in_line);
    line = _mm512_mask_loadu_epi8(line, low(bytes) << in_line, at(i) - in_line);
  }
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), line);
}
#endif

/// Copies runs of kBytes bytes whose columns follow each other in the destination.
template <int64_t kBytes>
class LineRuns {
 public:
  explicit HWY_INLINE LineRuns(const Runs& runs)
      : runs_(runs), dst_(runs.dst + runs.dst_cols[0]), row_bytes_(runs.cols * kBytes) {}

  /// Copies the runs by copy_beside() or copy_joined(). If neither suits them, does nothing and returns false.
  bool copy() const {
    if (runs_.rows < 2 || runs_.cols < 2 || !follow(runs_.dst_cols, runs_.cols, kBytes)) return false;
    auto starts = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst_));
    for (int64_t r = 0; r < runs_.rows; ++r) starts |= runs_.dst_rows[r];
    const bool between = starts % kBytes != 0;
    if (between && HWY_TARGET > HWY_AVX3) return false;
    if (runs_.rows <= std::min(runs_.cols, kMaxBesideRows) && row_bytes_ >= 4 * kCacheLine &&
        follow(runs_.src_rows, runs_.rows, kBytes)) {
      copy_beside();
      return true;
    }
    if (runs_.rows < runs_.cols || row_bytes_ % kCacheLine != 0 || !follow(runs_.dst_rows, runs_.rows, row_bytes_))
      return false;
    copy_joined();
    return true;
  }

 private:
  static constexpr int64_t kRuns = kCacheLine / kBytes;

  static HWY_INLINE bool follow(Starts list, int64_t count, int64_t bytes) {
    int64_t apart = 0;
    for (int64_t i = 1; i < count; ++i) apart |= list[i] - list[i - 1] - bytes;
    return apart == 0;
  }
  HWY_INLINE const std::byte* run(int64_t r, int64_t c) const {
    return runs_.src + runs_.src_rows[r] + runs_.src_cols[c];
  }
  HWY_INLINE std::byte* row(int64_t r) const { return dst_ + runs_.dst_rows[r]; }
  static HWY_INLINE int64_t head_of(const std::byte* at) {
    return -static_cast<int64_t>(reinterpret_cast<uintptr_t>(at)) & (kCacheLine - 1);
  }
  /// Copies bytes [begin, end) of a row, which are few.
  HWY_INLINE void copy_partial(int64_t r, int64_t begin, int64_t end) const {
    for (int64_t skip = begin % kBytes; begin < end; skip = 0) {
      const int64_t n = std::min(kBytes - skip, end - begin);
      copy_short(run(r, begin / kBytes) + skip, row(r) + begin, n);
      begin += n;
    }
  }

  /// Copies a few rows that follow each other in each column of the source. Some columns of all rows are done at a
  /// time: a few lines of one row, then of the next row. Meanwhile the next columns are prefetched in the order of the
  /// source.
  void copy_beside() const {
    const int64_t col_bytes = runs_.rows * kBytes;
    const int64_t cols = std::max<int64_t>(1, kNearBytes / (col_bytes * kRuns)) * kRuns;
    int64_t heads[kMaxBesideRows];
    for (int64_t r = 0; r < runs_.rows; ++r) {
      heads[r] = head_of(row(r));
      copy_partial(r, 0, heads[r]);
    }
    for (int64_t begin = 0; begin < runs_.cols; begin += cols) {
      int64_t next_col = begin + cols, next_byte = 0;
      for (int64_t r = 0; r < runs_.rows; ++r) {
        const int64_t first = heads[r] / kBytes, skip = heads[r] % kBytes;
        const int64_t end = std::min(begin + cols, runs_.cols - first - kRuns + (skip == 0 ? 1 : 0));
        std::byte* const lines = row(r) + heads[r];
        for (int64_t c = begin; c < end; c += kRuns) {
          if (next_col < runs_.cols) {
            prefetch(run(0, next_col) + next_byte);
            next_byte += kCacheLine;
            if (next_byte >= col_bytes) next_byte = 0, ++next_col;
          }
          const auto at = [&](int64_t i) HWY_ATTR { return run(r, c + first + i); };
          put_any_line(lines + c * kBytes, skip, at);
        }
      }
    }
    for (int64_t r = 0; r < runs_.rows; ++r)
      copy_partial(r, heads[r] + (row_bytes_ - heads[r]) / kCacheLine * kCacheLine, row_bytes_);
  }

  /// Copies rows that are as long as whole lines and follow each other. If they do not start at lines, the last line of
  /// each row is completed by the next row.
  void copy_joined() const {
    const int64_t head = head_of(row(0)), first = head / kBytes, skip = head % kBytes;
    copy_partial(0, 0, head);
    for (int64_t r = 0; r < runs_.rows; ++r) {
      std::byte* const lines = row(r) + head;
      int64_t c = 0;
      for (; head + (c + kRuns) * kBytes <= row_bytes_; c += kRuns)
        put_any_line(lines + c * kBytes, skip, [&](int64_t i) HWY_ATTR { return run(r, c + first + i); });
      if (head == 0) continue;
      if (r + 1 == runs_.rows) {
        copy_partial(r, head + c * kBytes, row_bytes_);
        break;
      }
      put_any_line(lines + c * kBytes, skip, [&](int64_t i) HWY_ATTR {
        const int64_t col = c + first + i;
        return col < runs_.cols ? run(r, col) : run(r + 1, col - runs_.cols);
      });
    }
  }
  /// Writes a line that starts `skip` bytes into at(0).
  template <typename At>
  static HWY_INLINE void put_any_line(std::byte* dst, int64_t skip, At at) {
    if (skip == 0) return put_line<kBytes>(dst, at);
#if HWY_TARGET <= HWY_AVX3
    put_line_between<kBytes>(dst, skip, at);
#endif
  }

  const Runs& runs_;
  std::byte* dst_;
  int64_t row_bytes_;
};

/// Copies runs by whole lines put together in registers. If the runs do not allow it, does nothing and returns false.
HWY_INLINE bool copy_as_lines(const Runs& runs, int64_t bytes) {
  switch (bytes) {
    case 16: return LineRuns<16>(runs).copy();
    case 32: return LineRuns<32>(runs).copy();
    case 64: return LineRuns<64>(runs).copy();
    default: return false;
  }
}
