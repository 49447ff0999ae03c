// Runs of the destination in which one piece of the source is repeated, because the source does not step along them: a
// broadcast along the innermost dim (internal to reorder).
//
//     a column of 512 values to 512 x 512: 512 runs of one value each
//
// docs/lab/python.md has what it gains.
#pragma once

#include <optional>

#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

/// The columns of a region are the repetitions of one piece, and rows are runs.
struct RepeatedRuns {
  static constexpr Told kTold{
      KernelShape::copy, "repeat",
      "the source does not step along the innermost axis of the destination, so that one piece fills a run"};
  bool operator==(const RepeatedRuns&) const = default;
};

/// Plans a box of elements of `element` bytes whose innermost digit of the destination has stride 0 in the source, if
/// its runs are long enough.
std::optional<Planned<RepeatedRuns>> plan_repeated_pieces(const Box& box, int64_t element, bool streams);

}  // namespace relayout
