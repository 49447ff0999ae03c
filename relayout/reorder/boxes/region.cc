// Rows along the source, columns along the destination.
#include "relayout/reorder/boxes/region.h"

namespace relayout {
namespace {

/// With fewer rows than this (pieces along the source), making a list of where columns start takes longer than it saves
/// in one block. So many columns are enough to be worth a list of where they start.
constexpr int64_t kFewSteps = 32;
/// At least kMostOfLine bytes along the source use most of a line that is read; less than kLongRun bytes along the
/// destination are short: a good part of their lines are shared with others.
constexpr int64_t kMostOfLine = 48;

/// Splits an axis into an outer and an inner one. The inner one has the most steps that divide the extent, at most
/// `most`. Returns the inner axis, or end() if it would have one step. Other iterators become invalid, also an earlier
/// end().
Axes::iterator inner_steps(Axes& axes, Axes::iterator axis, int64_t most) {
  int64_t steps = std::clamp<int64_t>(most, 1, axis->extent);
  while (axis->extent % steps != 0) --steps;
  if (steps == 1) return axes.end();
  const auto at = axis - axes.begin();
  axes.push_back(cut(*axis, steps));
  return axes.begin() + at;
}

/// Where a few columns are interleaved into rows, or the other way round, keeps as the long side only its first axis
/// and gives back the others: the kernels that (de)interleave take one stride and no list.
void keep_interleaved(Loops& loops, Axes& axes) {
  const int64_t piece = loops.piece[kSrc];
  const auto keep_first = [&](Axes& many, int64_t& count, int64_t few, Operand side) {
    if (many.size() < 2 || many[0].stride[side] != few * piece || many[0].extent * piece < 2 * kCacheLine ||
        !interleaved(few, many[0].extent, piece))
      return;
    for (std::size_t i = 1; i < many.size(); ++i) axes.push_back(many[i]);
    many.resize(1);
    count = many[0].extent;
  };
  if (piece != loops.piece[kDst] || !loops.along_src.dense || !loops.along_dst.dense) return;
  if (loops.along_src.axes.size() == 1)
    keep_first(loops.along_dst.axes, loops.along_dst.count, loops.along_src.count, kSrc);
  if (loops.along_dst.axes.size() == 1)
    keep_first(loops.along_src.axes, loops.along_src.count, loops.along_dst.count, kDst);
}

}  // namespace

void choose_region(Loops& loops, Axes& axes) {
  DenseAxes rows{kSrc, loops.piece[kSrc]}, cols{kDst, loops.piece[kDst]};
  if (const auto first = rows.next(axes); first != axes.end()) rows.add(axes, first);
  while (true) {
    auto col = cols.next(axes);
    // With few rows, a list of more than kMaxBlockSide columns would be made anew for each block. So the axis is cut,
    // and the list serves several blocks. `adjacent`: each column begins in the source where the one before ends.
    const bool adjacent = cols.fused.size() == 1 && cols.fused[0].stride[kSrc] == rows.bytes();
    if (col != axes.end() && !cols.fused.empty() && rows.count < kFewSteps &&
        cols.count * col->extent > kMaxBlockSide && cols.count >= kFewSteps &&
        (adjacent || rows.count * cols.bytes() >= kEnoughBlock))
      col = inner_steps(axes, col, kMaxBlockSide / cols.count);
    const auto row = rows.next(axes);
    // An axis may fit both rows and columns. As columns, it makes the destination's rows longer, so it becomes columns
    // where these rows are short and share lines with other blocks. But the rows of the source must be most of a line
    // already.
    const bool contested = row == col && rows.bytes() >= kMostOfLine && cols.bytes() < kLongRun;
    const bool want_row = row != axes.end() && !rows.fused.empty() && rows.bytes() < kRowBytes && !contested;
    if (want_row && (col == axes.end() || (!cols.fused.empty() && rows.bytes() < cols.bytes())))
      rows.add(axes, row);
    else if (col != axes.end())
      cols.add(axes, col);
    else
      break;
  }
  loops.along_src.dense = !rows.fused.empty();
  loops.along_dst.dense = !cols.fused.empty();
  if (!loops.along_dst.dense) {
    cols.fused.push_back(take(axes, nearest(axes, kDst)));
    cols.count = cols.fused[0].extent;
  }
  if (!loops.along_src.dense) {
    rows.fused.push_back(take(axes, nearest(axes, kSrc)));
    rows.count = rows.fused[0].extent;
  }
  loops.along_src.axes = std::move(rows.fused);
  loops.along_dst.axes = std::move(cols.fused);
  loops.along_src.count = rows.count;
  loops.along_dst.count = cols.count;
  keep_interleaved(loops, axes);
}

bool choose_listed_region(Loops& loops, Axes& axes) {
  const std::array<int64_t, 2> piece = loops.piece;
  const auto listed = [&](auto suits) {
    auto best = axes.end();
    for (auto a = axes.begin(); a != axes.end(); ++a) {
      if (a->listed && suits(*a) && (best == axes.end() || a->extent > best->extent)) best = a;
    }
    return best;
  };
  auto table = listed([&](const Axis& a) { return a.stride[kDst] == piece[kDst] || a.stride[kSrc] == piece[kSrc]; });
  if (table == axes.end()) {
    int64_t region = loops.larger_piece();
    for (const Axis& axis : axes) region *= axis.table < 0 ? axis.extent : 1;
    if (region < kEnoughBlock) table = listed([](const Axis&) { return true; });
  }
  if (table == axes.end()) return false;
  loops.along_src.axes = {take(axes, table)};
  loops.along_src.count = loops.along_src.axes[0].extent;
  loops.along_dst.axes = {{}};
  loops.along_dst.count = 1;
  loops.along_src.dense = false;
  // The one column is dense if rows of it follow each other, as the rows then make one run of the destination.
  loops.along_dst.dense = loops.along_src.axes[0].stride[kDst] == piece[kDst];
  if (loops.larger_piece() >= kRegister) return true;
  // Some rows of single elements are read side by side, so that one list of where these are serves all.
  const auto next = nearest(axes, kDst);
  loops.along_dst.axes = {take(axes, next != axes.end() ? next : listed([](const Axis&) { return true; }))};
  loops.along_dst.count = loops.along_dst.axes[0].extent;
  loops.along_dst.dense = loops.along_dst.dense && loops.along_dst.count == 1;
  return true;
}

void choose_listed_blocks(Loops& loops) {
  /// Rows of the source that are read side by side where single elements of them are gathered.
  constexpr int64_t kSideBySide = 16;
  const int64_t piece = loops.larger_piece();
  loops.along_src.block = piece < kRegister ? kMaxBlockSide : std::clamp<int64_t>(kOpenLines / piece, 1, kMaxBlockSide);
  loops.along_dst.block = kSideBySide;
}

void split_along_dst(Loops& loops, Axes& axes) {
  if (!loops.along_dst.dense || loops.along_src.dense) return;
  std::size_t kept = 0;
  int64_t count = 1;
  const auto enough = [&] {
    return kept > 0 && (count >= kFewSteps || loops.along_dst.axes[kept].extent >= kEnoughSteps);
  };
  while (kept < loops.along_dst.axes.size() && !enough()) count *= loops.along_dst.axes[kept++].extent;
  if (kept == loops.along_dst.axes.size()) return;
  for (std::size_t i = kept + 1; i < loops.along_dst.axes.size(); ++i) axes.push_back(loops.along_dst.axes[i]);
  if (loops.along_src.count > 1) axes.push_back(loops.along_src.axes[0]);
  loops.along_src.axes = {loops.along_dst.axes[kept]};
  loops.along_src.count = loops.along_src.axes[0].extent;
  loops.along_dst.axes.resize(kept);
  loops.along_dst.count = count;
}

}  // namespace relayout
