// A node in words, for error messages (internal to graph).
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// A node's kind, name, pass and sources: convolution "conv1" (forward_inference, f32 1x3x8x8, f32 4x3x3x3).
std::string described(const Graph& graph, const Node& node);

}  // namespace relayout::graph
