// Validate: whether a layout plan that was read from a file fits a graph and stays within its buffers.
#pragma once

#include "relayout/graph/plan/layout_plan.h"

namespace relayout::graph {

/// Checks that every copy has the dims of its tensor, that every operand is a copy of the node's tensor, that every
/// view is what its node or concat makes of the other copy, that only elementwise nodes run in place, and that no
/// buffer is much larger than what it holds. Whether each copy is written before it is read is checked when a model is
/// made (execute/). Error{invalid_argument} names the tensor or node and what is wrong.
void validate(const Graph& graph, const LayoutPlan& plan);

}  // namespace relayout::graph
