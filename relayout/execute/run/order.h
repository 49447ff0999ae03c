// Order: the nodes and reorders of a plan in the order in which they run.
//
// Nodes run in the graph's order. A reorder runs just before the first node that reads its result. A copy that lies in
// another one's memory (view_of) can be read once a node or reorder has written it there; the result of a view node can
// be read as soon as the other copy can. A concat whose sources were written into its destination moves nothing: its
// destination can be read when all these parts can.
#pragma once

#include <vector>

#include "relayout/graph/plan/layout_plan.h"

namespace relayout::execute {

/// A node or a reorder: the other one is kNone.
struct PlanStep {
  graph::NodeId node = graph::kNone;
  graph::CopyId reorder = graph::kNone;
};

struct PlanOrder {
  /// Reorders of constants, which run once when the model is made; and the steps of each run.
  std::vector<PlanStep> load, run;
};

/// Error{invalid_argument} where a plan cannot run: it reads a copy that nothing wrote or that a node in place has
/// overwritten, writes into an input's or a constant's memory, or has parts of a concat that are not where they belong.
PlanOrder order_of(const graph::Graph& graph, const graph::LayoutPlan& plan);

/// The copy in whose buffer this one lies: itself, or the last one along view_of.
graph::CopyId root_of(const graph::LayoutPlan& plan, graph::CopyId copy);
/// The first node that reads a copy, and as which source; kNone if no node does.
std::pair<graph::NodeId, std::size_t> first_reader(const graph::LayoutPlan& plan, graph::CopyId copy);
/// Whether `dst` is written over `src`: it is a view of that copy, which a node makes.
bool is_in_place(const graph::LayoutPlan& plan, graph::CopyId src, graph::CopyId dst);

}  // namespace relayout::execute
