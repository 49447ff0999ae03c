// Runs conversions of runs and of single elements.
#include "relayout/cpu/runners/converter.h"
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {

namespace {

/// Runs in which the attribute values repeat.
void repeat(const Converter& convert, const Block& block, const ConvertedRuns& method, bool stream) {
  const auto& [inner, middle, outer] = method.axes;
  int64_t starts[ConvertedRuns::kMostPeriod], pieces = 0;
  for (int64_t o = 0; o < outer.extent; ++o)
    for (int64_t m = 0; m < middle.extent; ++m) starts[pieces++] = o * outer.attribute + m * middle.attribute;
  const AttributePattern pattern{inner.extent, inner.attribute, pieces, starts};
  if (block.cols < ConvertedRuns::kManyPeriods * pattern.period() && convert.joins(pattern.n, false)) {
    return convert.rows_of_short_runs(stream, block, block.src, block.src_rows, block.dst, block.dst_rows, block.cols,
                                      pattern);
  }
  for (int64_t r = 0; r < block.rows; ++r) {
    std::byte* const to = block.dst + block.dst_rows[r];
    convert.repeat(stream, block.src + block.src_rows[r], to, to, block.offset[kAttribute] + r * convert.row_attribute,
                   pattern, block.cols);
  }
}

}  // namespace

void make(const RunContext& context, const Loops& loops, const ConvertedRuns& method, const Block& whole) {
  const Converter convert(context, loops);
  if (method.period() > 1) return repeat(convert, whole, method, false);
  const Block block = fetched_ahead(loops, whole);
  if (!convert.straight_rows) return convert.by_buffer(loops, block, false);
  convert.rows(block.stream, block.src, block.src_rows, block.dst, block.dst_rows, block.rows, block.cols,
               block.offset[kAttribute], block.ahead);
}

bool stream(const RunContext& context, const Loops& loops, const ConvertedRuns& method, const Block& block) {
  const Converter convert(context, loops);
  if (method.period() > 1) {
    repeat(convert, block, method, true);
    return true;
  }
  if (!convert.straight_rows) return false;
  convert.rows(true, block.src, block.src_rows, block.dst, block.dst_rows, block.rows, block.cols,
               block.offset[kAttribute], kRunsAhead);
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
  if (!convert.even) return false;
  const Converter::Given given = convert.attributes(block);
  // The pieces of some rows together, as a call for a few pieces takes longer than these.
  constexpr int64_t kMost = 64;
  int64_t src_pieces[kMost], dst_pieces[kMost], count = 0;
  const auto convert_pieces = [&] {
    convert.runs(true, block.src, src_pieces, block.dst, dst_pieces, count, loops.piece[kSrc] / convert.src_bytes,
                 given.get(), block.ahead != 0 ? block.ahead : loops.ahead);
    count = 0;
  };
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t c = 0; c < block.cols; ++c) {
      src_pieces[count] = block.src_rows[r] + block.src_cols[c];
      dst_pieces[count] = block.dst_rows[r] + block.dst_cols[c];
      if (++count == kMost) convert_pieces();
    }
  }
  convert_pieces();
  return true;
}

}  // namespace relayout::cpu
