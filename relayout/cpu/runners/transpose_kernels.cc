// Choosing the kernel of a transposition.
#include "relayout/cpu/runners/transpose_kernels.h"

namespace relayout::cpu {
namespace {

/// Whether columns of `bytes` bytes follow each other in the source. The last column is checked too, because it may
/// belong to the next row (see run_joined()).
bool columns_follow(const Loops& loops, const Block& block, int64_t bytes) {
  const int64_t last = block.cols - 1;
  return last > 0 && loops.along_dst.axes.size() == 1 && block.src_cols[1] - block.src_cols[0] == bytes &&
         block.src_cols[last] - block.src_cols[0] == last * bytes;
}

}  // namespace

bool interleaves(const Kernels& kernels, const Loops& loops, const Block& block, int64_t bytes) {
  const auto& interleave = block.stream ? kernels.interleave_stream : kernels.interleave;
  if (!few_kernel(interleave, block.cols, loops.along_src.count, bytes) || loops.along_src.axes.size() != 1)
    return false;
  const int64_t stride = block.rows > 1 ? block.dst_rows[1] - block.dst_rows[0] : loops.along_src.axes[0].stride[kDst];
  return stride == block.cols * bytes;
}

bool deinterleaves(const Kernels& kernels, const Loops& loops, const Block& block, int64_t bytes) {
  const auto& deinterleave = block.stream ? kernels.deinterleave_stream : kernels.deinterleave;
  return few_kernel(deinterleave, block.rows, block.cols, bytes) &&
         (!block.stream || block.cols * bytes % kCacheLine == 0) && columns_follow(loops, block, block.rows * bytes);
}

void transpose_by_kernel(const RunContext& context, const Loops& loops, const Block& block, int64_t bytes) {
  const std::size_t size = log2_size(bytes);
  const Kernels& kernels = context.kernels;
  if (interleaves(kernels, loops, block, bytes)) {
    const auto& interleave = block.stream ? kernels.interleave_stream : kernels.interleave;
    return interleave[static_cast<std::size_t>(block.cols - 2)][size](block.src, block.src_cols,
                                                                      block.dst + block.dst_rows[0], block.rows);
  }
  if (deinterleaves(kernels, loops, block, bytes)) {
    const auto& deinterleave = block.stream ? kernels.deinterleave_stream : kernels.deinterleave;
    return deinterleave[static_cast<std::size_t>(block.rows - 2)][size](block.src + block.src_cols[0], block.dst,
                                                                        block.dst_rows, block.cols);
  }
  const auto& transpose = block.stream ? kernels.transpose_stream : kernels.transpose;
  transpose[size](block.src, block.src_cols, block.dst, block.dst_rows, block.rows, block.cols, block.ahead);
}

}  // namespace relayout::cpu
