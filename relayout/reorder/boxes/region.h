// Which axes of a box go along the source and which along the destination (internal to reorder).
#pragma once

#include "relayout/reorder/boxes/loops.h"

namespace relayout {

/// Chooses the two directions of a box of pieces, out of `axes`, which keeps the rest: axes on which the source is
/// dense go along the source, and those on which the destination is dense along the destination. An axis that could be
/// either goes to the side that has fewer bytes so far; kRowBytes along the source are enough.
void choose_region(Loops& loops, Axes& axes);

/// Chooses the directions of a box through an index table (Axis::listed): the steps of the table are those along the
/// source, where they are pieces that follow each other on a side, or the other axes make only small blocks. Elsewhere
/// does nothing and returns false: the table is then a loop around a region of other axes.
bool choose_listed_region(Loops& loops, Axes& axes);
/// Chooses the blocks of such a region.
void choose_listed_blocks(Loops& loops);

/// For a region that is dense along the destination but not along the source: keeps only the innermost axes along the
/// destination, some tens of steps, and puts the next axis along the source. Then one list of where columns start
/// serves many rows.
void split_along_dst(Loops& loops, Axes& axes);

}  // namespace relayout
