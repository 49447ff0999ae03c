// Which boxes of a large reorder are written past the cache (internal to reorder).
//
// A store through the cache reads the line first. A store past the cache does not, but it takes several times as long
// if it writes only part of a line. So a destination larger than the caches is written past them where whole lines can
// be made.
#pragma once

#include "relayout/reorder/methods/tile_runs.h"

namespace relayout {

/// Whether the blocks of both sides divide each other and the dims. Then there is only one box, and no two boxes share
/// lines. Also true for elements of 4 bits, for which there are no tiles.
bool divides_evenly(const TensorDesc& src_desc, const TensorDesc& dst_desc);
/// Whether a plan takes longer past the cache than through it, judged by its largest box `most`.
bool loses_past_cache(const BoxPlan& most);
/// Whether tiles past the cache take longer than boxes through it would. Tiles take longer where they read lines of the
/// source twice, and where they have many small blocks. If both sides fit into the last level (Machine::l3_share()),
/// the time to start the small blocks is compared with the time to read the destination's lines, padding included,
/// which writing through the cache would take. If they do not fit, tiles lose only if most elements are in small
/// blocks.
bool loses_past_cache(const TiledBoxes& tiled, const TensorDesc& src, const TensorDesc& dst, const Machine& machine);
/// Whether the lines of the destination are made of small pieces by line programs.
bool by_line_programs(const BoxPlan& box);
/// Whether all strides of a destination that are a line or longer are whole lines, so that no two runs share a line.
bool apart_by_lines(const TensorDesc& dst);
/// Whether elements and padding of a layout follow each other without gaps.
bool without_gaps(const Layout& layout);

}  // namespace relayout
