// Which kernel does a box, and which of its axes are rows, columns and loops (internal to reorder).
#pragma once

#include "relayout/core/dtype.h"
#include "relayout/reorder/blocks.h"

namespace relayout {

/// A box that moves bits. Boxes are simplified, with offsets and strides in units (see nest.h).
BoxPlan plan_move(Box box, DType dtype, bool streams, const BlockRules& rules);
/// A box whose values are converted: a block is fetched in the destination's order, converted, put. `sums`: old values
/// of the destination are read.
BoxPlan plan_cast(Box box, DType src, DType dst, bool sums, bool streams, const BlockRules& rules);
/// A box of padding.
BoxPlan plan_fill(Box box, DType dtype, uint64_t fill_bits);

}  // namespace relayout
