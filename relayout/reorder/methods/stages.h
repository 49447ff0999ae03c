// Conversions by stages, for boxes whose two sides have only short runs in common (internal to reorder). One stage
// converts dense stretches of the side with the wider type; the others move elements of the narrower type.
//
//     f32 oihw -> s8 OIhw4i16o4i: 16 outputs of 576 values each, dense in the source, are converted to bytes in the
//     first-level cache, and moved from there by what moves bytes
#pragma once

#include "relayout/reorder/box_plan.h"

namespace relayout {

/// Plans a conversion by stages. Nothing where the wider side is not dense for at least two values, or where its
/// extents have no divisors to cut them by. Elements of both types are whole bytes.
std::optional<BoxPlan> plan_stages(const Box& box, const ConvertedTypes& types, bool streams);

/// The stages hold a chunk of the tensor in the cache, whose axes have numbers of steps that divide the extents. Where
/// an extent has no divisor of a good size, the chunk of `plan`, which was made of `box`, is too small. Then this cuts
/// the longest such axis of `box` to a multiple of 64 steps and returns the box of the steps that are left over.
std::optional<Box> cut_for_stages(Box& box, const BoxPlan& plan);

}  // namespace relayout
