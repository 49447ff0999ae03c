// Rows along the source, columns along the destination.
#include "relayout/reorder/region.h"

#include <algorithm>
#include <utility>

#include "relayout/reorder/axes.h"
#include "relayout/reorder/blocks.h"
#include "relayout/reorder/register_tiles.h"

namespace relayout {
namespace {

/// With fewer rows than this, making a list of where columns start takes longer than it saves in one block.
constexpr int64_t kFewRows = 32;
/// A row of the source of at least kMostOfLine bytes uses most of a line that is read; a row of the destination of less
/// than kShortRow bytes is short: a good part of its lines are shared with other rows.
constexpr int64_t kMostOfLine = 48, kShortRow = 8 * kCacheLine;
/// kFewColumns columns are enough to be worth a list of where they start.
constexpr int64_t kFewColumns = 32;

/// Splits an axis into an outer and an inner one. The inner one has the most steps that divide the extent, at most
/// `most`. Returns the inner axis, or end() if it would have one step. Other iterators become invalid, also an earlier
/// end().
Axes::iterator inner_steps(Axes& axes, Axes::iterator axis, int64_t most) {
  int64_t steps = std::clamp<int64_t>(most, 1, axis->extent);
  while (axis->extent % steps != 0) --steps;
  if (steps == 1) return axes.end();
  Axis outer = *axis;
  outer.extent /= steps;
  for (int64_t& stride : outer.stride) stride *= steps;
  axis->extent = steps;
  const auto at = axis - axes.begin();
  axes.push_back(outer);
  return axes.begin() + at;
}

/// Where a few columns are interleaved into rows, or the other way round, keeps as the long side only its first axis
/// and gives back the others: the kernels that (de)interleave take one stride and no list.
void keep_interleaved(BoxPlan& plan, Axes& axes) {
  constexpr int64_t kLeastRun = 2 * kCacheLine;
  const int64_t piece = plan.piece[kSrc];
  const auto keep_first = [&](Axes& many, int64_t& count, int64_t few, Operand side) {
    if (many.size() < 2 || many[0].stride[side] != few * piece || many[0].extent * piece < kLeastRun ||
        !interleaved(few, many[0].extent, piece))
      return;
    for (std::size_t i = 1; i < many.size(); ++i) axes.push_back(many[i]);
    many.resize(1);
    count = many[0].extent;
  };
  if (piece != plan.piece[kDst] || plan.shuffle > 1 || !plan.dense_rows || !plan.dense_cols) return;
  if (plan.rows.size() == 1) keep_first(plan.cols, plan.col_count, plan.row_count, kSrc);
  if (plan.cols.size() == 1) keep_first(plan.rows, plan.row_count, plan.col_count, kDst);
}

}  // namespace

void choose_region(BoxPlan& plan, Axes& axes) {
  DenseAxes rows{kSrc, plan.piece[kSrc]}, cols{kDst, plan.piece[kDst]};
  if (const auto first = rows.next(axes); first != axes.end()) rows.add(axes, first);
  while (true) {
    auto col = cols.next(axes);
    // With few rows, a list of more than kMaxBlockSide columns would be made anew for each block. So the axis is cut,
    // and the list serves several blocks. `adjacent`: each column begins in the source where the one before ends.
    const bool adjacent = cols.fused.size() == 1 && cols.fused[0].stride[kSrc] == rows.bytes();
    if (col != axes.end() && !cols.fused.empty() && rows.count < kFewRows && cols.count * col->extent > kMaxBlockSide &&
        cols.count >= kFewRows && (adjacent || rows.count * cols.bytes() >= kSmallTiles / 2))
      col = inner_steps(axes, col, kMaxBlockSide / cols.count);
    const auto row = rows.next(axes);
    // An axis may fit both rows and columns. As columns, it makes the destination's rows longer, so it becomes columns
    // where these rows are short and share lines with other blocks. But the rows of the source must be most of a line
    // already.
    const bool contested = row == col && rows.bytes() >= kMostOfLine && cols.bytes() < kShortRow;
    const bool want_row = row != axes.end() && !rows.fused.empty() && rows.bytes() < kRowBytes && !contested;
    // All axes of a permuted group must be rows.
    if (row != axes.end() && rows.bytes() < plan.shuffle)
      rows.add(axes, row);
    else if (want_row && (col == axes.end() || (!cols.fused.empty() && rows.bytes() < cols.bytes())))
      rows.add(axes, row);
    else if (col != axes.end())
      cols.add(axes, col);
    else
      break;
  }
  plan.dense_rows = !rows.fused.empty();
  plan.dense_cols = !cols.fused.empty();
  if (!plan.dense_cols) {
    cols.fused.push_back(take(axes, nearest(axes, kDst)));
    cols.count = cols.fused[0].extent;
  }
  if (!plan.dense_rows) {
    rows.fused.push_back(take(axes, nearest(axes, kSrc)));
    rows.count = rows.fused[0].extent;
  }
  plan.rows = std::move(rows.fused);
  plan.cols = std::move(cols.fused);
  plan.row_count = rows.count;
  plan.col_count = cols.count;
  keep_interleaved(plan, axes);
}

void split_columns(BoxPlan& plan, Axes& axes) {
  if (!plan.dense_cols || plan.dense_rows) return;
  std::size_t kept = 0;
  int64_t count = 1;
  const auto enough = [&] { return kept > 0 && (count >= kFewColumns || plan.cols[kept].extent >= kEnoughSteps); };
  while (kept < plan.cols.size() && !enough()) count *= plan.cols[kept++].extent;
  if (kept == plan.cols.size()) return;
  for (std::size_t i = kept + 1; i < plan.cols.size(); ++i) axes.push_back(plan.cols[i]);
  if (plan.row_count > 1) axes.push_back(plan.rows[0]);
  plan.rows = {plan.cols[kept]};
  plan.row_count = plan.rows[0].extent;
  plan.cols.resize(kept);
  plan.col_count = count;
}

}  // namespace relayout
