// Which axes of a box are rows and which are columns (internal to reorder).
#pragma once

#include "relayout/reorder/loops.h"

namespace relayout {

/// Chooses the rows and columns of a box of pieces, out of `axes`, which keeps the rest. Axes along which the source is
/// dense become rows, axes along which the destination is dense become columns. An axis that could be either goes to
/// the side that has fewer bytes so far; rows end once they have kRowBytes.
void choose_region(Loops& loops, Axes& axes);

/// Chooses the rows and columns of a box through an index table (Axis::listed): rows step along the table, where its
/// steps are pieces that follow each other on a side, or the other axes make only small blocks. Elsewhere does nothing
/// and returns false: the table is then a loop around a region of other axes.
bool choose_listed_region(Loops& loops, Axes& axes);
/// Chooses the blocks of such a region.
void choose_listed_blocks(Loops& loops);

/// For a region whose columns are dense in the destination while no rows are dense in the source: keeps only the
/// innermost axes as columns, some tens of steps, and makes the next axis the rows. Then one list of where columns
/// start serves many rows.
void split_columns(Loops& loops, Axes& axes);

}  // namespace relayout
