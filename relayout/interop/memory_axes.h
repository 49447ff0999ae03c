// The axes of memory: a layout's digits in the order of their strides, and why they do not fill memory (shared by the
// exporters of systems whose layouts are orders of axes).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// An axis of memory: steps of one dim's index that differ by `place`, which are `stride` elements apart.
struct MemoryAxis {
  int dim = 0;
  int64_t place = 1, extent = 1, stride = 0;
};

/// The digits of more than one value, from the largest stride to the smallest.
std::vector<MemoryAxis> memory_axes(const Layout& layout);

/// Why a layout is no dense array that begins at offset 0: an offset0, a stride of 0 or below, a gap or an overlap,
/// with the dim and the numbers, as the second half of a sentence; nothing where it is one (padding is a part of it).
struct NotFilled {
  std::string why;
  std::string field, value, limit;  // as in Error
};
std::optional<NotFilled> not_filled(const Layout& layout);

/// Why tag_of() finds no tag; nothing where it does. The same, and blocks that are not innermost or not in the order of
/// memory.
std::optional<NotFilled> not_a_tag(const Layout& layout);

}  // namespace relayout
