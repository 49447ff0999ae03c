// The time of boxes within the caches (internal to reorder).
#pragma once

#include "relayout/reorder/box_plan.h"

namespace relayout {

/// Nanoseconds on one thread to do a box whose source and destination are in the first level: the time to start each
/// block and to run its kernel, of a machine whose kernels have the price 1 (Prices::kernels).
double cached_ns(const BoxPlan& box, const Machine& machine);

}  // namespace relayout
