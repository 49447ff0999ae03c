// Pieces of a few elements that follow each other on both sides, copied one by one: the runs of a box that are too
// short to be copied by themselves (internal to reorder).
//
//     nChw16c -> nhwc: pieces of 16 channels
#pragma once

#include "relayout/reorder/price.h"

namespace relayout {

struct CopiedPieces {
  bool operator==(const CopiedPieces&) const = default;
};

/// Plans a region whose rows and columns are chosen; `rest` has the axes that are left.
Planned<CopiedPieces> plan_copied_pieces(Loops region, Box rest, bool streams, const BlockRules& rules);

/// Changes the rows and columns of a region of pieces that are copied: where steps are far apart, or there are only a
/// few, more axes in the block save loops around it.
void adapt_copied_region(Loops& region, Axes& axes, bool streams);

/// Whether most of the time past the cache would go to starting blocks of pieces and putting lines together, which the
/// cache does as well: small blocks of pieces of less than half a line, and such pieces that do not divide a line.
bool copies_scraps(const Loops& loops);

inline double rate(const Loops& loops, const CopiedPieces&) { return copy_rate(loops); }
double streamed(const Loops& loops, const CopiedPieces& method, const Traffic& traffic, const Bytes& bytes);

}  // namespace relayout
