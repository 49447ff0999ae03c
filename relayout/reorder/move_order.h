// The order in which a plan moves elements, one move after the other: what a picture of a reorder plays.
//
//     for_each_move(plan, 65536, [&](const Move& move) { show(move.src, move.dst, move.count); });
//
// *The plan's order* is that of one thread:
//
//   - The boxes that move elements come first, in the order of PlanOutline::boxes (outline.h), and then the boxes of
//     padding. Each is done block by block: the strip changes fastest, then the panel, then the loops, the innermost
//     first. Blocks are what threads share, so with several threads this is the order of each one's blocks.
//   - In a block, the moves go row by row, and in a row column by column, as the kernel's lists of rows and columns
//     have them. That is an order of lists and not of instructions: a kernel moves a square of rows and columns at a
//     time, or makes one line of the destination after the other, and these squares are no part of a plan.
//   - A chunk of stages is a block. Its moves stand in the order in which its stretches are written, or, where it is
//     written without a buffer, in that of the boxes between the buffer and the destination. A tile is a block too: run
//     by run, and in a run box by box. A line program goes unit by unit, and in a unit line by line.
//   - The last unit or chunk of a loop may do some elements again. They count where they are moved first.
//
// What depends on addresses is not in it: blocks that are moved on so that they start at lines, and lines that are
// carried from one block to the next.
//
// Laws (tests/properties): each element of the destination is the destination of exactly one move, from the offset that
// its index has in the source; and where padding is set to a value, each element of padding is filled exactly once. A
// plan may also move what is no element into padding, which saves it boxes, and fills that padding afterwards.
#pragma once

#include <cstdint>
#include <functional>

#include "relayout/reorder/plan.h"

namespace relayout {

/// Elements that follow each other on both sides and that a kernel is handed as one. Offsets are those of layouts, in
/// elements.
struct Move {
  int64_t src = 0;  // of the first element; of a fill -1
  int64_t dst = 0;
  int64_t count = 1;
  bool fill = false;  // the destination is set to the padding's value
  /// In PlanOutline::boxes, followed by PlanOutline::fills.
  int64_t box = 0;
  int64_t block = 0;  // of the box, from 0 on

  friend bool operator==(const Move&, const Move&) = default;
};

/// Calls f for the moves of a plan in its order, until they have `most` elements; the last one is cut there. Returns
/// whether these were all. Cost: some 100 ns and 20 bytes an element, and a chunk of stages as a whole.
bool for_each_move(const Plan& plan, int64_t most, const std::function<void(const Move&)>& f);

}  // namespace relayout
