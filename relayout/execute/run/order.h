// Order: the nodes and reorders of a plan in the order in which they run.
//
// Nodes stand in the graph's order, a reorder before the first node that reads what it makes. A copy whose memory is
// another's is ready when a node or reorder wrote it there, or, for what a view node gives, when the other one is; the
// destination of a concat that moves nothing is ready when all its parts are.
#pragma once

#include <vector>

#include "relayout/graph/plan/layout_plan.h"

namespace relayout::execute {

/// One of the two.
struct PlanStep {
  graph::NodeId node = graph::kNone;
  graph::CopyId reorder = graph::kNone;
};

struct PlanOrder {
  /// Reorders of constants, once; and each run's steps.
  std::vector<PlanStep> load, run;
};

/// Error{invalid_argument} where a plan cannot run: it reads a copy that nothing wrote or that a node in place has
/// overwritten, writes into an input's or a constant's memory, or has parts of a concat that are not where they belong.
PlanOrder order_of(const graph::Graph& graph, const graph::LayoutPlan& plan);

/// The copy in whose buffer this one lies: itself, or the last one along view_of.
graph::CopyId root_of(const graph::LayoutPlan& plan, graph::CopyId copy);
/// Whether a node writes its destination over that source.
bool is_in_place(const graph::LayoutPlan& plan, graph::CopyId src, graph::CopyId dst);

}  // namespace relayout::execute
