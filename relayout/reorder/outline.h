// PlanOutline: what Plan::explain() says in words, as values: boxes, the loops over each, the method and why it is
// that.
//
//     for (const BoxOutline& box : outline(plan).boxes) draw(box.origin, box.extents, box.axes);
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "relayout/reorder/box_outline.h"
#include "relayout/reorder/plan.h"

namespace relayout {

struct PlanOutline {
  /// What becomes of values and of padding, and why the destination is written past the cache, in the words of
  /// explain(); "" where there is nothing to say.
  std::string values, padding, store;
  std::vector<BoxOutline> boxes{}, fills{};
  /// How many more there are than were asked for.
  std::size_t more_boxes = 0, more_fills = 0;
};

/// At most `most` boxes that move elements, and as many that fill padding, the first ones. Cost: some microseconds a
/// box, and up to some milliseconds for a box of stages, tiles or line programs. Errors: those of Layout::inverse().
PlanOutline outline(const Plan& plan, std::size_t most = 64);

}  // namespace relayout
