// Runs what repeats a piece.
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {

void repeat_strided(const Kernels& kernels, const BoxPlan& box, const std::byte* src, std::byte* dst, int64_t rows,
                    int64_t bytes) {
  constexpr int64_t kTogether = 64;
  int64_t src_rows[kTogether], dst_rows[kTogether];
  const int64_t from = box.along_src.axes[0].stride[kSrc], to = box.along_src.axes[0].stride[kDst];
  for (int64_t r = 0; r < std::min(rows, kTogether); ++r) {
    src_rows[r] = r * from;
    dst_rows[r] = r * to;
  }
  for (int64_t r = 0; r < rows; r += kTogether)
    kernels.repeat(src + r * from, src_rows, box.piece[kDst], dst + r * to, dst_rows, std::min(kTogether, rows - r),
                   bytes);
}

void make(const RunContext& context, const Loops& loops, const RepeatedRuns&, const Block& block) {
  const int64_t piece = loops.piece[kDst];
  context.kernels.repeat(block.src, block.src_rows, piece, block.dst, block.dst_rows, block.rows, block.cols * piece);
}

/// Short runs that do not fill lines by themselves go by an image.
bool stream(const RunContext& context, const Loops& loops, const RepeatedRuns&, const Block& block) {
  const int64_t piece = loops.piece[kDst], bytes = block.cols * piece;
  if (!context.kernels.repeat_stream) return false;
  if (loops.bytes_along_dst() < kLongRun && (bytes % kCacheLine != 0 || !at_lines(loops, block))) return false;
  context.kernels.repeat_stream(block.src, block.src_rows, piece, block.dst, block.dst_rows, block.rows, bytes);
  return true;
}

}  // namespace relayout::cpu
