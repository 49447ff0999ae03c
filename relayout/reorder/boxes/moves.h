// Which method moves the bits of a box (internal to reorder).
#pragma once

#include "relayout/reorder/boxes/box_plan.h"

namespace relayout {

/// Plans a box that moves bits. The box is simplified; its offsets and strides are in units (see axes.h).
BoxPlan plan_move(Box box, DType dtype, bool streams, const BlockRules& rules);

/// Plans a simplified box of elements of `element` bytes whose two sides lie in the caches: one or more boxes, or a
/// line program, whatever is expected to take less time.
void plan_cached_moves(Box box, int64_t element, const BlockRules& rules, std::vector<BoxPlan>& out);

}  // namespace relayout
