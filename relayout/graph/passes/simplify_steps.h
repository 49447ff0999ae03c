// What the passes of simplify share (internal).
#pragma once

#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Drops the marked nodes; nobody may need what they make. Node ids change, tensor ids do not.
void drop_nodes(Graph& graph, const std::vector<bool>& dropped);
/// Forward nodes that some backward node has as its hint: they stay as they are.
std::vector<bool> hints(const Graph& graph);

}  // namespace relayout::graph
