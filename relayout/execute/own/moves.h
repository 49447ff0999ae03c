// Moves: nodes that only move elements, as reorders between views (internal to execute).
#pragma once

#include <optional>
#include <vector>

#include "relayout/graph/ir/graph.h"
#include "relayout/reorder/plan.h"

namespace relayout::execute {

/// One reorder that makes a part of the destination: from a view of source `src` (or from one constant, if that is
/// kNone) to a view of the destination.
struct Move {
  int src = 0;
  Layout from, to;
};

/// The moves that make a node's destination; nothing if views cannot express them in these layouts. Together they write
/// every element, but not the padding, which the caller writes.
std::optional<std::vector<Move>> moves_of(const graph::Graph& graph, const graph::Node& node,
                                          const std::vector<Layout>& src, const Layout& dst);

}  // namespace relayout::execute
