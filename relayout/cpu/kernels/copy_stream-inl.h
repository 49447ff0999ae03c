// Copies past the cache, for copy-inl.h: runs that start where lists say, of which several may make a line of the
// destination together. Only for instruction sets that have stores past the cache.

#include "relayout/cpu/kernels/copy_lines-inl.h"

/// A line of the destination that is not complete yet. Runs that follow each other add to it, and once it is whole it
/// is written. Its bytes from `from` up to `have` are known so far.
class OpenLine {
 public:
  HWY_INLINE OpenLine() {
#if HWY_TARGET <= HWY_AVX3
    bytes_ = _mm512_setzero_si512();
#endif
  }
  /// Begins a run that starts at `to`. If the run before did not end there, the line is finished and another one begun.
  HWY_INLINE void start(std::byte* to) {
    if (line_ + have_ == to) return;
    finish();
    from_ = have_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) & (kCacheLine - 1));
    line_ = to - have_;
  }
  /// Adds the first bytes of a run of n to the line, and writes the line if it is whole. Returns how many bytes it
  /// took.
  HWY_INLINE int64_t complete(const std::byte* src, int64_t n) {
    if (have_ == 0) return 0;
    const int64_t count = std::min(n, kCacheLine - have_);
    add(src, count);
    if (have_ < kCacheLine) return count;
    if (from_ > 0)
      finish();
    else
      write();
    line_ += kCacheLine;
    from_ = have_ = 0;
    return count;
  }
  /// Writes whole lines.
  HWY_INLINE void put(const std::byte* src, int64_t bytes, int64_t ahead) {
    constexpr int64_t kFew = 8;
    if (bytes > kFew * kCacheLine) {
      stream_lines(src, line_, bytes, ahead);
    } else {
      // Each line is loaded by an instruction of its own, as the processor learns for each load instruction by how much
      // its address grows, and prefetches accordingly.
#pragma GCC unroll 8
      for (int64_t i = 0; i < kFew; ++i) {
        if (i * kCacheLine >= bytes) break;
        stream_lines(src + i * kCacheLine, line_ + i * kCacheLine, kCacheLine, 0);
      }
    }
    line_ += bytes;
  }
  /// Adds a run. Of its whole lines, the first `there` bytes are written already.
  HWY_INLINE void copy(const std::byte* src, std::byte* dst, int64_t bytes, int64_t there, int64_t ahead = 0) {
    start(dst);
    int64_t done = complete(src, bytes) + there;
    line_ += there;
    const int64_t lines = (bytes - done) / kCacheLine * kCacheLine;
    put(src + done, lines, ahead);
    done += lines;
    if (done < bytes) add(src + done, bytes - done);
  }
  HWY_INLINE void add(const std::byte* src, int64_t n) {
#if HWY_TARGET <= HWY_AVX3
    bytes_ = _mm512_mask_loadu_epi8(bytes_, bytes_mask(have_, have_ + n), src - have_);
#else
    copy_short(src, bytes_ + have_, n);
#endif
    have_ += n;
  }
  /// Writes the known bytes of the incomplete line.
  HWY_INLINE void finish() {
    if (from_ == have_) return;
#if HWY_TARGET <= HWY_AVX3
    _mm512_mask_storeu_epi8(line_, bytes_mask(from_, have_), bytes_);
#else
    copy_short(bytes_ + from_, line_ + from_, have_ - from_);
#endif
  }

 private:
#if HWY_TARGET <= HWY_AVX3
  static HWY_INLINE __mmask64 bytes_mask(int64_t begin, int64_t end) {
    return (~uint64_t{0} >> (kCacheLine - (end - begin))) << begin;
  }
  HWY_INLINE void write() { _mm512_stream_si512(reinterpret_cast<__m512i*>(line_), bytes_); }
  __m512i bytes_;
#else
  HWY_INLINE void write() { stream_lines(bytes_, line_, kCacheLine, 0); }
  alignas(kCacheLine) std::byte bytes_[kCacheLine];
#endif
  std::byte* line_ = nullptr;
  int64_t from_ = 0, have_ = 0;
};

/// Long runs are copied from kSide places side by side, kTurn lines of each in turn. Memory is read faster that way:
/// the processor prefetches at each place, and while it waits for the first lines of a page at one place, the others go
/// on.
constexpr int kSide = 8, kTurn = 4;
/// Fewer runs than kFewRuns are not copied side by side. Runs are prefetched kTurnsAhead turns ahead.
constexpr int64_t kFewRuns = 32, kTurnsAhead = 8;

/// The row and column of the run that lies a number of runs further on, to prefetch it.
struct RunAhead {
  int64_t row, col;
  HWY_INLINE void step(int64_t cols) {
    if (++col < cols) return;
    col = 0;
    ++row;
  }
};

