// Tiles: boxes that write to the same lines of the destination are done together, a small tile of it at a time, so that
// each line is written once and whole (internal to reorder).
//
//     nchw -> nChw16c, c = 17: channel 16 and its 15 of padding make the second block; a tile is some hundred of such
//     blocks, put together in the first-level cache and written as one run
//
// Why it is there: without it, conversions whose blocks do not divide each other take 1.04 times as long in the mean,
// and up to 9 times (docs/lab/line-programs.md).
#pragma once

#include "relayout/core/layout.h"
#include "relayout/reorder/boxes/box_planner.h"
#include "relayout/reorder/refine/refine.h"

namespace relayout {

struct TiledBoxes {
  std::vector<BoxPlan> boxes, fills;
  /// The dims, by bit, whose padding these boxes fill.
  uint32_t filled = 0;
};

/// All boxes of a reorder of types of whole bytes, some of them as tiles. Nothing where none would be a tile, or where
/// there would be too many boxes. With `by_lines`, tiles are done by line programs where these can do them in less than
/// `most_ns` nanoseconds in the first level; nothing where they can do none.
std::optional<TiledBoxes> plan_tiles(const Layout& src, const Layout& dst, const AttributeSteps& attributes,
                                     const BoxPlanner& planner, bool by_lines, double most_ns, Tables& tables);

}  // namespace relayout
