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
  LineTransposition(const RunContext& context, const BoxPlan& box, const Block& block, const Part& cols, int64_t bytes,
                    const Pipelined& pipelined, const Pack& pack)
      : context_(context),
        box_(box),
        block_(block),
        pipelined_(pipelined),
        pack_(pack),
        size_(log2_size(bytes)),
        bytes_(bytes),
        whole_(kLine / bytes),
        starts_row_(cols.begin == 0),
        extra_(std::min(whole_, cols.total - cols.end())),
        total_(block.cols + extra_) {}

  void run() {
    const int64_t tile = 16 / bytes_,
                  most = box_.pack && !pipelined_.kernel ? kLine / bytes_ : std::max(kLine, kRowBytes / bytes_);
    for (int64_t row = 0; row < block_.rows;) {
      // What would be less than a tile goes with the rows before it.
      const int64_t rest = block_.rows - row, rows = rest < most + tile ? rest : most;
      run_rows(part_of(box_, block_, row, rows, 0, block_.cols));
      row += rows;
    }
  }

 private:
  static constexpr bool kPacks = !std::is_null_pointer_v<Pack>;
  /// Bytes of rows at a time, or as many rows as a line has bytes; and with what would be less than a tile.
  static constexpr int64_t kLine = 64, kRowBytes = 256, kMostBytes = kRowBytes + 16;
  /// Columns of a list are fetched so many ahead, a line of columns at a time: of many at once the processor drops
  /// some.
  static constexpr int64_t kLater = 128;
  /// Columns of the dense block an odd number of lines apart, against conflicts in the cache.
  static constexpr int64_t kPitch = kRowBytes + kLine;

  void run_rows(const Block& part) {
    const int64_t whole_cols = total_ / whole_ * whole_;
    if constexpr (kPacks) {
      for (int64_t c = 0; c < whole_; ++c) starts_[c] = c * kPitch;
    }
    if (pipelined_.kernel) {
      run_pipelined(part, whole_cols);
    } else if constexpr (kPacks) {
      for (int64_t col = 0; col < whole_cols; col += whole_) {
        pack(part, col, whole_);
        lines(part, dense_, starts_, col, whole_, 0);
        if (col == 0) put_heads(part);
      }
    } else {
      lines(part, part.src, part.src_cols, 0, whole_, block_.ahead);
      put_heads(part);
      if (box_.ahead != 0) {
        lines(part, part.src, part.src_cols + whole_, whole_, whole_cols - whole_, block_.ahead);
      } else {
        for (int64_t col = whole_; col < whole_cols; col += whole_) {
          const int64_t begin = col == whole_ ? col : col + kLater, end = std::min(total_, col + kLater + whole_);
          for (int64_t c = begin; c < end; ++c) fetch(part, c);
          lines(part, part.src, part.src_cols + col, col, whole_, 0);
        }
      }
    }
    put_tails(part, whole_cols);
  }

  /// In one go; but the heads are put after the first line.
  void run_pipelined(const Block& part, int64_t whole_cols) {
    constexpr int64_t kMost = 256;
    for (int64_t col = 0; col < whole_cols;) {
      int64_t count = starts_row_ && col == 0 ? whole_ : whole_cols - col;
      if (box_.ahead == 0) {
        count = std::min(count, kMost);
        for (int64_t c = col + count; c < std::min(total_, col + count + kMost); ++c) fetch(part, c);
      }
      pipelined_.kernel(part.src, part.src_cols + col, part.dst + col * bytes_, part.dst_rows, carry_, col == 0,
                        part.rows, count, pipelined_.scale, block_.ahead);
      if (col == 0) put_heads(part);
      col += count;
    }
  }

  void lines(const Block& part, const std::byte* src, Starts cols, int64_t col, int64_t count, int64_t ahead) {
    context_.kernels.transpose_carried[size_](src, cols, part.dst + col * bytes_, part.dst_rows, carry_, col == 0,
                                              part.rows, count, ahead);
  }

  /// Columns made dense.
  void pack(const Block& part, int64_t col, int64_t count) {
    if constexpr (kPacks) {
      if (box_.ahead == 0) {
        for (int64_t c = col + count; c < std::min(total_, col + 2 * count); ++c) fetch(part, c);
      }
      pack_(part, col, count, dense_, starts_);
    }
  }

  /// A column that is read next, into the second level. By force, as gcc drops calls that only prefetch.
  [[gnu::always_inline]] void fetch(const Block& part, int64_t col) const {
    const std::byte* from = part.src + part.src_cols[col];
    const int64_t bytes = part.rows * box_.piece[kSrc];
    for (int64_t b = 0; b < bytes; b += kLine) __builtin_prefetch(from + b, 0, 2);
    __builtin_prefetch(from + bytes - 1, 0, 2);
  }

  /// Up to each row's first line, where no other block writes that.
  void put_heads(const Block& part) {
    if (!starts_row_) return;
    for (int64_t r = 0; r < part.rows; ++r) {
      std::byte* const to = part.dst + part.dst_rows[r];
      if (const int64_t head = to_line(to); head > 0) copy(carry_ + r * kLine, to, head);
    }
  }

  /// What the block owns of each row after its lines of columns.
  void put_tails(const Block& part, int64_t whole_cols) {
    constexpr int64_t kRows = 16;
    const int64_t tail = total_ - whole_cols, made = whole_cols * bytes_, own = block_.cols * bytes_;
    if (tail == 0 && extra_ == whole_ && own % kLine == 0) return;  // all owned lines are written
    if constexpr (kPacks) pack(part, whole_cols, tail);
    alignas(kLine) std::byte last[kRows * 2 * kLine];
    int64_t rows[kRows];
    for (int64_t row = 0; row < part.rows; row += kRows) {
      const int64_t count = std::min(kRows, part.rows - row);
      for (int64_t r = 0; r < count; ++r) {
        rows[r] = (2 * r + 1) * kLine;
        __builtin_memcpy(last + 2 * r * kLine, carry_ + (row + r) * kLine, kLine);
      }
      if (tail > 0) {
        context_.kernels.transpose[size_]((kPacks ? dense_ : part.src) + row * bytes_,
                                          kPacks ? starts_ : part.src_cols + whole_cols, last, rows, count, tail, 0);
      }
      for (int64_t r = 0; r < count; ++r) {
        std::byte* const to = part.dst + part.dst_rows[row + r];
        const int64_t from = made - kLine + to_line(to + made),
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
  int64_t starts_[kLine];
  alignas(kLine) std::byte carry_[kMostBytes * kLine];
  alignas(kLine) std::byte dense_[kPacks ? kLine * kPitch : kLine];
};

}  // namespace relayout::cpu
