// Boxes whose runs are short on both sides, by tiles of registers (internal to reorder).
#pragma once

#include <optional>

#include "relayout/reorder/nest.h"

namespace relayout {

/// A region of fewer bytes is better done by tiles that several make together.
inline constexpr int64_t kSmallTiles = 4 << 10;

/// A box of elements of `element` bytes as a transposition by tiles, see BoxPlan::row_run, its blocks chosen; nothing
/// where runs are so short, also once groups are permuted, that a tile holds only a few pieces.
std::optional<BoxPlan> plan_register_tiles(Box box, int64_t element);

/// Whether a box by tiles is better than by a plain transposition: something is permuted, full tiles make only a small
/// region, or the destination's lines could not be written past the cache as a whole.
bool wants_tiles(const BoxPlan& plan, bool streams);

/// Where both sides run along the same axis but one begins with less than 16 bytes of others, tiles need an even number
/// of its steps (2, 4 or 8 make 16 bytes): cuts `box` to such a number and returns the box of those left over.
///
///     src 899d of 1 byte, dst 8b899d: 898 d, of which two make a tile's column of 16 bytes, and 1 d
std::optional<Box> cut_for_tiles(Box& box, int64_t element);

}  // namespace relayout
