// Which runner does a box: the one of the plan's method. This is the place to start reading.
#include "relayout/cpu/runners/listed.h"
#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/past_cache.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

void run_strided_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin,
                        int64_t end) {
  const Axis &row = box.along_src.axes[0], &col = box.along_dst.axes[0];
  each_block(box, tables, begin, end, [&](const Odometer& position, const IndexRange& rows, const IndexRange& cols) {
    const Offsets& at = position.offsets;
    run_strided(context.kernels, box,
                context.src + at[kSrc] + rows.begin * row.stride[kSrc] + cols.begin * col.stride[kSrc],
                context.dst + at[kDst] + rows.begin * row.stride[kDst] + cols.begin * col.stride[kDst], rows.count(),
                cols.count());
  });
}

}  // namespace

static bool ran_without_lists(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin,
                              int64_t end) {
  if (std::visit([&](const auto& method) { return run(context, box, method, tables, begin, end); }, box.method))
    return true;
  const bool strided = box.strided && box.ahead == 0;
  if (strided) run_strided_blocks(context, box, tables, begin, end);
  return strided;
}

void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  if (!ran_without_lists(context, box, tables, begin, end)) run_listed(context, box, tables, begin, end);
}

void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end,
                BlockLists& lists) {
  if (!ran_without_lists(context, box, tables, begin, end)) run_listed(context, box, tables, begin, end, lists);
}

/// Whether a box that was planned past the cache leaves parts of lines, because the destination does not start at a
/// line: it has short runs then that do not either. What is left of such a line is written much later, and a part of a
/// line that is written past the cache waits for memory, over 100 ns. Through the cache, lines are read first but do
/// not wait for each other. (Transpositions keep the last line of a row until the next panel.)
static bool leaves_scraps(const RunContext& context, const BoxPlan& box) {
  if (to_line(context.dst + box.offset[kDst]) == 0) return false;
  if (box.as<Transposition>() || box.as<ConvertedTransposition>()) return run_of_rows(box) < kLongRunOfRows;
  const int64_t run = !box.along_dst.dense       ? box.piece[kDst]
                      : box.along_dst.blocks > 1 ? box.along_dst.block * box.piece[kDst]
                                                 : run_of_rows(box);
  // Waiting for the two parts of lines of a shorter run takes longer than reading its lines before they are written.
  return box.as<CopiedPieces>() && run < 2 * kLongRunOfRows;
}

void run_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& rows,
               const IndexRange& cols) {
  if (const auto* padding = box.as<Fill>()) return fill(context, box, *padding, block, cols.begin);
  if (box.past_cache && context.kernels.copy_stream && !leaves_scraps(context, box))
    return stream_block(context, box, block, rows, cols);
  make_block(context, box, block);
}

void make_block(const RunContext& context, const BoxPlan& box, const Block& block) {
  std::visit(
      [&](const auto& method) {
        if constexpr (requires { make(context, box, method, block); }) make(context, box, method, block);
      },
      box.method);
}

}  // namespace relayout::cpu
