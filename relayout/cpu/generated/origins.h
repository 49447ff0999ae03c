// Where each element of a small destination comes from, the first step of generating code for a reorder (internal to
// cpu).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "relayout/reorder/planner/plan_data.h"

namespace relayout::cpu {

struct Origins {
  /// What the destination holds where no element of the source goes: padding, which is set to 0, or what stays.
  static constexpr int32_t kPadding = -1, kGap = -2;

  int64_t element = 1;      // bytes
  std::vector<int32_t> at;  // for each element of the destination's span the byte of the source, or one of the above

  int64_t bytes() const { return static_cast<int64_t>(at.size()) * element; }
};

/// Those of a plan that moves bits of elements of 1 to 8 bytes through no table, and sets padding to 0 if at all;
/// nothing for other plans, and where the sides have more than `most_bytes` together.
std::optional<Origins> origins_of(const PlanData& plan, int64_t most_bytes);

}  // namespace relayout::cpu