/// Copies kLines lines from each of kStreams places, which are every `apart`-th entry of the lists. Each place has load
/// instructions of its own, see OpenLine::put().
template <int kStreams, int kLines>
HWY_INLINE void stream_turn(const std::byte* src, Starts src_list, std::byte* dst, Starts dst_list, int64_t apart) {
#pragma GCC unroll 8
  for (int64_t k = 0; k < kStreams; ++k) {
    const std::byte* const from = src + src_list[k * apart];
    std::byte* const to = dst + dst_list[k * apart];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLines; ++i) stream_lines(from + i * kCacheLine, to + i * kCacheLine, kCacheLine, 0);
  }
}

/// Copies runs of kLines lines: the rows are cut into as many stretches as are copied side by side. Returns how many
/// rows are done.
template <int kLines>
int64_t stream_line_runs(const Runs& runs) {
  // Longer runs are copied from fewer places, which already make as many lines in flight as the processor can have.
  constexpr int kStreams = kLines > kTurn ? kSide / 2 : kSide;
  const int64_t apart = runs.rows / kStreams;
  RunAhead next{kTurnsAhead / runs.cols, kTurnsAhead % runs.cols};
  for (int64_t r = 0; r < apart; ++r) {
    for (int64_t c = 0; c < runs.cols; ++c) {
      if (next.row < apart) {
#pragma GCC unroll 8
        for (int64_t k = 0; k < kStreams; ++k) {
          const std::byte* const at = runs.src + runs.src_rows[k * apart + next.row] + runs.src_cols[next.col];
#pragma GCC unroll 8
          for (int64_t i = 0; i < kLines; ++i) prefetch(at + i * kCacheLine);
          prefetch(at + kLines * kCacheLine - 1);
        }
        next.step(runs.cols);
      }
      stream_turn<kStreams, kLines>(runs.src + runs.src_cols[c], runs.src_rows + r, runs.dst + runs.dst_cols[c],
                                    runs.dst_rows + r, apart);
    }
  }
  return apart * kStreams;
}

/// Copies runs that make lines together: stretches of rows side by side, each with a line of its own that is
/// incomplete. Returns how many rows are done.
int64_t stream_open_runs(const Runs& runs, int64_t bytes) {
  constexpr int kStreams = kSide / 2;
  // The rows of a stretch are a multiple of `whole`, so that a stretch is whole lines if its first row starts at a
  // line.
  const int64_t whole = runs.cols > 1 ? 1 : kCacheLine / std::min(kCacheLine, bytes & -bytes);
  const int64_t apart = runs.rows / kStreams / whole * whole;
  OpenLine open[kStreams];
  for (int64_t r = 0; r < apart; ++r) {
    for (int64_t c = 0; c < runs.cols; ++c) {
      const std::byte* const src = runs.src + runs.src_cols[c];
      std::byte* const dst = runs.dst + runs.dst_cols[c];
#pragma GCC unroll 4
      for (int64_t k = 0; k < kStreams; ++k)
        open[k].copy(src + runs.src_rows[k * apart + r], dst + runs.dst_rows[k * apart + r], bytes, 0);
    }
  }
#pragma GCC unroll 4
  for (int64_t k = 0; k < kStreams; ++k) open[k].finish();
  return apart * kStreams;
}

/// Copies runs of a page and more. First the whole lines: of eight runs side by side, or at eight places of a single
/// run. Then the rest of these runs.
void stream_long_runs(const std::byte* src, Starts src_list, std::byte* dst, Starts dst_list, int64_t count,
                      int64_t bytes) {
  int64_t from[kSide], to[kSide];
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst));
  for (int64_t i = 0; i < count; ++i) bits |= dst_list[i];
  // The number of whole lines that each run has at least, wherever it starts.
  const int64_t lines = (bits % kCacheLine == 0 ? bytes : bytes - (kCacheLine - 1)) / kCacheLine, each = lines / kSide;
  const int64_t apart = count / kSide;
  const auto start = [&](int64_t k, int64_t run, int64_t line) {
    const int64_t head = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst + dst_list[run])) & (kCacheLine - 1);
    from[k] = src_list[run] + head + line * kCacheLine;
    to[k] = dst_list[run] + head + line * kCacheLine;
  };
  const auto side_by_side = [&](int64_t n) HWY_ATTR {
    int64_t i = 0;
    for (; i + kTurn <= n; i += kTurn)
      stream_turn<kSide, kTurn>(src + i * kCacheLine, from, dst + i * kCacheLine, to, 1);
    for (; i < n; ++i) stream_turn<kSide, 1>(src + i * kCacheLine, from, dst + i * kCacheLine, to, 1);
  };
  for (int64_t i = 0; i < apart; ++i) {
    for (int64_t k = 0; k < kSide; ++k) start(k, k * apart + i, 0);
    side_by_side(lines);
  }
  for (int64_t i = apart * kSide; i < count; ++i) {
    for (int64_t k = 0; k < kSide; ++k) start(k, i, k * each);
    side_by_side(each);
  }
  OpenLine line;
  for (int64_t i = 0; i < count; ++i)
    line.copy(src + src_list[i], dst + dst_list[i], bytes, (i < apart * kSide ? lines : each * kSide) * kCacheLine);
  line.finish();
}

