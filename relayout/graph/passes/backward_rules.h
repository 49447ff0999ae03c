// Backward rules: the gradients of kinds that have no backward primitive, computed by other kinds of nodes (algebra and
// movement of data). Private to relayout/graph.
#pragma once

#include <functional>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Adds the nodes that compute the gradient of each source of `node` from `diff`, the gradient of its destination. The
/// result is kNone for source i if wanted(i) is false, or if the gradient is zero everywhere (comparisons). Errors:
/// unsupported, as append_backward().
std::vector<TensorId> backward_rule(Graph& graph, const Node& node, TensorId diff,
                                    const std::function<bool(std::size_t)>& wanted);

/// Error{unsupported}: `node` has no gradient because of `what`.
[[noreturn]] void refuse_backward(const Node& node, const std::string& what);

}  // namespace relayout::graph
