// Gradients of the kinds that have no backward pass of their own: algebra and movement. Private to relayout/graph.
#pragma once

#include <functional>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Adds the nodes that give the gradient of each source of `node` from `diff`, that of its destination. kNone where
/// wanted(i) is false or the gradient is zero everywhere (comparisons). Error{unsupported} as in append_backward.
std::vector<TensorId> backward_rule(Graph& graph, const Node& node, TensorId diff,
                                    const std::function<bool(std::size_t)>& wanted);

/// Error{unsupported}: `node` has no gradient because of `what`.
[[noreturn]] void refuse_backward(const Node& node, const std::string& what);

}  // namespace relayout::graph
