// Resampling positions: which places of a source make a place of the destination, along one dim (internal to execute).
#pragma once

#include <array>

#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

/// One or two source indices and their weights; a single one has weight 1 and stands twice, the second with 0.
struct Taps {
  std::array<int64_t, 2> index{};
  std::array<float, 2> weight{1, 0};
  friend bool operator==(const Taps&, const Taps&) = default;
};

/// For index i of a dim of `dst` places over one of `src`. Positions are exact fractions; indices stop at the borders.
Taps taps(const graph::ResamplingAttributes& attributes, int64_t i, int64_t src, int64_t dst);

}  // namespace relayout::execute
