// An answer to a request: boxes and fills, and how the destination is written (internal to reorder). Each candidate
// that the planner compares is one, and so is what a plan keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "relayout/reorder/boxes/box_plan.h"
#include "relayout/reorder/request/request.h"

namespace relayout {

struct Answer {
  /// Whether the destination is written past the caches, line by line. Where this is false, padding may still be
  /// written so (Fill::past_cache).
  bool streams = false;
  /// The boxes to move, each with the method that does it, and the boxes of padding to fill. There are at most 4 *
  /// kMaxBoxes (refine.h) boxes to move, because some steps of a box, and the last step of a dim, may become boxes of
  /// their own, and at most kMaxBoxes boxes of padding for each dim.
  std::vector<BoxPlan> boxes, fills;
  /// The tables that axes of boxes and fills refer to.
  Tables tables;

  bool operator==(const Answer&) const = default;
};

/// What it is expected to move and take on the request's machine.
Cost cost_of(const Request& request, const Answer& answer);
/// Nanoseconds: the least that an answer costs that is written past the caches, or through them, without planning it.
double least_ns(const Request& request, bool past_cache);
/// Nanoseconds in the first level: the most that the kernels of such an answer may take for it to cost less than `ns`.
double left_for_kernels(const Request& request, bool past_cache, double ns);

}  // namespace relayout
