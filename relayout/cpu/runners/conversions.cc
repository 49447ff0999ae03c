// Runs conversions of runs and of single elements.
#include "relayout/cpu/runners/converter.h"
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {

void make(const RunContext& context, const Loops& loops, const ConvertedRuns&, const Block& whole) {
  const Converter convert(context, loops);
  const Block block = fetched_ahead(loops, whole);
  if (!convert.straight) return convert.by_buffer(loops, block, false);
  convert.runs(block.stream, block.src, block.src_rows, block.dst, block.dst_rows, block.rows, block.cols,
               convert.attributes(block), block.ahead);
}

bool stream(const RunContext& context, const Loops& loops, const ConvertedRuns&, const Block& block) {
  const Converter convert(context, loops);
  if (!convert.straight) return false;
  convert.runs(true, block.src, block.src_rows, block.dst, block.dst_rows, block.rows, block.cols,
               convert.attributes(block), kRunsAhead);
  return true;
}

void make(const RunContext& context, const Loops& loops, const ConvertedElements&, const Block& block) {
  prefetch(loops, block);
  Converter(context, loops).by_buffer(loops, block, false);
}

/// Pieces of whole lines are converted straight to where they belong.
bool stream(const RunContext& context, const Loops& loops, const ConvertedElements& method, const Block& block) {
  const int64_t bytes = loops.piece[kDst];
  if (!method.runs || bytes % kCacheLine != 0 || !at_lines(loops, block)) return false;
  const Converter convert(context, loops);
  if (!convert.straight) return false;
  for (int64_t r = 0; r < block.rows; ++r) {
    convert.runs(true, block.src + block.src_rows[r], block.src_cols, block.dst + block.dst_rows[r], block.dst_cols,
                 block.cols, loops.piece[kSrc] / convert.src_bytes, convert.attributes(block),
                 block.ahead != 0 ? block.ahead : loops.ahead);
  }
  return true;
}

}  // namespace relayout::cpu
