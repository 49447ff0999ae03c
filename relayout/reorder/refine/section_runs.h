// The runs of the destination that the sections of all dims make together (internal to reorder).
#pragma once

#include <vector>

#include "relayout/reorder/refine/sections.h"

namespace relayout {

/// Boxes that together make a stretch of the destination.
struct SectionRun {
  std::vector<SectionBox> boxes;
  int64_t begin = 0, bytes = 0;  // begin counts from the group's offset

  /// Finds out where the boxes begin and end in the destination; an element has `element` bytes.
  void measure(int64_t element);
  /// The elements of all boxes, with padding or without.
  int64_t elements(bool padding) const;
};

/// Runs that the same axes step through.
struct RunBundle {
  Offsets offset{};
  Axes common;
  std::vector<SectionRun> runs;

  /// Extends all runs by a bundle of one more dim: each run becomes as many runs as the bundle has sections.
  void multiply(const Bundle& bundle);
};

}  // namespace relayout
