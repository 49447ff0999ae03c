// What methods share when they choose their blocks.
#include "relayout/reorder/boxes/loops.h"

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
  if (!region.along_dst.dense && std::abs(region.along_dst.axes[0].stride[kDst]) >= kCacheLine)
    region.along_dst.count = add_nearest(region.along_dst.axes, region.along_dst.count, axes, kDst);
  if (!region.along_src.dense)
    region.along_src.count = add_nearest(region.along_src.axes, region.along_src.count, axes, kSrc);
}

void choose_square_blocks(Loops& loops) {
  const int64_t piece = loops.larger_piece();
  const auto side = [&](int64_t other) { return std::clamp<int64_t>(kHalfL1 / (piece * other), 16, kMaxBlockSide); };
  loops.along_src.block = std::max<int64_t>(16, kRowBytes / piece);
  loops.along_dst.block = side(std::min(loops.along_src.count, loops.along_src.block));
  if (loops.along_dst.count < loops.along_dst.block) loops.along_src.block = side(loops.along_dst.count);
}

void choose_sub_byte_blocks(Loops& loops) {
  loops.along_src.block = sub_byte_side(loops.along_src.count, std::min(loops.along_dst.count, kSubByteSide));
  loops.along_dst.block = sub_byte_side(loops.along_dst.count, loops.along_src.block);
}

void finish(Loops& loops, Box rest) {
  loops.offset = rest.offset;
  loops.loops = std::move(rest.axes);
  order_loops(loops.loops);
  loops.along_src.block = std::clamp<int64_t>(loops.along_src.block, 1, loops.along_src.count);
  loops.along_dst.block = std::clamp<int64_t>(loops.along_dst.block, 1, loops.along_dst.count);
  loops.along_src.blocks = ceil_div(loops.along_src.count, loops.along_src.block);
  loops.along_dst.blocks = ceil_div(loops.along_dst.count, loops.along_dst.block);
  loops.blocks = loops.along_src.blocks * loops.along_dst.blocks * count_elements(loops.loops);
}

void apply_blocks(const Tuning& tuning, Loops& loops) {
  if (tuning.panel > 0) loops.along_dst.block = std::min(tuning.panel, kMaxBlockSide);
  if (tuning.strip > 0) loops.along_src.block = std::min(tuning.strip, kMaxBlockSide);
}

void apply_ahead(const Tuning& tuning, Loops& loops) {
  if (tuning.ahead > 0 && loops.ahead > 0) loops.ahead = tuning.ahead;
}

void write_past_cache(Loops& loops, bool scattered) {
  loops.past_cache =
      (loops.along_dst.dense || scattered) && !loops.sub_byte() && loops.piece[kDst] <= kMostStreamedPiece;
}

void note_strides(Loops& loops) {
  loops.strided = loops.along_src.axes.size() == 1 && loops.along_dst.axes.size() == 1 &&
                  loops.along_src.axes[0].table < 0 && loops.along_dst.axes[0].table < 0;
}

}  // namespace relayout
