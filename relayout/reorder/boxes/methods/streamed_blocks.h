// The blocks of boxes that are written past the cache: a *strip* of rows, a few lines of the source wide, over a
// *panel* of columns, so that the lines of one strip are written whole while those of the next strip are fetched
// (internal to reorder).
#pragma once

#include "relayout/reorder/boxes/loops.h"

namespace relayout {

/// What a box does with its pieces.
struct StreamedBox {
  enum class Kind : uint8_t { transposes, copies, gathers };
  Kind kind;
  bool converts = false;
};

/// Chooses the blocks of a box whose columns are dense in the destination. Returns whether small elements should be
/// packed before they are transposed (Transposition::pack).
bool choose_streamed_blocks(Loops& loops, StreamedBox box, const Machine& machine);

/// How far away the next block lies in the source, for a transposition whose blocks have all rows. 0 where it lies so
/// far away that fetched lines would leave the cache before they are needed.
int64_t next_columns(const Loops& loops);

/// How far away the next block lies on both sides, where it is some steps of one axis further; 0 elsewhere.
Offsets next_block(const Loops& loops);

/// Whether a region has so few and so short rows that all of them are made together in the cache and then written as
/// one run, even if each row is whole lines. A row may have 512 bytes, and all rows together kInL2. Where elements are
/// not packed first, both limits are half as large.
bool small_region(const Loops& loops, bool packed);

/// Whether a box interleaves a few columns or deinterleaves a few rows, for which there are kernels of their own.
bool interleaves(const Loops& loops);

}  // namespace relayout
