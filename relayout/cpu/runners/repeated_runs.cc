// Runs what repeats a piece.
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {

void make(const RunContext& context, const Loops& loops, const RepeatedRuns&, const Block& block) {
  const int64_t piece = loops.piece[kDst];
  context.kernels.repeat(block.src, block.src_rows, piece, block.dst, block.dst_rows, block.rows, block.cols * piece);
}

/// Short runs that do not fill lines by themselves go by an image.
bool stream(const RunContext& context, const Loops& loops, const RepeatedRuns&, const Block& block) {
  const int64_t piece = loops.piece[kDst], bytes = block.cols * piece;
  if (!context.kernels.repeat_stream) return false;
  if (loops.row_bytes() < kLongRun && (bytes % kCacheLine != 0 || !at_lines(loops, block))) return false;
  context.kernels.repeat_stream(block.src, block.src_rows, piece, block.dst, block.dst_rows, block.rows, bytes);
  return true;
}

}  // namespace relayout::cpu
