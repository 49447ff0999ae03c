// Elements moved one by one: their order, and their blocks.
#include "relayout/reorder/boxes/methods/gather.h"

#include <cstdlib>

#include "relayout/reorder/boxes/methods/streamed_blocks.h"

namespace relayout {

Planned<Gather> plan_gather(const Box& box, Loops region, Box rest, bool streams, const BlockRules& rules) {
  if (!region.along_dst.dense && !streams) {
    // Columns go along the destination, so that its lines are completed soon. The source's lines stay in the cache
    // until they are used up in either order.
    region.along_src.dense = false;
    rest = box;
    region.along_dst.axes = {take(rest.axes, nearest(rest.axes, kDst))};
    region.along_src.axes = {take(rest.axes, nearest(rest.axes, kSrc))};
    region.along_dst.count = region.along_dst.axes[0].extent;
    region.along_src.count = region.along_src.axes[0].extent;
  }
  if (!streams) add_far_steps(region, rest.axes);
  choose_gather_blocks(region, streams, false, rules);
  if (!streams) note_strides(region);
  finish(region, std::move(rest));
  return {std::move(region), {}};
}

void choose_gather_blocks(Loops& loops, bool streams, bool converts, const BlockRules& rules) {
  if (streams && loops.along_dst.dense)
    choose_streamed_blocks(loops, {StreamedBox::Kind::gathers, converts}, rules.machine);
  else
    choose_square_blocks(loops);
  if (!streams) return;
  apply_blocks(rules.tuning, loops);
  apply_ahead(rules.tuning, loops);
  write_past_cache(loops);
}

bool reads_lines(const Loops& loops) {
  const int64_t apart = std::max(kCacheLine / 4, loops.piece[kSrc] + 1);
  return !loops.along_src.dense &&
         std::ranges::any_of(loops.along_dst.axes, [&](const Axis& a) { return std::abs(a.stride[kSrc]) >= apart; });
}

}  // namespace relayout
