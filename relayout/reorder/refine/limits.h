// What refinement shares with the cutting of one dim: limits, and how dims step attribute values (internal to reorder).
#pragma once

#include <cstddef>
#include <cstdint>

#include "relayout/core/extents.h"
#include "relayout/core/small_vector.h"

namespace relayout {

/// All tables of a plan together, in bytes.
inline constexpr int64_t kMaxTableBytes = int64_t{1} << 30;
/// The most boxes that one refinement makes. Where many dims have tails, they would need more boxes. Then the shortest
/// dims are stepped through by table instead, and each of these dims needs only one range.
inline constexpr int kMaxBoxes = 512;

/// How a dim steps the third operand, the attribute values: by `stride` with every `group` indices.
struct AttributeStep {
  int64_t stride = 0, group = 1;
};
using AttributeSteps = SmallVector<AttributeStep, kMaxDims>;
/// Those of tensors of this rank without attribute values.
inline AttributeSteps no_attributes(int ndims) {
  AttributeSteps out;
  out.resize(static_cast<std::size_t>(ndims));
  return out;
}

}  // namespace relayout
