// Backward: the gradients of a graph, computed by further nodes of the same graph.
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

struct Gradients {
  /// For each graph output, the new graph input that holds its gradient.
  std::vector<TensorId> diff_outputs;
  /// The gradient of each tensor that was asked for; kNone if no output depends on it.
  std::vector<TensorId> of;
};

/// Adds the backward nodes that compute the gradients with respect to `wrt` (weights, inputs), from the last node to
/// the first. The gradients of a tensor that several nodes read are added up. Forward nodes must be of
/// Pass::forward_training; they become the hints of the backward nodes. The gradients that were asked for become
/// outputs of the graph, in the order of `wrt`, without those that are kNone. No node is added that none of them needs.
/// Integer tensors and comparisons have no gradients.
///
/// Errors: invalid_argument (a tensor of `wrt` that is not floating); unsupported names a node that has no gradient:
/// gather, barrier, round, sign, nodes with post-ops, reductions other than mean and sum, pads other than constant, the
/// mean and variance of a normalization, and a primitive that is not of Pass::forward_training.
Gradients append_backward(Graph& graph, std::span<const TensorId> wrt);

/// Makes a training step of a graph of Pass::forward_training. Nodes that no output needs are removed (prune()), f32
/// constants become inputs, whose layouts the planner may choose, and their gradients are added as above. Ids change.
/// Errors: as above.
Gradients append_training(Graph& graph);

}  // namespace relayout::graph
