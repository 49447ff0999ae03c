// Transposing a block whose rows start anywhere, with the destination's lines written past the cache as wholes.
//
// The kernel makes a line of columns of all rows, then the next, and keeps what it has of each row's last line. Small
// elements and values that are converted have a kernel of their own for that (kernels/transpose_pipelined-inl.h); where
// it does not do, blocks are made dense first, a line of columns at a time.
#pragma once

#include <algorithm>
#include <type_traits>

#include "relayout/cpu/run.h"

namespace relayout::cpu {

/// What transposes the source as it is, if anything does.
struct Pipelined {
  PipelinedKernel kernel = nullptr;
  const float* scale = nullptr;
};

/// Transposes `block` of `box` into elements of `bytes` bytes and writes the lines that it owns, see stream_block.cc;
/// `cols` is its part of the box's columns. `pack` is that of transpose_packed(), or a null pointer for sources that
/// the plain kernels read as they are. At least 16 bytes of rows and a line of columns.
template <typename Pack>
class LineTransposition {
 public:
  LineTransposition(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& cols,
                    int64_t bytes, const Pipelined& pipelined, const Pack& pack)
      : context_(context),
        box_(box),
        block_(block),
        pipelined_(pipelined),
        pack_(pack),
        size_(log2_size(bytes)),
        bytes_(bytes),
        whole_(kCacheLine / bytes),
        starts_row_(cols.begin == 0),
        extra_(std::min(whole_, cols.total - cols.end())),
        total_(block.cols + extra_) {}

  void run() {
    const int64_t tile = 16 / bytes_, most = box_.pack && !pipelined_.kernel ? kCacheLine / bytes_
                                                                             : std::max(kCacheLine, kRowBytes / bytes_);
    for (int64_t row = 0; row < block_.rows;) {
      // What would be less than a tile goes with the rows before it.
      const int64_t rest = block_.rows - row, rows = rest < most + tile ? rest : most;
      run_rows(sub_block(box_, block_, row, rows, 0, block_.cols));
      row += rows;
    }
  }

 private:
  static constexpr bool kPacks = !std::is_null_pointer_v<Pack>;
  /// Bytes of rows at a time, or as many rows as a line has bytes; and with what would be less than a tile.
  static constexpr int64_t kRowBytes = 256, kMostBytes = kRowBytes + 16;
  /// Columns of a list are fetched so many ahead, a line of columns at a time: of many at once the processor drops
  /// some.
  static constexpr int64_t kLater = 128;
  /// Columns of the dense block an odd number of lines apart, against conflicts in the cache.
  static constexpr int64_t kPitch = kRowBytes + kCacheLine;

  void run_rows(const Block& sub) {
    const int64_t whole_cols = total_ / whole_ * whole_;
    if constexpr (kPacks) {
      for (int64_t c = 0; c < whole_; ++c) starts_[c] = c * kPitch;
    }
    if (pipelined_.kernel) {
      run_pipelined(sub, whole_cols);
    } else if constexpr (kPacks) {
      for (int64_t col = 0; col < whole_cols; col += whole_) {
        pack(sub, col, whole_);
        lines(sub, dense_, starts_, col, whole_, 0);
        if (col == 0) put_heads(sub);
      }
    } else {
      lines(sub, sub.src, sub.src_cols, 0, whole_, block_.ahead);
      put_heads(sub);
      if (box_.ahead != 0) {
        lines(sub, sub.src, sub.src_cols + whole_, whole_, whole_cols - whole_, block_.ahead);
      } else {
        for (int64_t col = whole_; col < whole_cols; col += whole_) {
          const int64_t begin = col == whole_ ? col : col + kLater, end = std::min(total_, col + kLater + whole_);
          for (int64_t c = begin; c < end; ++c) fetch(sub, c);
          lines(sub, sub.src, sub.src_cols + col, col, whole_, 0);
        }
      }
    }
    put_tails(sub, whole_cols);
  }

