// Fills padding.
#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/sub_byte.h"

namespace relayout::cpu {

void fill(const RunContext& context, const Loops& loops, const Fill& method, const Block& block, int64_t first_col) {
  uint64_t bits = context.plan.fill_bits();
  const int64_t bytes = loops.piece[kDst];
  if (bytes == 0) return fill_sub_byte(context, static_cast<std::byte>(bits), block);
  for (int64_t b = bytes; b < 8; b *= 2) bits = (bits & (~uint64_t{0} >> (64 - 8 * b))) | bits << (8 * b);
  context.kernels.fill(block.dst, block.dst_rows, block.dst_cols, block.rows, block.cols,
                       method.last_col - first_col * loops.along_dst.axes[0].stride[kDst], method.mask, bits,
                       method.past_cache);
}

}  // namespace relayout::cpu
