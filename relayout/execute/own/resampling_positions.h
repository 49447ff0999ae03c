// Resampling positions: from which source indices an index of the destination is computed, along one dim (internal to
// execute).
#pragma once

#include <array>

#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

/// One or two source indices and their weights. A single index stands twice, with the weights 1 and 0.
struct Taps {
  std::array<int64_t, 2> index{};
  std::array<float, 2> weight{1, 0};
  friend bool operator==(const Taps&, const Taps&) = default;
};

/// The taps for index i of a dim of extent `dst` over one of extent `src`. Positions are exact fractions. Indices
/// beyond the borders are moved to the border.
Taps taps(const graph::ResamplingAttributes& attributes, int64_t i, int64_t src, int64_t dst);

}  // namespace relayout::execute
