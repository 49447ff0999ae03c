// Which boxes of a reorder beyond the caches are written past them (internal to reorder).
#pragma once

#include "relayout/reorder/tiles.h"

namespace relayout {

/// Whether blocks of both sides divide each other and the dims, so that no boxes share lines. Nibbles always do.
bool divides_evenly(const TensorDesc& src_desc, const TensorDesc& dst_desc);
/// Whether a plan whose largest box this is takes longer past the cache than through it.
bool loses_past_cache(const BoxPlan& most);
/// Whether tiles take longer than boxes of their own would through the cache: for what they read again, or as they have
/// many small blocks. Where the last level (l3_share()) has both sides, starting these is weighed against the
/// destination's lines, padding too, that would be read before they are written; where it has not, most elements must
/// be in such.
bool loses_past_cache(const TiledBoxes& tiled, const TensorDesc& src, const TensorDesc& dst, const Machine& machine);
/// Whether lines of the destination are made of small pieces by byte permutations.
bool by_permuted_lines(const BoxPlan& box);
/// Whether what is apart in a destination by a line or more is so by whole lines, so that runs share none.
bool apart_by_lines(const TensorDesc& dst);
/// Whether a fill writes whole lines of the destination, each once, if this starts at one.
bool fills_lines(const BoxPlan& fill);
/// Whether the destination of whole blocks of a box by tiles is whole lines, if it starts at one, so that they can go
/// by way of an image.
bool writes_lines(const BoxPlan& box);
/// Whether a block of such a box writes more than eight runs that lie whole pages apart, as many as the first level has
/// ways at least: all are in the sets that one of them needs, and are displaced before their lines are complete.
bool in_few_sets(const BoxPlan& box);

}  // namespace relayout
