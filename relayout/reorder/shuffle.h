// Permuting small groups of a box's source as they are read (internal to reorder).
#pragma once

#include <array>
#include <cstdint>

#include "relayout/reorder/nest.h"

namespace relayout {

/// The most bytes of a group: what one instruction permutes within a register.
constexpr int64_t kGroup = 16;

/// A permutation of bytes within groups that are dense in the source: byte i of a group comes from byte pattern[i].
struct Shuffle {
  int64_t bytes = 1;
  std::array<uint8_t, kGroup> pattern{};
};

/// Both sides may start with short runs of different axes. Then groups of the source that hold some steps of both axes
/// are permuted as they are read, so that neighbours in the destination become one larger element. Changes the source's
/// strides in `box` to those of the permuted source. Returns a shuffle of 1 byte where that gains nothing; `box` must
/// then be thrown away.
///
///     src 2a of 1 byte within 16b2a, dst 2b within 16a2b: groups b2 a2 become a2 b2, elements of two bytes
Shuffle shuffle_source(Box& box, int64_t element);

/// Permutations of the groups of up to 16 bytes that the two sides start with (BoxPlan::pattern and dst_pattern).
struct SharedGroups {
  std::array<uint8_t, kGroup> src{}, dst{};
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
