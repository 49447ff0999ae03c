// Rows of small pieces whose lines can be put together by byte permutations (internal to reorder).
#pragma once

#include "relayout/reorder/nest.h"

namespace relayout {

/// Looks whether the lines of a box that moves small pieces one by one can be made by byte permutations instead: its
/// rows must be alike and follow each other in the destination, with gaps or without, and all that a line holds must
/// come from a few lines of the source. If so, notes what a row holds in plan.row_sources. Where the instruction set
/// has no kernel for byte permutations, the box is done as it was planned. The blocks of the box must be chosen
/// already.
///
///     u8 RGB -> BGR: rows of 3 bytes, read at 2, 1 and 0; the next one 3 bytes later
void note_permuted_rows(BoxPlan& plan);

}  // namespace relayout
