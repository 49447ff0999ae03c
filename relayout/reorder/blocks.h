// The blocks of a box plan: its units of work (internal to reorder).
#pragma once

#include "relayout/reorder/plan.h"

namespace relayout {

/// Runs of so many bytes are copied as they are; shorter ones are pieces.
inline constexpr int64_t kLongRun = 512;
/// Rows of a region grow until they have so many bytes.
inline constexpr int64_t kRowBytes = 256;

/// Chooses the blocks of a region and makes the rest of the axes loops.
/// `streams`: the destination is beyond the caches.
BoxPlan finish(BoxPlan plan, Box box, bool converts, bool streams, const Tuning& tuning);

}  // namespace relayout
