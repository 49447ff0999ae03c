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
/// Whether elements and padding of a layout follow each other without gaps.
bool without_gaps(const Layout& layout);

}  // namespace relayout
