// Backward: the gradient of a graph, as more nodes of the same graph.
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

struct Gradients {
  /// The gradient given for each graph output: a new graph input.
  std::vector<TensorId> diff_outputs;
  /// For each asked tensor its gradient, kNone where none of the outputs depends on it.
  std::vector<TensorId> of;
};

/// Adds the backward nodes that give the gradients of `wrt` (weights, inputs), from the last node to the first; a
/// tensor that several nodes read gets the sum. Forward nodes must be of Pass::forward_training; they become the hints.
/// The gradients asked for become outputs of the graph, in the order of `wrt`, those that are kNone left out. Only
/// nodes that they need are added; nothing flows back through integer types and comparisons.
///
/// Errors: invalid_argument (a tensor of `wrt` that is not floating); unsupported names a node that has no gradient:
/// gather, barrier, round, sign, reductions other than mean and sum, pads other than constant, the mean and variance of a
/// normalization, and a primitive that is not of Pass::forward_training.
Gradients append_backward(Graph& graph, std::span<const TensorId> wrt);

/// Makes a training step of a graph of Pass::forward_training: what its outputs do not need goes (prune()), constants
/// of f32 become inputs, whose layouts are free, and their gradients are added as above. Ids change. Errors: as above.
Gradients append_training(Graph& graph);

}  // namespace relayout::graph