  /// In one go; but the heads are put after the first line.
  void run_pipelined(const Block& sub, int64_t whole_cols) {
    constexpr int64_t kMost = 256;
    for (int64_t col = 0; col < whole_cols;) {
      int64_t count = starts_row_ && col == 0 ? whole_ : whole_cols - col;
      if (box_.ahead == 0) {
        count = std::min(count, kMost);
        for (int64_t c = col + count; c < std::min(total_, col + count + kMost); ++c) fetch(sub, c);
      }
      pipelined_.kernel(sub.src, sub.src_cols + col, sub.dst + col * bytes_, sub.dst_rows, carry_, col == 0, sub.rows,
                        count, pipelined_.scale, block_.ahead);
      if (col == 0) put_heads(sub);
      col += count;
    }
  }

  void lines(const Block& sub, const std::byte* src, Starts cols, int64_t col, int64_t count, int64_t ahead) {
    context_.kernels.transpose_carried[size_](src, cols, sub.dst + col * bytes_, sub.dst_rows, carry_, col == 0,
                                              sub.rows, count, ahead);
  }

  /// Columns made dense.
  void pack(const Block& sub, int64_t col, int64_t count) {
    if constexpr (kPacks) {
      if (box_.ahead == 0) {
        for (int64_t c = col + count; c < std::min(total_, col + 2 * count); ++c) fetch(sub, c);
      }
      pack_(sub, col, count, dense_, starts_);
    }
  }

  /// A column that is read next, into the second level. By force, as gcc drops calls that only prefetch.
  [[gnu::always_inline]] void fetch(const Block& sub, int64_t col) const {
    const std::byte* from = sub.src + sub.src_cols[col];
    const int64_t bytes = sub.rows * box_.piece[kSrc];
    for (int64_t b = 0; b < bytes; b += kCacheLine) __builtin_prefetch(from + b, 0, 2);
    __builtin_prefetch(from + bytes - 1, 0, 2);
  }

  /// Up to each row's first line, where no other block writes that.
  void put_heads(const Block& sub) {
    if (!starts_row_) return;
    for (int64_t r = 0; r < sub.rows; ++r) {
      std::byte* const to = sub.dst + sub.dst_rows[r];
      if (const int64_t head = to_line(to); head > 0) copy(carry_ + r * kCacheLine, to, head);
    }
  }

  /// What the block owns of each row after its lines of columns.
  void put_tails(const Block& sub, int64_t whole_cols) {
    constexpr int64_t kRows = 16;
    const int64_t tail = total_ - whole_cols, made = whole_cols * bytes_, own = block_.cols * bytes_;
    if (tail == 0 && extra_ == whole_ && own % kCacheLine == 0) return;  // all owned lines are written
    if constexpr (kPacks) pack(sub, whole_cols, tail);
    alignas(kCacheLine) std::byte last[kRows * 2 * kCacheLine];
    int64_t rows[kRows];
    for (int64_t row = 0; row < sub.rows; row += kRows) {
      const int64_t count = std::min(kRows, sub.rows - row);
      for (int64_t r = 0; r < count; ++r) {
        rows[r] = (2 * r + 1) * kCacheLine;
        __builtin_memcpy(last + 2 * r * kCacheLine, carry_ + (row + r) * kCacheLine, kCacheLine);
      }
      if (tail > 0) {
        context_.kernels.transpose[size_]((kPacks ? dense_ : sub.src) + row * bytes_,
                                          kPacks ? starts_ : sub.src_cols + whole_cols, last, rows, count, tail, 0);
      }
      for (int64_t r = 0; r < count; ++r) {
        std::byte* const to = sub.dst + sub.dst_rows[row + r];
        const int64_t from = made - kCacheLine + to_line(to + made),
                      end = own + std::min(extra_ * bytes_, to_line(to + own));
        if (from < end) copy(last + rows[r] + from - made, to + from, end - from);
      }
    }
  }

  void copy(const std::byte* from, std::byte* to, int64_t n) const {
    context_.kernels.copy_stream(from, kFirst, kFirst, to, kFirst, kFirst, 1, 1, n, 0);
  }

  const RunContext& context_;
  const BoxPlan& box_;
  const Block& block_;
  const Pipelined pipelined_;
  const Pack& pack_;
  const std::size_t size_;
  const int64_t bytes_, whole_;
  const bool starts_row_;
  const int64_t extra_, total_;
  int64_t starts_[kCacheLine];
  alignas(kCacheLine) std::byte carry_[kMostBytes * kCacheLine];
  alignas(kCacheLine) std::byte dense_[kPacks ? kCacheLine * kPitch : kCacheLine];
};

}  // namespace relayout::cpu
