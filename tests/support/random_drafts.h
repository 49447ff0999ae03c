// Drafts of random nodes by family: attributes and sources (tests of execute/; internal to random_nodes).
#pragma once

#include "tests/support/random_nodes.h"

namespace relayout::execute {

/// What random_node() adds: the attributes, the sources of the forward pass and how many destinations it has.
struct Draft {
  graph::NodeAttributes attributes;
  std::vector<graph::TensorId> src;
  int dsts = 0;
};

/// N C and one to three spatial dims.
inline Dims random_data_dims(Random& random, int64_t channels = 0) {
  Dims dims{random.between(1, 3), channels > 0 ? channels : random.of<int64_t>({1, 3, 8, 16, 17, 19, 32})};
  const auto spatial = random.of({1, 2, 2, 2, 3});
  for (int d = 0; d < spatial; ++d) dims.push_back(random.between(1, spatial == 3 ? 4 : 6));
  return dims;
}

/// A source tensor.
inline graph::TensorId random_source(RandomNode& out, const Dims& dims, DType dtype = DType::f32) {
  return out.graph.input("", dims, dtype);
}

// A family each. Kinds of other families give no sources.

/// Compute-bound kinds, pooling and normalizations.
Draft compute_draft(RandomNode& out, Random& random, graph::Kind kind, graph::Pass pass, DType dtype);
/// Elementwise ones, reductions and what moves elements.
Draft pointwise_draft(RandomNode& out, Random& random, graph::Kind kind, graph::Pass pass, DType dtype);
/// Kind::array.
Draft array_draft(RandomNode& out, Random& random, graph::Kind kind, DType dtype);

}  // namespace relayout::execute
