// Grid: the elements of several tensors of one index space, cut into boxes in which each tensor moves by fixed steps
// (internal to execute).
//
//     a of dims 2,1,3,4 and b of 17,1,1 into an nChw8c of 2,17,3,4: boxes of 16 and of 1 channels; in the first
//     axes of 2, 2, 12 and 8 indices, where b steps by 0, 8, 0 and 1
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::execute {

inline constexpr std::size_t kGridOperands = 8;
/// By operand, in elements.
using GridOffsets = std::array<int64_t, kGridOperands>;

struct GridAxis {
  int64_t extent;
  GridOffsets step;
};

/// Some axes, outermost first, and where they start.
struct GridBox {
  GridOffsets offset;
  std::vector<GridAxis> axes;

  int64_t elements() const;
};

/// The boxes of a space whose dims are those of the first operand. A dim of extent 1 of another operand repeats. All
/// ranks are equal. Axes stand in the order of the first operand's strides, and are joined where every operand allows
/// it. Nothing if there would be more boxes than `most`, because blocks of the operands do not fit each other.
std::optional<std::vector<GridBox>> grid(std::span<const Layout* const> operands, std::size_t most = 4096);

}  // namespace relayout::execute
