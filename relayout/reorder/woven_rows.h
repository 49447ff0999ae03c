// Rows of small pieces whose lines can be put together by byte permutations (internal to reorder).
#pragma once

#include "relayout/reorder/nest.h"

namespace relayout {

/// Notes the pieces of its rows in a box that moves small pieces one by one, where they follow each other in the
/// destination, with gaps or without, and those of a line come from a few lines of the source: see
/// BoxPlan::row_sources. Where there is no kernel for that, the box is done as it was planned. Its blocks are chosen.
///
///     u8 RGB -> BGR: rows of 3 bytes, read at 2, 1 and 0; the next one 3 bytes later
void note_permuted_rows(BoxPlan& plan);

}  // namespace relayout
