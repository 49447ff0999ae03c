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

}  // namespace relayout
