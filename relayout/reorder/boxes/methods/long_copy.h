// Copies of runs that are contiguous on both sides and so long that each is copied by itself (internal to reorder).
//
//     a crop of a photo: runs of 3 bytes times its width, one a row
#pragma once

#include <optional>

#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

/// The columns of a region are one run each; a piece is a byte.
struct LongCopy {
  static constexpr Told kTold{KernelShape::copy, "copy runs",
                              "long runs follow each other on both sides, so that each is copied by itself"};
  bool operator==(const LongCopy&) const = default;
};

/// Loops whose columns are the steps of `run`, and whose rows are one more axis, which is taken from `axes`: of those
/// with at least so many steps the one whose steps lie nearest in the destination, and of none the longest.
Loops loops_of_runs(const Axis& run, Axes& axes, int64_t fewest_rows = 1);

/// Plans a box of elements of `element` bytes, if it is one run or has runs of at least kLongRun bytes.
std::optional<Planned<LongCopy>> plan_long_copy(const Box& box, int64_t element, bool streams);

}  // namespace relayout
