// Permuting small groups of a box's source as they are read, and copies that do only that (internal to reorder).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "relayout/reorder/price.h"

namespace relayout {

/// A permutation of bytes within groups that are dense in the source: byte i of a group of `bytes` bytes comes from
/// byte pattern[i]. The source strides of a box with a shuffle are those of the source once it is permuted.
struct Shuffle {
  int64_t bytes = 1;  // 1: nothing is permuted; at most kRegister
  std::array<uint8_t, kRegister> pattern{};
};
/// A group of elements that are permuted together must not be cut by the end of a block.
void keep_groups_whole(const Shuffle& groups, Loops& loops);

/// Both sides may start with short runs of different axes. Then groups of the source that hold some steps of both axes
/// are permuted as they are read, so that neighbours in the destination become one larger element. Changes the source's
/// strides in `box` to those of the permuted source. Returns a shuffle of 1 byte where that gains nothing; `box` must
/// then be thrown away.
///
///     src 2a of 1 byte within 16b2a, dst 2b within 16a2b: groups b2 a2 become a2 b2, elements of two bytes
Shuffle shuffle_source(Box& box, int64_t element);

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

/// A copy of pieces that are whole groups, which are permuted as they are read.
struct PermutedGroups {
  Shuffle groups;
};

/// Plans a region whose rows and columns are chosen, of pieces of whole groups; `rest` has the axes that are left.
Planned<PermutedGroups> plan_permuted_groups(Loops region, Box rest, const Shuffle& groups, bool streams,
                                             const BlockRules& rules);

inline double rate(const Loops& loops, const PermutedGroups&) { return copy_rate(loops); }
double streamed(const Loops& loops, const PermutedGroups& method, const Traffic& traffic, const Bytes& bytes);

}  // namespace relayout
