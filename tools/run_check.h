// run --check: outputs of a model against the float64 reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "relayout/graph/reference.h"

namespace relayout::tools {

inline constexpr double kCheckTolerance = 1e-3;

/// The largest difference to the reference, in proportion to the scale of that output: its largest finite value, or
/// a hundredth of the largest sum of magnitudes that a value of it is the result of, as gradients may cancel to
/// nothing. Where that is over kCheckTolerance, rounding may be the reason: an output may differ by 32 times what a
/// change of all inputs by one unit in the last place of f32 makes of it in the reference, the most of three samples.
struct OutputCheck {
  double difference = 0;
  std::string output;
  /// Outputs that differ by more than kCheckTolerance, as so much of rounding would make them.
  int64_t by_rounding = 0;
};
/// `inputs` and `outputs` as the graph has them; outputs row-major in their types.
OutputCheck check_outputs(const graph::Graph& graph, const std::vector<graph::Values>& inputs,
                          const std::vector<std::vector<std::byte>>& outputs);

}  // namespace relayout::tools
