// Transposing a block whose rows start anywhere in lines, with each line of the destination written past the cache as a
// whole.
//
// The kernel takes as many columns at a time as make a line. Of each row it *carries* the bytes of the last,
// incomplete line, and writes that line once the next columns complete it. Small elements, and values that are
// converted, have a kernel of their own for that (kernels/transpose_pipelined-inl.h). Where there is none, the source
// of a block is made dense first.
#pragma once

#include <algorithm>
#include <type_traits>

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// A kernel that transposes the source as it lies, and converts it where the plan does; null where there is none.
struct Pipelined {
  PipelinedKernel kernel = nullptr;
  const RunAttributes* attributes = nullptr;
};

/// Transposes a block into elements of `bytes` bytes and writes the lines that it owns, see past_cache.cc; block.lines
/// are the columns of the region that it has. `packs` is Transposition::pack. `pack` is that of transpose_packed(), or
/// a null pointer where the plain kernels read the source as it lies. The block has at least 16 bytes of rows and a
/// line of columns.
template <typename Pack>
class LineTransposition {
 public:
  LineTransposition(const RunContext& context, const Loops& loops, bool packs, const Block& block, int64_t bytes,
                    const Pipelined& pipelined, const Pack& pack)
      : context_(context),
        loops_(loops),
        packs_(packs),
        block_(block),
        pipelined_(pipelined),
        pack_(pack),
        size_(log2_size(bytes)),
        bytes_(bytes),
        whole_(kCacheLine / bytes),
        starts_row_(block.lines->begin == 0),
        extra_(std::min(whole_, block.lines->total - block.lines->end())),
        total_(block.cols + extra_) {}

  void run() {
    const int64_t tile = 16 / bytes_,
                  most = packs_ && !pipelined_.kernel ? kCacheLine / bytes_ : std::max(kCacheLine, kRowBytes / bytes_);
    for (int64_t row = 0; row < block_.rows;) {
      // If fewer rows than a tile would be left at the end, they are done with the rows before them.
      const int64_t rest = block_.rows - row, rows = rest < most + tile ? rest : most;
      run_rows(sub_block(loops_, block_, row, rows, 0, block_.cols));
      row += rows;
    }
  }

 private:
  static constexpr bool kPacks = !std::is_null_pointer_v<Pack>;
  /// The bytes of rows that are done at a time, in the source (or as many rows as a line has bytes). The last rows have
  /// up to 16 bytes more, if less than a tile would be left.
  static constexpr int64_t kRowBytes = 256, kMostBytes = kRowBytes + 16;
  /// How many columns ahead columns are fetched. They are fetched a line of columns at a time, because the processor
  /// drops some of many prefetches at once.
  static constexpr int64_t kLater = 128;
  /// Columns of the dense copy are an odd number of lines apart, so that they do not compete for few sets of the cache.
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
      if (loops_.ahead != 0) {
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

  /// Transposes all whole lines by the pipelined kernel, with few calls. The heads are put after the first call.
  void run_pipelined(const Block& sub, int64_t whole_cols) {
    constexpr int64_t kMost = 256;
    for (int64_t col = 0; col < whole_cols;) {
      int64_t count = starts_row_ && col == 0 ? whole_ : whole_cols - col;
      if (loops_.ahead == 0) {
        count = std::min(count, kMost);
        for (int64_t c = col + count; c < std::min(total_, col + count + kMost); ++c) fetch(sub, c);
      }
      pipelined_.kernel(sub.src, sub.src_cols + col, sub.dst + col * bytes_, sub.dst_rows, carry_, col == 0, sub.rows,
                        count, pipelined_.attributes, block_.ahead);
      if (col == 0) put_heads(sub);
      col += count;
    }
  }

  void lines(const Block& sub, const std::byte* src, Starts cols, int64_t col, int64_t count, int64_t ahead) {
    context_.kernels.transpose_carried[size_](src, cols, sub.dst + col * bytes_, sub.dst_rows, carry_, col == 0,
                                              sub.rows, count, ahead);
  }

  /// Copies columns to dense memory.
  void pack(const Block& sub, int64_t col, int64_t count) {
    if constexpr (kPacks) {
      if (loops_.ahead == 0) {
        for (int64_t c = col + count; c < std::min(total_, col + 2 * count); ++c) fetch(sub, c);
      }
      pack_(sub, col, count, dense_, starts_);
    }
  }

  /// Prefetches a column that is read next into the second level. Inlined by force, as gcc drops calls of a function
  /// that only prefetches.
  [[gnu::always_inline]] void fetch(const Block& sub, int64_t col) const {
    const std::byte* from = sub.src + sub.src_cols[col];
    const int64_t bytes = sub.rows * loops_.piece[kSrc];
    for (int64_t b = 0; b < bytes; b += kCacheLine) __builtin_prefetch(from + b, 0, 2);
    __builtin_prefetch(from + bytes - 1, 0, 2);
  }

  /// Writes what comes before the first whole line of each row, if the row starts in this block.
  void put_heads(const Block& sub) {
    if (!starts_row_) return;
    for (int64_t r = 0; r < sub.rows; ++r) {
      std::byte* const to = sub.dst + sub.dst_rows[r];
      if (const int64_t head = to_line(to); head > 0) copy(carry_ + r * kCacheLine, to, head);
    }
  }

  /// Writes what the block owns of each row after the last whole line of columns.
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
  const Loops& loops_;
  const bool packs_;
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
