// Steps that several passes of simplify take (internal to passes).
#pragma once

#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Removes the marked nodes, whose results nothing may read. Node ids change, tensor ids do not.
void drop_nodes(Graph& graph, const std::vector<bool>& dropped);
/// By node: whether a backward node has it as its hint, so that no pass may change it.
std::vector<bool> hints(const Graph& graph);

}  // namespace relayout::graph
