// Whether boxes of a reorder share lines of the destination, and whether a layout has gaps (internal to reorder).
#pragma once

#include "relayout/core/layout.h"

namespace relayout {

/// Whether the blocks of both sides divide each other and the dims. Then there is only one box, and no two boxes share
/// lines. Also true for elements of 4 bits, for which there are no tiles.
bool divides_evenly(const TensorDesc& src_desc, const TensorDesc& dst_desc);
/// Whether elements and padding of a layout follow each other without gaps.
bool without_gaps(const Layout& layout);

}  // namespace relayout
