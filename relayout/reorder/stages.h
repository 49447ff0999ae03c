// Conversions in two stages, where the wider side has only short runs in the other's order (internal to reorder).
//
//     f32 oihw -> s8 OIhw4i16o4i: 16 outputs of 576 values each, dense in the source, are converted to bytes in the
//     first-level cache, and moved from there by what moves bytes
#pragma once

#include <optional>

#include "relayout/core/dtype.h"
#include "relayout/reorder/nest.h"

namespace relayout {

/// Plans a conversion by stages (BoxPlan::stage). Nothing where the wider side is not dense for at least two values, or
/// where its extents have no divisors to cut them by. `sums`: the old values of the destination are read and added.
/// Elements of both types are whole bytes.
std::optional<BoxPlan> plan_stages(const Box& box, DType src, DType dst, bool sums);

/// What the stages hold in the cache at a time are steps of axes that divide their extents. Where an extent has no
/// divisor of a good size, that is little, as `plan`, made of `box`, shows. Then this cuts that axis of `box` to a
/// multiple of 64 steps and returns the box of the steps that are left over.
std::optional<Box> cut_for_stages(Box& box, const BoxPlan& plan);

}  // namespace relayout
