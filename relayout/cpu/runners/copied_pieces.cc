// Runs copies of pieces: which of rows and columns is the inner loop past the cache.
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {
namespace {

/// Lines of at most kLinesBeside columns are copied side by side. If columns lie pages apart, lines of more columns
/// compete for few sets of the first-level cache, so that lines that the processor fetches ahead are lost.
constexpr int64_t kLinesBeside = 8;

/// Copies pieces along an index table, some at a time, after the pieces that follow them later have been fetched.
void copy_listed(const CopyKernel& copy, const Loops& loops, const Block& b) {
  constexpr int64_t kAtOnce = 4 << 10;
  const int64_t bytes = loops.piece[kDst], group = std::max<int64_t>(1, kAtOnce / bytes);
  const int64_t all = b.rows + b.rows_behind, ahead = loops.list_ahead > 0 ? ceil_div(loops.list_ahead, bytes) : all;
  const bool reads = loops.along_src.axes[0].stride[kSrc] == 0, writes = loops.along_src.axes[0].stride[kDst] == 0;
  for (int64_t r = 0; r < b.rows; r += group) {
    const int64_t rows = std::min(group, b.rows - r), last = std::min(r + rows + ahead, all);
    for (int64_t c = 0; c < b.cols; ++c) {
      const std::byte* const src = b.src + b.src_cols[c];
      std::byte* const dst = b.dst + b.dst_cols[c];
      for (int64_t next = r + ahead; next < last; ++next) {
        for (int64_t i = 0; reads && i < bytes; i += kCacheLine) __builtin_prefetch(src + b.src_rows[next] + i, 0, 2);
        for (int64_t i = 0; writes && i < bytes; i += kCacheLine) __builtin_prefetch(dst + b.dst_rows[next] + i, 1, 2);
      }
      copy(src, kFirst, b.src_rows + r, dst, kFirst, b.dst_rows + r, 1, rows, bytes, 0);
    }
  }
}

}  // namespace

void make(const RunContext& context, const Loops& loops, const CopiedPieces&, const Block& block) {
  if (loops.along_src.axes[0].listed) return copy_listed(context.kernels.copy, loops, block);
  const int64_t ahead = block.ahead != 0 ? block.ahead : loops.ahead;
  context.kernels.copy(block.src, block.src_rows, block.src_cols, block.dst, block.dst_rows, block.dst_cols, block.rows,
                       block.cols, loops.piece[kDst], ahead);
}

/// Pieces of at least 16 bytes; smaller ones go by an image. Where they are whole lines, or fractions of lines that
/// start at multiples of their size, the shorter of rows and columns is the inner loop, so that the source is read, or
/// the destination written, in a few places side by side. The exception is pieces of a quarter of a line in more than
/// four rows. Too many lines would be incomplete at a time, unless the kernel puts them together in registers.
bool stream(const RunContext& context, const Loops& loops, const CopiedPieces&, const Block& b) {
  const int64_t bytes = loops.piece[kDst], unit = std::min(bytes, kCacheLine);
  if (bytes < kRegister) return false;
  if (loops.along_src.axes[0].listed && loops.along_dst.dense) {
    // Pieces of other sizes follow each other within lines, which are put together in an image.
    if (bytes % kCacheLine != 0 || !at_lines(loops, b)) return false;
    copy_listed(context.kernels.copy_stream, loops, b);
    return true;
  }
  const auto& copy = context.kernels.copy_stream;
  const bool many_quarters = bytes == kCacheLine / 4 && b.rows > 4;
  if (loops.along_src.dense && loops.along_src.count <= loops.along_dst.count && kCacheLine % unit == 0 &&
      bytes % unit == 0 && at_lines(loops, b, unit) && !many_quarters) {
    copy(b.src, b.src_cols, b.src_rows, b.dst, b.dst_cols, b.dst_rows, b.cols, b.rows, bytes, 0);
    return true;
  }
  const int64_t beside = bytes == kCacheLine && at_lines(loops, b) ? kLinesBeside : b.cols;
  for (int64_t c = 0; c < b.cols; c += beside)
    copy(b.src, b.src_rows, b.src_cols + c, b.dst, b.dst_rows, b.dst_cols + c, b.rows, std::min(beside, b.cols - c),
         bytes, 0);
  return true;
}

}  // namespace relayout::cpu
