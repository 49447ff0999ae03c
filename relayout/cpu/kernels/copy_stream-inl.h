// Copies that pass by the cache, for copy-inl.h: runs by lists, of which several can make a line of the destination
// together. Only where there are such stores.

/// The line of the destination that runs are making, one after the other: `from` to `have` are its bytes so far.
class OpenLine {
 public:
  HWY_INLINE OpenLine() {
#if HWY_TARGET <= HWY_AVX3
    bytes_ = _mm512_setzero_si512();
#endif
  }
  /// A run that starts at `to`: where no run ended, that is another line.
  HWY_INLINE void start(std::byte* to) {
    if (line_ + have_ == to) return;
    finish();
    from_ = have_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) & (kLine - 1));
    line_ = to - have_;
  }
  /// The first bytes of a run of n that go into the line; it is written when it is whole.
  HWY_INLINE int64_t complete(const std::byte* src, int64_t n) {
    if (have_ == 0) return 0;
    const int64_t count = std::min(n, kLine - have_);
    add(src, count);
    if (have_ < kLine) return count;
    if (from_ > 0)
      finish();
    else
      write();
    line_ += kLine;
    from_ = have_ = 0;
    return count;
  }
  /// Whole lines.
  HWY_INLINE void put(const std::byte* src, int64_t bytes, int64_t ahead) {
    constexpr int64_t kFew = 8;
    if (bytes > kFew * kLine) {
      stream_lines(src, line_, bytes, ahead);
    } else {
      // Each by an instruction of its own, which the processor learns to fetch ahead by.
#pragma GCC unroll 8
      for (int64_t i = 0; i < kFew; ++i) {
        if (i * kLine >= bytes) break;
        stream_lines(src + i * kLine, line_ + i * kLine, kLine, 0);
      }
    }
    line_ += bytes;
  }
  HWY_INLINE void add(const std::byte* src, int64_t n) {
#if HWY_TARGET <= HWY_AVX3
    bytes_ = _mm512_mask_loadu_epi8(bytes_, part(have_, have_ + n), src - have_);
#else
    copy_short(src, bytes_ + have_, n);
#endif
    have_ += n;
  }
  /// What there is of the line.
  HWY_INLINE void finish() {
    if (from_ == have_) return;
#if HWY_TARGET <= HWY_AVX3
    _mm512_mask_storeu_epi8(line_, part(from_, have_), bytes_);
#else
    copy_short(bytes_ + from_, line_ + from_, have_ - from_);
#endif
  }

 private:
#if HWY_TARGET <= HWY_AVX3
  static HWY_INLINE __mmask64 part(int64_t begin, int64_t end) {
    return (~uint64_t{0} >> (kLine - (end - begin))) << begin;
  }
  HWY_INLINE void write() { _mm512_stream_si512(reinterpret_cast<__m512i*>(line_), bytes_); }
  __m512i bytes_;
#else
  HWY_INLINE void write() { stream_lines(bytes_, line_, kLine, 0); }
  alignas(kLine) std::byte bytes_[kLine];
#endif
  std::byte* line_ = nullptr;
  int64_t from_ = 0, have_ = 0;
};

/// A run of a region so many runs further on.
struct RunAhead {
  int64_t row, col;
  HWY_INLINE void step(int64_t cols) {
    if (++col < cols) return;
    col = 0;
    ++row;
  }
};

/// Every run of a region, by `one`. Runs that lie apart are fetched by the lists, as what the processor fetches ahead
/// by itself ends with each of them; so are lines of the destination that are written in parts.
template <typename One>
HWY_INLINE void stream_each(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                            Starts dst_cols, int64_t rows, int64_t cols, int64_t bytes, One one) {
  constexpr int64_t kListAhead = 8 << 10, kPartsAhead = 16, kLong = 2 << 10;
  const int64_t far = std::max<int64_t>(1, kListAhead / bytes), apart = far * (bytes + kLine);
  const Starts dst_list = cols > 1 ? dst_cols : dst_rows;
  const bool parts = cols * rows > 1 && dst_list[1] - dst_list[0] != bytes;
  RunAhead next{bytes > kLong ? rows : far / cols, far % cols};
  RunAhead part{parts ? kPartsAhead / cols : rows, kPartsAhead % cols};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      const std::byte* const from = src + src_rows[r] + src_cols[c];
      if (next.row < rows) {
        const std::byte* const at = src + src_rows[next.row] + src_cols[next.col];
        if (at - from >= apart || at < from) {
          for (int64_t b = 0; b < bytes; b += kLine) prefetch(at + b);
          prefetch(at + bytes - 1);
        }
        next.step(cols);
      }
      if (part.row < rows) {
        std::byte* const at = dst + dst_rows[part.row] + dst_cols[part.col];
        if (reinterpret_cast<uintptr_t>(at) % kLine != 0) __builtin_prefetch(at, 1, 3);
        if (reinterpret_cast<uintptr_t>(at + bytes) % kLine != 0) __builtin_prefetch(at + bytes - 1, 1, 3);
        part.step(cols);
      }
      one(from, dst + dst_rows[r] + dst_cols[c]);
    }
  }
}

void copy_stream(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                 Starts dst_cols, int64_t rows, int64_t cols, int64_t bytes, int64_t ahead) {
  constexpr int64_t kHalf = kLine / 2, kQuarter = kLine / 4;
  if (bytes == 0) return;
  const auto aligned = [&](int64_t to) {
    int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst));
    for (int64_t r = 0; r < rows; ++r) bits |= dst_rows[r];
    for (int64_t c = 0; c < cols; ++c) bits |= dst_cols[c];
    return bits % to == 0;
  };
  const auto each = [&](auto one) __attribute__((always_inline)) {
    stream_each(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, bytes, one);
  };
  const auto each_short = [&](auto one) __attribute__((always_inline)) {
    each_run(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, bytes, 0, one);
  };
  if (bytes == kLine && rows > 1 && cols > 1 && aligned(kLine)) {
    // Short loops: the more lines the processor has in flight.
    each_short([](const std::byte* from, std::byte* to) HWY_ATTR { stream_lines(from, to, kLine, 0); });
  } else if (bytes == kHalf && aligned(kHalf)) {
    // Halves and quarters of lines, one after the other.
    const hn::CappedTag<uint8_t, kHalf> d;
    each_short([=](const std::byte* from, std::byte* to) HWY_ATTR {
      for (int64_t b = 0; b < kHalf; b += static_cast<int64_t>(hn::MaxLanes(d)))
        hn::Stream(hn::LoadU(d, as<uint8_t>(from + b)), d, as<uint8_t>(to + b));
    });
  } else if (bytes == kQuarter && aligned(kQuarter)) {
    const Block16<uint8_t> d;
    each_short([=](const std::byte* from, std::byte* to)
                   HWY_ATTR { hn::Stream(hn::LoadU(d, as<uint8_t>(from)), d, as<uint8_t>(to)); });
  } else {
    OpenLine line;
    each([&](const std::byte* from, std::byte* to) HWY_ATTR {
      line.start(to);
      const int64_t head = line.complete(from, bytes), lines = (bytes - head) / kLine * kLine;
      line.put(from + head, lines, ahead);
      if (const int64_t rest = bytes - head - lines; rest > 0) line.add(from + head + lines, rest);
    });
    line.finish();
  }
}
