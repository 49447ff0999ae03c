// Conversions in two stages, where the wider side has only short runs in the other's order (internal to reorder).
//
//     f32 oihw -> s8 OIhw4i16o4i: 16 outputs of 576 values each, dense in the source, are converted to bytes in the
//     first-level cache, and moved from there by what moves bytes
#pragma once

#include <optional>

#include "relayout/core/dtype.h"
#include "relayout/reorder/nest.h"

namespace relayout {

/// A box by stages, see BoxPlan::stage; null where the dense side has no long stretches, or what is there is
/// cut too unevenly. `sums`: old values of the destination are read. Types are of whole bytes.
std::optional<BoxPlan> plan_stages(const Box& box, DType src, DType dst, bool sums);

/// Chunks have steps that divide the axes. Where one of these has no divisor for it, so that chunks of `plan`, the box
/// by stages, are small: cuts it to a number of steps that has some, and returns the box of those left over.
std::optional<Box> cut_for_stages(Box& box, const BoxPlan& plan);

}  // namespace relayout
