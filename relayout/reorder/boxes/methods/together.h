// Boxes that are moved together: what they have in common, and where the rest lies (internal to reorder).
//
//     nChw16c -> nhwc, c = 35: two boxes, of 32 and of 3 channels. In common they have n and hw; of their own, 32 and 3
//     channels, which lie in three stretches of 16 elements in the source and in one of 35 in the destination
#pragma once

#include <array>
#include <optional>
#include <span>

#include "relayout/reorder/refine/axes.h"

namespace relayout {

/// A stretch of the source goes on over gaps that leave at least one element in kMostSpread.
inline constexpr int64_t kMostSpread = 2;

/// What else lies between the elements: on each side, where the tensor's memory ends, in units; and whether anything
/// may be written between the elements of the destination, because all of that is padding and is filled afterwards.
struct Gaps {
  std::array<int64_t, 2> end;
  bool dst = false;
  /// Then: the bits of the padding's value, and how many elements the destination has, padding included.
  uint64_t fill = 0;
  int64_t elements = 0;
};

/// What boxes have in common and what each has of its own, which every chunk has as a whole.
struct Together {
  Axes axes;
  Offsets offset;  // the least of each side
  std::vector<Box> own;
  /// Where the own elements lie on each side: so many elements from each start on.
  struct Footprint {
    int64_t length = 1;
    std::vector<int64_t> starts{0};  // in units
    int64_t elements() const { return length * static_cast<int64_t>(starts.size()); }
  };
  std::array<Footprint, 2> footprints;
  int64_t most = 1;  // elements of the larger footprint
};

/// What the boxes have in common; `size` is an element's units on each side. With `whole`, all axes are the boxes' own.
/// Nothing where the own elements lie in stretches of several lengths, or need too many of them.
std::optional<Together> join(std::span<const Box> boxes, const std::array<int64_t, 2>& size, const Gaps& gaps,
                             const Tables& tables, bool whole);

/// Puts an own box into the coordinates of a buffer on one side, in elements; starts of stretches lie base_pitch apart
/// there. False where its steps are not even there.
bool put_in_buffer(Box& box, Operand side, int64_t unit, const Together::Footprint& footprint, int64_t base_pitch);

}  // namespace relayout
