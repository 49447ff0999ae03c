// What methods share when they choose their blocks.
#include "relayout/reorder/loops.h"

#include <algorithm>
#include <cstdlib>

namespace relayout {
namespace {

/// The rows (or columns) of a block of sub-byte elements that has `other` columns (or rows). All blocks have about as
/// many, and a multiple of the elements that are moved at a time.
int64_t sub_byte_side(int64_t count, int64_t other) {
  constexpr int64_t kTogether = 8;
  const int64_t most = std::clamp(kMaxBuffered / other, kSubByteSide, kMaxBlockSide) / kTogether * kTogether;
  return ceil_div(ceil_div(count, ceil_div(count, most)), kTogether) * kTogether;
}

}  // namespace

int64_t add_nearest(Axes& to, int64_t count, Axes& axes, Operand side, int64_t enough) {
  for (auto next = nearest(axes, side); next != axes.end(); next = nearest(axes, side)) {
    if (!to.empty() && count >= enough) break;
    count *= next->extent;
    to.push_back(take(axes, next));
  }
  if (to.empty()) to.push_back({});
  return count;
}

void add_far_steps(Loops& region, Axes& axes) {
  if (!region.dense_cols && std::abs(region.cols[0].stride[kDst]) >= kCacheLine)
    region.col_count = add_nearest(region.cols, region.col_count, axes, kDst);
  if (!region.dense_rows) region.row_count = add_nearest(region.rows, region.row_count, axes, kSrc);
}

void choose_square_blocks(Loops& loops) {
  const int64_t piece = loops.larger_piece();
  const auto side = [&](int64_t other) { return std::clamp<int64_t>(kHalfL1 / (piece * other), 16, kMaxBlockSide); };
  loops.block_rows = std::max<int64_t>(16, kRowBytes / piece);
  loops.block_cols = side(std::min(loops.row_count, loops.block_rows));
  if (loops.col_count < loops.block_cols) loops.block_rows = side(loops.col_count);
}

bool choose_blocks_along_rows(Loops& loops) {
  const auto near = [&](const Axis& col) {
    return col.table < 0 && std::abs(col.stride[kSrc]) < kCacheLine &&
           (loops.dense_cols || std::abs(col.stride[kDst]) < kCacheLine);
  };
  const Axis& last = loops.cols.back();
  if (loops.dense_rows || !std::ranges::all_of(loops.cols, near) ||
      (loops.row_count > 1 && std::abs(last.stride[kSrc]) > std::abs(loops.rows[0].stride[kSrc])))
    return false;
  // Whole steps of the last axis of the columns.
  const int64_t inner = loops.col_count / last.extent;
  loops.block_cols = std::min({loops.col_count, std::max<int64_t>(1, kMaxBlockSide / inner) * inner, kMaxBlockSide});
  loops.block_rows = std::clamp<int64_t>(kHalfL1 / (loops.larger_piece() * loops.block_cols), 1, kMaxBlockSide);
  return true;
}

void choose_sub_byte_blocks(Loops& loops) {
  loops.block_rows = sub_byte_side(loops.row_count, std::min(loops.col_count, kSubByteSide));
  loops.block_cols = sub_byte_side(loops.col_count, loops.block_rows);
}

void finish(Loops& loops, Box rest) {
  loops.offset = rest.offset;
  loops.loops = std::move(rest.axes);
  order_loops(loops.loops);
  loops.block_rows = std::clamp<int64_t>(loops.block_rows, 1, loops.row_count);
  loops.block_cols = std::clamp<int64_t>(loops.block_cols, 1, loops.col_count);
  loops.strips = ceil_div(loops.row_count, loops.block_rows);
  loops.panels = ceil_div(loops.col_count, loops.block_cols);
  loops.blocks = loops.strips * loops.panels * count_elements(loops.loops);
}

void apply_blocks(const Tuning& tuning, Loops& loops) {
  if (tuning.panel > 0) loops.block_cols = std::min(tuning.panel, kMaxBlockSide);
  if (tuning.strip > 0) loops.block_rows = std::min(tuning.strip, kMaxBlockSide);
}

void apply_ahead(const Tuning& tuning, Loops& loops) {
  if (tuning.ahead > 0 && loops.ahead > 0) loops.ahead = tuning.ahead;
}

void write_past_cache(Loops& loops, bool scattered) {
  loops.past_cache = (loops.dense_cols || scattered) && !loops.sub_byte() && loops.piece[kDst] <= kMostStreamedPiece;
}

void note_strides(Loops& loops) {
  loops.strided =
      loops.rows.size() == 1 && loops.cols.size() == 1 && loops.rows[0].table < 0 && loops.cols[0].table < 0;
}

}  // namespace relayout
