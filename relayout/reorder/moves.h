// Which method moves the bits of a box (internal to reorder).
#pragma once

#include "relayout/reorder/box_plan.h"

namespace relayout {

/// Plans a box that moves bits. The box is simplified; its offsets and strides are in units (see axes.h).
BoxPlan plan_move(Box box, DType dtype, bool streams, const BlockRules& rules);

}  // namespace relayout
