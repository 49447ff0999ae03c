// run --check: outputs of a model against the float64 reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "relayout/graph/reference/reference.h"

namespace relayout::tools {

/// How far outputs are from the reference. One may differ by 0.001 of its scale, or where nodes write bf16 or f16 by
/// four roundings to that type, 0.016 or 0.002 of it. The scale is its largest finite value, or a hundredth of the
/// largest sum of magnitudes that a value of it is the result of, as gradients may cancel to nothing.
/// Where it differs by more, rounding may be the reason: it may differ by 16 times what a change of each input and of
/// each computed value by a few roundings of f32 makes of it in the reference (evaluate_rounded), the most of six
/// samples. (Values of half precision are not changed: nothing is explained so.)
struct OutputCheck {
  bool equal = true;
  /// Of the output that differs by the most of what it may, as a share of its scale.
  double difference = 0;
  std::string output;
  /// Outputs that differ by more than 0.001 of their scale, as so much of rounding would make them.
  int64_t by_rounding = 0;
  /// Outputs that are zero throughout in the reference: little is shown by those, as gradients behind a saturated
  /// softmax are.
  int64_t zero = 0;
};
/// `inputs` and `outputs` as the graph has them; outputs row-major in their types.
OutputCheck check_outputs(const graph::Graph& graph, const std::vector<graph::Values>& inputs,
                          const std::vector<std::vector<std::byte>>& outputs);

}  // namespace relayout::tools
