// Which axes of a box are rows and which are columns (internal to reorder).
#pragma once

#include "relayout/reorder/nest.h"

namespace relayout {

/// Steps of a block that are worth its start, where more can be had.
inline constexpr int64_t kEnoughSteps = 256;

/// Rows and columns of a box of pieces: rows along the source, columns along the destination, as dense as they come. An
/// axis that could be either goes to the side that has less so far; rows of a few lines are enough. `axes` keeps the
/// others.
void choose_region(BoxPlan& plan, Axes& axes);

/// Columns of rows that are not dense are the destination's first axes, so many as have some steps, and rows the next
/// one: one list of columns then does for many rows.
void split_columns(BoxPlan& plan, Axes& axes);

}  // namespace relayout
