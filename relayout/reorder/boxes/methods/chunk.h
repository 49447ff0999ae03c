// How many steps of each axis stages do at a time, and how these lie in the buffers (internal to reorder).
#pragma once

#include "relayout/reorder/boxes/box_plan.h"
#include "relayout/reorder/boxes/methods/together.h"

namespace relayout {

/// An axis of a chunk, and how far apart its steps are in the buffers, in elements.
struct ChunkAxis {
  Axis axis;
  int64_t steps = 1;
  std::array<int64_t, 2> apart{};
};

/// How many steps of each axis are done at a time.
class Chunk {
 public:
  /// `periods`: of each side's swizzle, in units; 1 where there is none.
  Chunk(const Axes& axes, std::array<int64_t, 2> units, std::array<int64_t, 2> periods, const Together& together);

  /// Takes steps until both sides have long stretches, then as many as a small chunk has, of at most `most` elements.
  /// `goals` are in elements. With `divide`, extents are cut into equal parts.
  void grow(std::array<int64_t, 2> goals, int64_t small, int64_t most, bool divide);

  /// The loops from chunk to chunk, and what is left over at the end of each.
  Axes loops(std::vector<Stages::Rest>& rests) const;

  /// Lays out the chunk in a buffer of elements of `element` bytes, in the order of one side. With `gaps`, stretches
  /// may have them; with `computes`, the elements of one have attribute values in common or evenly spaced.
  Stretches lay_out(Operand side, int64_t element, bool gaps, bool computes);

  const std::vector<ChunkAxis>& axes() const { return axes_; }
  /// Elements of the destination that all chunks write, with what lies in between.
  int64_t written(const Stretches& out) const;

 private:
  int64_t stretch(Operand side) const;
  bool extend(Operand side, int64_t most);
  int64_t rounded(const ChunkAxis& a, bool divide) const;

  std::array<int64_t, 2> units_, periods_;
  const Together* together_;
  int64_t count_;
  Axes tables_;
  std::vector<ChunkAxis> axes_;
  std::array<std::vector<std::size_t>, 2> order_;
};

}  // namespace relayout
