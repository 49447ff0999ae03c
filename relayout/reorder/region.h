// Which axes of a box are rows and which are columns (internal to reorder).
#pragma once

#include "relayout/reorder/nest.h"

namespace relayout {

/// Axes are added to the rows or columns of a block until these have kEnoughSteps steps, because a smaller block takes
/// longer to start than it saves.
inline constexpr int64_t kEnoughSteps = 256;

/// Chooses the rows and columns of a box of pieces, out of `axes`, which keeps the rest. Axes along which the source is
/// dense become rows, axes along which the destination is dense become columns. An axis that could be either goes to
/// the side that has fewer bytes so far; rows end once they have kRowBytes.
void choose_region(BoxPlan& plan, Axes& axes);

/// For a region whose columns are dense in the destination while no rows are dense in the source: keeps only the
/// innermost axes as columns, some tens of steps, and makes the next axis the rows. Then one list of where columns
/// start serves many rows.
void split_columns(BoxPlan& plan, Axes& axes);

}  // namespace relayout
