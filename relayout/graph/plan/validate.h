// Validate: whether a layout plan that comes from elsewhere is one of a graph, and touches no memory but its own.
#pragma once

#include "relayout/graph/plan/layout_plan.h"

namespace relayout::graph {

/// Every copy is of its tensor's dims, every operand a copy of the node's tensor, every view what its node or concat
/// makes of the other copy, nothing but elementwise nodes in place, and every buffer about as large as what it holds.
/// That what is read was written before is seen when a model is made (execute/). Error{invalid_argument} names the
/// tensor or node and what is wrong.
void validate(const Graph& graph, const LayoutPlan& plan);

}  // namespace relayout::graph
