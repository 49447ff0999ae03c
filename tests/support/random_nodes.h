// Random nodes of every kind and pass, for tests: small shapes with odd channels, all attributes.
#pragma once

#include "tests/support/node_check.h"

namespace relayout::execute {

struct RandomNode {
  graph::Graph graph;
  graph::NodeId id = graph::kNone;
  CheckOptions options{};
};

/// A random node. A backward node comes with its forward node in forward_training. `dtype` is the type of the data.
RandomNode random_node(Random& random, graph::Kind kind, graph::Pass pass, DType dtype = DType::f32);

}  // namespace relayout::execute
