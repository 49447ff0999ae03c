// Tiles: boxes that write parts of the same lines are done together, a small tile of the destination at a time
// (internal to reorder).
//
//     nchw -> nChw16c, c = 17: channel 16 and its 15 of padding make the second block; a tile is some hundred of such
//     blocks, put together in the first-level cache and written as one run
#pragma once

#include <optional>
#include <vector>

#include "relayout/reorder/blocks.h"

namespace relayout {

/// How the boxes of a reorder are planned.
struct BoxPlanner {
  DType src, dst;
  bool converts, streams, sums;
  /// Padding's value as bits; not filled where there is none.
  std::optional<uint64_t> fill;
  const BlockRules& rules;

  /// Of boxes in units; those of the last two are not simplified yet.
  BoxPlan move_simple(Box box, bool streamed) const;
  BoxPlan move(Box box, bool streamed) const;
  BoxPlan pad(Box box) const;
};

struct TiledBoxes {
  std::vector<BoxPlan> boxes, fills;
  /// By dim: whether its padding is filled by these.
  uint32_t filled = 0;
  /// Whether tiles one after the other read the same lines of the source, and so many that they come from far again.
  bool reads_again = false;
  /// Elements of tiles that do so where these lines are in few sets of the first-level cache.
  int64_t in_few_sets = 0;
  /// Elements of parts that are moved one by one, in regions of less than a few lines, or to runs of less than a line.
  int64_t in_small_pieces = 0;
  /// What could be written through the cache, in bytes, while the parts' blocks start.
  int64_t started = 0;
};

/// All boxes of a reorder of types of whole bytes, some of them tiled; null where none would be, or too many were made.
std::optional<TiledBoxes> plan_tiles(const Layout& src, const Layout& dst, const Dims& attribute_strides,
                                     const BoxPlanner& planner, Tables& tables);

}  // namespace relayout
