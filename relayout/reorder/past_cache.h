// Which boxes of a large reorder are written past the cache (internal to reorder).
//
// A store through the cache reads the line first. A store past the cache does not, but it takes several times as long
// where it has only a part of a line. So what is beyond the caches is written past them where whole lines can be made.
#pragma once

#include "relayout/reorder/tiles.h"

namespace relayout {

/// Whether the blocks of both sides divide each other and the dims, so that there is one box and none share lines.
/// True of elements of 4 bits, for which nothing is tiled.
bool divides_evenly(const TensorDesc& src_desc, const TensorDesc& dst_desc);
/// Whether a plan whose largest box this is takes longer past the cache than through it.
bool loses_past_cache(const BoxPlan& most);
/// Whether tiles past the cache take longer than boxes through it would. They do where they read lines of the source
/// again, and where they have many small blocks. Where both sides fit into the last level (Machine::l3_share()), the
/// time to start these blocks is weighed against the time to read the destination's lines, padding included, before
/// they are written through the cache. Where they do not fit, tiles lose only if most elements are in small blocks.
bool loses_past_cache(const TiledBoxes& tiled, const TensorDesc& src, const TensorDesc& dst, const Machine& machine);
/// Whether the lines of the destination are made of small pieces by byte permutations (BoxPlan::row_sources).
bool by_permuted_lines(const BoxPlan& box);
/// Whether all strides of a destination that are a line or longer are whole lines, so that no two runs share a line.
bool apart_by_lines(const TensorDesc& dst);
/// Whether a fill writes whole lines of the destination, each once, provided that the destination starts at a line.
bool fills_lines(const BoxPlan& fill);
/// Whether each block of a box by tiles of registers writes whole lines, provided that the destination starts at a
/// line: then the block can be written by way of an image.
bool writes_lines(const BoxPlan& box);
/// Whether a block of such a box writes more runs that lie whole pages apart than the first-level cache has ways (eight
/// at least). They all compete for the same sets, so that lines leave the cache before they are complete.
bool in_few_sets(const BoxPlan& box);

}  // namespace relayout
