// Permuting small groups of a box's source as they are read (internal to reorder).
#pragma once

#include <array>
#include <cstdint>

#include "relayout/reorder/nest.h"

namespace relayout {

/// Bytes of a group that a shuffle of registers permutes, at most.
constexpr int64_t kGroup = 16;

/// A permutation within dense groups of the source.
struct Shuffle {
  int64_t bytes = 1;
  std::array<uint8_t, kGroup> pattern{};
};

/// Where both sides start with short runs of different axes, groups of the source that hold some of each are permuted
/// as they are read, so that what is together in the destination becomes one larger element. Rewrites the source's
/// strides of `box` to those of the permuted source. Returns a shuffle of 1 byte where that gains nothing;
/// what is in `box` then is of no use.
///
///     src 2a of 1 byte within 16b2a, dst 2b within 16a2b: groups b2 a2 become a2 b2, elements of two bytes
Shuffle shuffle_source(Box& box, int64_t element);

/// Permutations of the groups of 16 bytes that both sides start with, see BoxPlan::dst_pattern.
struct SharedGroups {
  std::array<uint8_t, kGroup> src{}, dst{};
  /// Of a group of each side.
  std::array<int64_t, 2> bytes{};
  /// Whether any byte moves.
  bool permuted = false;
};

/// What a source's innermost 16 bytes and a destination's have in common becomes one element, the first in the groups
/// of both sides. Groups of fewer bytes, powers of two, where less is dense. Rewrites the strides of `box` to those of
/// the permuted sides.
///
///     src 16b2a of 1 byte, dst 2a8b: groups a2 b8 and b8 a2 both hold a2 b8, an element of 16 bytes
///     src 4b31d, dst 2a4b: the destination's groups a2 b4 become b4 a2, elements of 4 bytes
SharedGroups share_groups(Box& box, int64_t element);

}  // namespace relayout
