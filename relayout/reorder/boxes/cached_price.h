// The time of boxes within the caches (internal to reorder).
#pragma once

#include "relayout/reorder/boxes/box_plan.h"

namespace relayout {

/// Nanoseconds on one thread to do a box whose source and destination are in the first level: the time to start each
/// block and to run its kernel, of a machine whose kernels have the price 1 (Prices::kernels).
double cached_ns(const BoxPlan& box, const Machine& machine);

/// The same for what a chunk of stages takes beside its moves: to start it, to fill its buffer and to write from it.
double buffers_ns(const Stages& stages);

}  // namespace relayout
