// Boxes whose runs are short on both sides, moved by tiles of registers (internal to reorder).
//
// A tile of registers is a square of 16 bytes by 16: some rows of the source, of which each register holds 16 bytes,
// are transposed within the registers and stored as 16 bytes of some rows of the destination. So it moves elements of
// any size at 16 bytes an instruction where both sides are dense for 16 bytes, however these are ordered.
#pragma once

#include <optional>

#include "relayout/reorder/nest.h"

namespace relayout {

/// A transposition whose region has fewer than kSmallTiles bytes is better done by tiles of registers, whose blocks
/// hold several regions.
inline constexpr int64_t kSmallTiles = 4 << 10;

/// Plans a box of elements of `element` bytes as a transposition by tiles of registers (BoxPlan::row_run), its blocks
/// chosen. Returns nothing where the runs of both sides are so short that a tile would hold only a few elements, even
/// once groups of bytes are permuted.
std::optional<BoxPlan> plan_register_tiles(Box box, int64_t element);

/// Whether a box that plan_register_tiles() planned is better done by tiles of registers than by a plain transposition.
/// That is so where bytes within groups are permuted, and where a plain transposition would have a small region, or
/// would write several short runs to one line. If the destination is written past the cache (`streams`), it is so where
/// a plain transposition could not write whole lines. It is not so, except past the cache, for pieces of 16 bytes that
/// do not follow each other.
bool wants_tiles(const BoxPlan& plan, bool streams);

/// Where both sides are dense along the same axis but one side begins with less than 16 bytes of other axes, a tile of
/// registers takes 2, 4 or 8 steps of that axis to fill 16 bytes. Cuts `box` to a multiple of that number of steps and
/// returns the box of the steps that are left over.
///
///     src 899d of 1 byte, dst 8b899d: 898 d, of which two make a tile's column of 16 bytes, and 1 d
std::optional<Box> cut_for_tiles(Box& box, int64_t element);

}  // namespace relayout
