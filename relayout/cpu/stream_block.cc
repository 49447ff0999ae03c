// One block of a destination beyond the caches. Its lines are written past the cache, each as a whole and once: a line
// that is written in part would have to be read first.
//
// Where rows start at lines, kernels write lines straight from registers. Elsewhere the block is first made in the
// first-level cache, an *image* of the destination with the destination's alignment, and its lines are written
// from there. A line belongs to the block in which it starts: a block also makes the few elements that
// complete its last line, and leaves the beginning of its first line to its neighbour.
#include "relayout/cpu/run.h"

namespace relayout::cpu {
namespace {

constexpr int64_t kLine = 64;
/// A copy's own prefetch, on top of what the machine does for a linear read.
constexpr int64_t kCopyAhead = 2 << 10;
/// An image's bytes at most.
constexpr int64_t kImage = 40 << 10;

int64_t to_line(const std::byte* at) { return -static_cast<int64_t>(reinterpret_cast<uintptr_t>(at)) & (kLine - 1); }

/// Whether all rows of a block start at lines.
bool at_lines(const BoxPlan& box, const Block& block) {
  return to_line(block.dst) == 0 && (block.rows == 1 || (box.rows.size() == 1 && box.rows[0].stride[kDst] % kLine == 0));
}

void prefetch(const BoxPlan& box, const Block& block) {
  const int64_t bytes = box.dense_rows ? block.rows * box.piece[kSrc] : kLine;
  for (int64_t c = 0; c < block.cols; ++c) {
    for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(block.src + block.src_cols[c] + box.ahead + i, 0, 2);
  }
}

/// Lines straight from the kernels; false where the block is not made for it.
bool stream_direct(const RunContext& context, const BoxPlan& box, const Block& block) {
  if (context.plan.converts()) return false;
  const int64_t bytes = box.piece[kSrc];
  if (box.long_runs) {
    context.kernels.copy_stream(block.src, block.src_rows, block.dst, block.dst_rows, block.rows, block.cols * bytes,
                                kCopyAhead);
    return true;
  }
  if (!at_lines(box, block)) return false;
  if (box.shape == KernelShape::copy) {
    if (bytes % kLine != 0) return false;
    for (int64_t r = 0; r < block.rows; ++r) {
      context.kernels.copy_stream(block.src + block.src_rows[r], block.src_cols, block.dst + block.dst_rows[r],
                                  block.dst_cols, block.cols, bytes, box.ahead);
    }
    return true;
  }
  const auto kernel = box.shape == KernelShape::transpose ? context.kernels.transpose_stream[log2_size(bytes)] : nullptr;
  if (!kernel || block.cols * bytes % kLine != 0) return false;
  kernel(block.src, block.src_cols, block.dst, block.dst_rows, block.rows, block.cols, box.ahead);
  return true;
}

void make(const RunContext& context, const BoxPlan& box, const Block& image) {
  if (context.plan.converts())
    cast_block(context, box, image);
  else
    move_block(context, box, image);
}

void write_lines(const RunContext& context, const std::byte* image, std::byte* dst, int64_t begin, int64_t end) {
  constexpr int64_t kZero = 0;
  if (begin < end) context.kernels.copy_stream(image + begin, &kZero, dst + begin, &kZero, 1, end - begin, 0);
}

/// What a block writes of `bytes` at dst, of which `more` can follow: from its first line's start to its last line's end.
struct Own {
  int64_t begin, end;
};
Own own(const std::byte* dst, int64_t bytes, int64_t more, bool first) {
  const int64_t end = bytes + std::min(more, to_line(dst + bytes));
  return {std::min(first ? 0 : to_line(dst), end), end};
}

/// Rows that follow each other in the destination: one run.
void stream_run(const RunContext& context, const BoxPlan& box, Block block, const Part& rows) {
  alignas(64) std::byte memory[kImage];
  const int64_t row_bytes = block.cols * box.piece[kDst];
  const int64_t extra = std::min(ceil_div(kLine - 1, row_bytes), rows.total - rows.end());
  std::byte* dst = block.dst;
  const Own write = own(dst, block.rows * row_bytes, extra * row_bytes, rows.begin == 0);
  block.rows += extra;
  block.dst = memory + (kLine - to_line(dst)) % kLine;
  make(context, box, block);
  write_lines(context, block.dst, dst, write.begin, write.end);
}

/// Rows apart from each other, as many at a time as the image holds.
void stream_rows(const RunContext& context, const BoxPlan& box, const Block& block, const Part& cols) {
  alignas(64) std::byte memory[kImage];
  const int64_t piece = box.piece[kDst];
  const int64_t extra = std::min(ceil_div(kLine - 1, piece), cols.total - cols.end());
  const int64_t pitch = ceil_div((block.cols + extra) * piece, kLine) * kLine + 2 * kLine;
  const int64_t most = std::min<int64_t>(kMaxBlockSide, kImage / pitch);
  int64_t image_rows[kMaxBlockSide];
  for (int64_t begin = 0; begin < block.rows; begin += most) {
    const int64_t count = std::min(most, block.rows - begin);
    for (int64_t r = 0; r < count; ++r) {
      const int64_t shift = (kLine - to_line(block.dst + block.dst_rows[begin + r])) % kLine;
      image_rows[r] = r * pitch + shift;
    }
    Block image = part_of(box, block, begin, count, 0, block.cols + extra);
    image.dst = memory;
    image.dst_rows = image_rows;
    make(context, box, image);
    for (int64_t r = 0; r < count; ++r) {
      std::byte* dst = block.dst + block.dst_rows[begin + r];
      const Own write = own(dst, block.cols * piece, extra * piece, cols.begin == 0);
      write_lines(context, memory + image_rows[r], dst, write.begin, write.end);
    }
  }
}

}  // namespace

bool streams(const RunContext& context, const BoxPlan& box) {
  return context.plan.streams() && context.kernels.copy_stream && box.dense_cols && box.unit_bits[kSrc] == 8 &&
         box.unit_bits[kDst] == 8 && context.plan.attributes().beta == 0;
}

void stream_block(const RunContext& context, const BoxPlan& box, const Block& block, const Part& rows,
                  const Part& cols) {
  if (stream_direct(context, box, block)) return;
  if (box.ahead != 0) prefetch(box, block);
  const int64_t row_bytes = cols.total * box.piece[kDst];
  const bool one_run = cols.count() == cols.total && box.rows[0].stride[kDst] == row_bytes &&
                       (rows.count() + ceil_div(kLine - 1, row_bytes)) * row_bytes + kLine <= kImage;
  if (one_run)
    stream_run(context, box, block, rows);
  else
    stream_rows(context, box, block, cols);
}

}  // namespace relayout::cpu
