// Systems that run whole graphs, to compare with: the same graph, weights and inputs.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "relayout/execute/run/execute.h"
#include "relayout/graph/ir/graph.h"

namespace relayout::bench {

struct GraphCompetitor {
  std::string name;
  /// One run; inputs are row-major, and outputs are made row-major.
  std::function<void(std::span<const execute::Source>, std::span<const execute::Destination>)> run;
};

/// The systems that this build has and that know every kind of node of this graph, which must outlive them.
std::vector<GraphCompetitor> graph_competitors(const graph::Graph& graph, int threads);

#if RELAYOUT_COMPARE_TORCH
/// PyTorch, eagerly, with activations and weights in one memory format. Error{unsupported} where it lacks a node's
/// kind.
GraphCompetitor torch_graph(const graph::Graph& graph, bool channels_last, int threads);
#endif

}  // namespace relayout::bench
