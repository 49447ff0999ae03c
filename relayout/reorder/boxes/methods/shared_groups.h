// Permuting the bytes that both sides of a box start with, so that they share larger elements (internal to reorder).
#pragma once

#include <array>
#include <cstdint>

#include "relayout/reorder/boxes/loops.h"

namespace relayout {

/// Permutations of the groups of up to 16 bytes that the two sides start with (RegisterTiles).
struct SharedGroups {
  std::array<uint8_t, kRegister> src{}, dst{};
  /// Bytes of a group on each side.
  std::array<int64_t, 2> bytes{};
  /// Whether any byte moves.
  bool permuted = false;
};

/// The axes that are in the innermost 16 bytes of both sides are joined to one larger element: groups are permuted on
/// both sides so that they start with these axes. Where fewer bytes are dense, groups are smaller (a power of two).
/// Changes the strides in `box` to those of the permuted sides.
///
///     src 16b2a of 1 byte, dst 2a8b: groups a2 b8 and b8 a2 both hold a2 b8, an element of 16 bytes
///     src 4b31d, dst 2a4b: the destination's groups a2 b4 become b4 a2, elements of 4 bytes
SharedGroups share_groups(Box& box, int64_t element);

}  // namespace relayout
