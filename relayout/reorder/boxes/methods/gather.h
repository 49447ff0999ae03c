// Single elements that are dense on neither side, or only on one, moved one by one (internal to reorder).
//
//     every second element of a row: strides of 8 bytes of elements of 4
#pragma once

#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

struct Gather {
  static constexpr Told kTold{KernelShape::gather, "gather",
                              "elements follow each other on at most one side, so that they are moved one by one"};
  bool operator==(const Gather&) const = default;
};

/// Plans a region whose rows and columns are chosen, out of `box`; `rest` has the axes that are left.
Planned<Gather> plan_gather(const Box& box, Loops region, Box rest, bool streams, const BlockRules& rules);

/// Chooses the blocks of elements that are gathered, moved or converted.
void choose_gather_blocks(Loops& loops, bool streams, bool converts, const BlockRules& rules);
/// Whether elements are read one by one and lie so far apart that a line has only a few of them.
bool reads_lines(const Loops& loops);

}  // namespace relayout
