// The time of boxes within the caches (internal to reorder).
#pragma once

#include "relayout/reorder/box_plan.h"

namespace relayout {

/// Whether there is a price: the box is moved or converted by itself.
bool has_cached_price(const BoxPlan& box);
/// Nanoseconds on one thread to move a box whose source and destination are in the first level: the time to start each
/// block and to run its kernel.
double cached_ns(const BoxPlan& box, const Machine& machine);

/// The same for stages, with what it takes to read and write stretches.
double stages_ns(const Loops& loops, const Stages& method, const Machine& machine);

/// Nanoseconds that a reorder of `bytes` bytes, both sides together, waits for the levels beyond the first one.
double waited_ns(const Machine& machine, double bytes);

}  // namespace relayout
