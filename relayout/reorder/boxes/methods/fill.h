// Padding: boxes of the destination that are set to one value (internal to reorder).
#pragma once

#include "relayout/core/dtype.h"
#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

struct Fill {
  static constexpr Told kTold{KernelShape::fill, "fill", "padding of the destination is set to a value"};
  /// Bit i says whether byte i of the 64 bytes from each column's start on is written. A column that would start after
  /// last_col starts at last_col instead, and overlaps the column before it. Where elements are less than a byte, each
  /// is a column.
  uint64_t mask = 0;
  int64_t last_col = 0;
  /// Whether whole lines are written past the cache.
  bool past_cache = false;

  bool operator==(const Fill&) const = default;
};

/// Plans a box of padding of elements with these bits. The box is simplified; its offsets and strides are in units.
Planned<Fill> plan_fill(Box box, DType dtype, uint64_t fill_bits);

/// Whether a fill writes whole lines of the destination, each once, provided that the destination starts at a line.
bool fills_lines(const Loops& loops, const Fill& method);

}  // namespace relayout