/// Calls `one` for every run of a region. The processor's own prefetching ends with each run, so runs that do not
/// follow each other in the source are prefetched by the lists. So are lines of the destination that are written in
/// several stores.
template <typename One>
HWY_INLINE void stream_each(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                            Starts dst_cols, int64_t rows, int64_t cols, int64_t bytes, One one) {
  constexpr int64_t kListAhead = 8 << 10, kPartialsAhead = 16, kLong = 2 << 10;
  const int64_t far = std::max<int64_t>(1, kListAhead / bytes), apart = far * (bytes + kCacheLine);
  const Starts dst_list = cols > 1 ? dst_cols : dst_rows;
  const bool partial = cols * rows > 1 && dst_list[1] - dst_list[0] != bytes;
  RunAhead next{bytes > kLong ? rows : far / cols, far % cols};
  RunAhead store{partial ? kPartialsAhead / cols : rows, kPartialsAhead % cols};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      const std::byte* const from = src + src_rows[r] + src_cols[c];
      if (next.row < rows) {
        const std::byte* const at = src + src_rows[next.row] + src_cols[next.col];
        if (at - from >= apart || at < from) {
          for (int64_t b = 0; b < bytes; b += kCacheLine) prefetch(at + b);
          prefetch(at + bytes - 1);
        }
        next.step(cols);
      }
      if (store.row < rows) {
        std::byte* const at = dst + dst_rows[store.row] + dst_cols[store.col];
        if (reinterpret_cast<uintptr_t>(at) % kCacheLine != 0) __builtin_prefetch(at, 1, 3);
        if (reinterpret_cast<uintptr_t>(at + bytes) % kCacheLine != 0) __builtin_prefetch(at + bytes - 1, 1, 3);
        store.step(cols);
      }
      one(from, dst + dst_rows[r] + dst_cols[c]);
    }
  }
}

/// Copies the first rows of a region from several places side by side, where that gains. Returns how many rows are
/// done.
int64_t stream_side_by_side(const Runs& runs, int64_t bytes) {
  if (runs.cols == 1 && bytes >= kPage && bytes * runs.rows >= kSide * kPage) {
    stream_long_runs(runs.src + runs.src_cols[0], runs.src_rows, runs.dst + runs.dst_cols[0], runs.dst_rows, runs.rows,
                     bytes);
    return runs.rows;
  }
  if (runs.rows * runs.cols < kFewRuns || bytes < kCacheLine || bytes >= kSide * kCacheLine) return 0;
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(runs.dst)) | bytes;
  for (int64_t r = 0; r < runs.rows; ++r) bits |= runs.dst_rows[r];
  for (int64_t c = 0; c < runs.cols; ++c) bits |= runs.dst_cols[c];
  if (bits % kCacheLine == 0) {
    static constexpr decltype(&stream_line_runs<1>) kByLines[] = {
        &stream_line_runs<1>, &stream_line_runs<2>, &stream_line_runs<3>, &stream_line_runs<4>,
        &stream_line_runs<5>, &stream_line_runs<6>, &stream_line_runs<7>};
    return kByLines[bytes / kCacheLine - 1](runs);
  }
  const Starts inner = runs.cols > 1 ? runs.dst_cols : runs.dst_rows;
  return inner[1] - inner[0] == bytes ? stream_open_runs(runs, bytes) : 0;
}

void copy_stream(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                 Starts dst_cols, int64_t rows, int64_t cols, int64_t bytes, int64_t ahead) {
  constexpr int64_t kHalf = kCacheLine / 2, kQuarter = kCacheLine / 4;
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
  if (bytes == kCacheLine && rows > 1 && cols > 1 && aligned(kCacheLine)) {
    // One line at a time: in a short loop the processor has more lines in flight.
    each_short([](const std::byte* from, std::byte* to) HWY_ATTR { stream_lines(from, to, kCacheLine, 0); });
  } else if (copy_as_lines({src, dst, src_rows, src_cols, dst_rows, dst_cols, rows, cols}, bytes) ||
             copy_as_lines({src, dst, src_cols, src_rows, dst_cols, dst_rows, cols, rows}, bytes)) {
    return;
  } else if (bytes == kHalf && aligned(kHalf)) {
    // Halves and quarters of lines are written one after the other.
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
    if (rows < kSide && rows < cols) {
      const int64_t done = stream_side_by_side({src, dst, src_cols, src_rows, dst_cols, dst_rows, cols, rows}, bytes);
      src_cols += done, dst_cols += done, cols -= done;
    } else {
      const int64_t done = stream_side_by_side({src, dst, src_rows, src_cols, dst_rows, dst_cols, rows, cols}, bytes);
      src_rows += done, dst_rows += done, rows -= done;
    }
    if (rows == 0 || cols == 0) return;
    OpenLine line;
    each([&](const std::byte* from, std::byte* to) HWY_ATTR { line.copy(from, to, bytes, 0, ahead); });
    line.finish();
  }
}
