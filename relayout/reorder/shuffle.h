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
/// strides of `box` to those of the permuted source. Returns a shuffle of 1 byte where that gains nothing.
///
///     src 2a of 1 byte within 16b2a, dst 2b within 16a2b: groups b2 a2 become a2 b2, elements of two bytes
Shuffle shuffle_source(Box& box, int64_t element);

}  // namespace relayout
