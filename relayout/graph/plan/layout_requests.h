// Requests: what a policy asks of the layouts of a node's operands, first choice first (internal to propagate).
#pragma once

#include <functional>

#include "relayout/graph/plan/propagate.h"

namespace relayout::graph {

/// What a node's operands should be.
struct LayoutRequests {
  std::vector<LayoutRequest> src, dst;
  friend bool operator==(const LayoutRequests&, const LayoutRequests&) = default;
};

/// By tensor: weights and their gradients, the operands that a primitive lays out for itself.
std::vector<bool> weights_of(const Graph& graph);

/// A walk's state, as far as requests depend on it.
struct RequestContext {
  const Graph& graph;
  const PropagateOptions& options;
  const std::vector<bool>& weights;
  /// The layout that a tensor was made in, or would be given in.
  std::function<Layout(TensorId)> current;

  bool is_weights(TensorId t) const { return graph.tensor(t).constant() || weights[static_cast<std::size_t>(t)]; }
  bool activation(TensorId t) const { return graph.tensor(t).dims.size() >= 3 && !is_weights(t); }
};

/// What the policy asks for, then ever less of it. The first `preferred` ones are what the policy has to offer.
struct RequestList {
  std::vector<LayoutRequests> requests;
  std::size_t preferred = 1;
};
RequestList requests_of(const RequestContext& context, NodeId id);

}  // namespace relayout::graph
