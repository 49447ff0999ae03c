// Propagate: the layouts of a graph by the policies that frameworks use (policy.h).
//
//     LayoutPlan plan = propagate(graph, *backend, {.policy = Policy::nhwc});
//
// Each policy walks over the nodes once, from the first to the last, and never changes an earlier choice.
#pragma once

#include "relayout/graph/plan/layout_plan.h"
#include "relayout/graph/plan/policy.h"

namespace relayout::graph {

/// Errors: unsupported (the backend has no implementation of a node, which is named with its operands), and what the
/// views throw.
LayoutPlan propagate(const Graph& graph, const Backend& backend, const PropagateOptions& options = {});

}  // namespace relayout::graph
