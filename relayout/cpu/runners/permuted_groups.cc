// Runs copies whose groups are permuted.
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {

void make(const RunContext& context, const Loops& loops, const PermutedGroups& method, const Block& block) {
  context.kernels.shuffle(block.src, block.src_rows, block.src_cols, block.dst, block.dst_rows, block.dst_cols,
                          block.rows, block.cols, loops.piece[kDst], method.groups.pattern.data());
}

}  // namespace relayout::cpu
