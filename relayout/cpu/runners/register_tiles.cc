// Runs tiles of registers.
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {

void make(const RunContext& context, const Loops& loops, const RegisterTiles& method, const Block& block) {
  context.kernels.tiles[log2_size(loops.piece[kSrc])](
      block.src, block.src_rows, block.src_cols, block.dst, block.dst_rows, block.dst_cols,
      {block.rows, block.cols, std::min(method.row_run, block.rows), std::min(method.col_run, block.cols),
       method.src_pattern.data(), method.dst_pattern.data(), loops.ahead, method.dst_ahead});
}

}  // namespace relayout::cpu
