// Layout requests: which layouts a policy asks the backend for, for each operand of a node, in the order of preference
// (internal to propagate).
#pragma once

#include <functional>

#include "relayout/graph/plan/backend.h"
#include "relayout/graph/plan/policy.h"

namespace relayout::graph {

/// A request for each operand of a node.
struct LayoutRequests {
  std::vector<LayoutRequest> src, dst;
  friend bool operator==(const LayoutRequests&, const LayoutRequests&) = default;
};

/// By tensor: whether it is weights or their gradient, whose layout a primitive chooses itself.
std::vector<bool> weights_of(const Graph& graph);

/// What requests depend on, while the nodes are walked.
struct RequestContext {
  const Graph& graph;
  const PropagateOptions& options;
  const std::vector<bool>& weights;
  /// The layout in which a tensor was written, or in which it is given.
  std::function<Layout(TensorId)> current;

  bool is_weights(TensorId t) const { return graph.tensor(t).constant() || weights[static_cast<std::size_t>(t)]; }
  bool activation(TensorId t) const { return graph.tensor(t).dims.size() >= 3 && !is_weights(t); }
};

/// The requests to try one after the other. The first `preferred` ones satisfy the policy; each later one asks for
/// less.
struct RequestList {
  std::vector<LayoutRequests> requests;
  std::size_t preferred = 1;
};
RequestList requests_of(const RequestContext& context, NodeId id);

}  // namespace relayout::graph
