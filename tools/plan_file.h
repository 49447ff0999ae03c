// Plan files: a layout plan as JSON that is read back, and checked against the model before it may run.
//
//     "tensors"    {name: {"dims", "dtype"}}
//     "copies"     a tensor in one layout each: "tensor", "layout" (for people), "digits" ([extent, stride] of each
//                  dim, innermost first), "offset", and where it has them "from" (the copy that a reorder makes it
//                  from), "view_of" (the copy whose memory it is), "reason"
//     "primitives" of each: "src" and "dst", copies by number, null where absent
//     "inputs", "outputs"  copies
#pragma once

#include "relayout/graph/layout_plan.h"
#include "tools/common.h"

namespace relayout::tools {

/// "tensors", "copies", "inputs" and "outputs".
Json copies_json(const graph::Graph& graph, const graph::LayoutPlan& plan, const std::vector<std::string>& names);
/// Of one node: "src" and "dst".
Json operands_json(const std::vector<graph::CopyId>& copies);

/// The plan of a file. Errors, all naming what differs: bad data where it is no plan, or one of another model (names,
/// dims, types, primitives, layouts, memory); unsupported where the backend lacks an implementation.
graph::LayoutPlan read_plan(const std::string& path, const graph::Graph& graph, const graph::Backend& backend);

}  // namespace relayout::tools
