// Runs long copies.
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {

void make(const RunContext& context, const Loops& loops, const LongCopy&, const Block& block) {
  context.kernels.copy(block.src, block.src_rows, kFirst, block.dst, block.dst_rows, kFirst, block.rows, 1,
                       block.cols * loops.piece[kDst], 0);
}

bool stream(const RunContext& context, const Loops& loops, const LongCopy&, const Block& block) {
  context.kernels.copy_stream(block.src, block.src_rows, kFirst, block.dst, block.dst_rows, kFirst, block.rows, 1,
                              block.cols * loops.piece[kDst], kRunsAhead);
  return true;
}

}  // namespace relayout::cpu
