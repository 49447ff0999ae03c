// Pieces of a few elements that follow each other on both sides, copied one by one: the runs of a box that are too
// short to be copied by themselves (internal to reorder).
//
//     nChw16c -> nhwc: pieces of 16 channels
#pragma once

#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

struct CopiedPieces {
  static constexpr Told kTold{KernelShape::copy, "copy pieces",
                              "a few bytes follow each other on both sides, too few to be copied by themselves"};
  bool operator==(const CopiedPieces&) const = default;
};

/// Plans a region whose rows and columns are chosen; `rest` has the axes that are left.
Planned<CopiedPieces> plan_copied_pieces(Loops region, Box rest, bool streams, const BlockRules& rules);

}  // namespace relayout
