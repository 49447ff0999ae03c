// Transpositions: a region is dense along the source and along the destination (internal to reorder). Up to nine
// columns (rows) are interleaved (deinterleaved) by kernels of their own.
//
//     nchw -> nhwc: h and w go along the source, c along the destination
#pragma once

#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

struct Transposition {
  static constexpr Told kTold{
      KernelShape::transpose, "transpose",
      "rows follow each other in the source and columns in the destination, so that squares are transposed"};
  /// Whether the source of a block is copied to dense memory in the cache before it is transposed.
  bool pack = false;
  /// Whether rows that are as long as whole lines, but may not start at lines, are *joined* past the cache: they follow
  /// each other in the destination, so that the last line of a row is completed by the start of the next row. Short
  /// rows of small regions are not joined but put together in the cache, because the first line and the last row, which
  /// are made separately, would take longer than all the rest.
  bool joins = false;
  /// For a strided transposition: how many bytes ahead of where they are written the destination's lines are fetched,
  /// because a line that is written through the cache is read first; the source's next lines are fetched as well. With
  /// ahead_between, only if the destination does not start at a line.
  int64_t dst_ahead = 0;
  bool ahead_between = false;

  bool operator==(const Transposition&) const = default;
};

/// Plans a region of elements of 1 to 8 bytes whose rows and columns are chosen and dense; `rest` has the axes that are
/// left. Nothing where the region is too short for the kernels.
std::optional<Planned<Transposition>> plan_transposition(const Loops& region, const Box& rest, bool streams,
                                                         const BlockRules& rules);

/// Completes a transposition, moving or converting, whose blocks are chosen. Returns whether its rows may be joined.
bool finish_transposition(Loops& loops, Box rest, bool packs, bool streams, const Tuning& tuning);

/// For a strided transposition that is written through the cache: while some lines of its columns are moved, the next
/// ones are fetched on both sides. That gains where both sides are beyond the second level (`beyond_second`). Elsewhere
/// it gains only if rows of the destination lie near each other or do not start at lines. Whether rows start at lines
/// may depend on the destination's address (ahead_between).
void fetch_next_lines(const Loops& loops, Transposition& method, bool beyond_second);

}  // namespace relayout
