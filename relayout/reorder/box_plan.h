// Which kernel does a box, and which of its axes are rows, columns and loops (internal to reorder).
#pragma once

#include "relayout/core/dtype.h"
#include "relayout/reorder/blocks.h"

namespace relayout {

/// Plans a box that moves bits. The box is simplified; its offsets and strides are in units (see axes.h).
BoxPlan plan_move(Box box, DType dtype, bool streams, const BlockRules& rules);
/// Plans a box whose values are converted. `sums`: the old values of the destination are read and added.
BoxPlan plan_cast(Box box, DType src, DType dst, bool sums, bool streams, const BlockRules& rules);
/// Plans a box of padding.
BoxPlan plan_fill(Box box, DType dtype, uint64_t fill_bits);

}  // namespace relayout
