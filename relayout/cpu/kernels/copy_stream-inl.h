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
  /// Adds a run.
  HWY_INLINE void copy(const std::byte* src, std::byte* dst, int64_t bytes, int64_t ahead) {
    start(dst);
    int64_t done = complete(src, bytes);
    const int64_t lines = (bytes - done) / kCacheLine * kCacheLine;
    stream_lines(src + done, line_, lines, ahead);
    line_ += lines;
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
    each_run(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, bytes, 0, one);
  };
  if (bytes == kCacheLine && rows > 1 && cols > 1 && aligned(kCacheLine)) {
    // One line at a time: in a short loop the processor has more lines in flight.
    each([](const std::byte* from, std::byte* to) HWY_ATTR { stream_lines(from, to, kCacheLine, 0); });
  } else if (copy_as_lines({src, dst, src_rows, src_cols, dst_rows, dst_cols, rows, cols}, bytes) ||
             copy_as_lines({src, dst, src_cols, src_rows, dst_cols, dst_rows, cols, rows}, bytes)) {
    return;
  } else if (bytes == kHalf && aligned(kHalf)) {
    // Halves and quarters of lines are written one after the other.
    const hn::CappedTag<uint8_t, kHalf> d;
    each([=](const std::byte* from, std::byte* to) HWY_ATTR {
      for (int64_t b = 0; b < kHalf; b += static_cast<int64_t>(hn::MaxLanes(d)))
        hn::Stream(hn::LoadU(d, as<uint8_t>(from + b)), d, as<uint8_t>(to + b));
    });
  } else if (bytes == kQuarter && aligned(kQuarter)) {
    const Block16<uint8_t> d;
    each([=](const std::byte* from, std::byte* to)
             HWY_ATTR { hn::Stream(hn::LoadU(d, as<uint8_t>(from)), d, as<uint8_t>(to)); });
  } else {
    OpenLine line;
    each([&](const std::byte* from, std::byte* to) HWY_ATTR { line.copy(from, to, bytes, ahead); });
    line.finish();
  }
}
