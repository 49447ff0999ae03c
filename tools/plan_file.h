// Plan files: a layout plan as JSON that is read back, and checked against the model before it may run.
//
//     "tensors"    {name: {"dims", "dtype"}}
//     "copies"     a tensor in one layout each: "tensor", "layout" (for people), "digits" ([extent, stride] of each
//                  dim, innermost first), "offset", and where it has them "from" (the copy that a reorder makes it
//                  from), "view_of" (the copy whose memory it is), "reason"
//     "primitives" of each: "name", "kind", "pass", "implementation"; "src" and "dst", copies by number, null where
//                  absent
//     "inputs", "outputs"  copies
//     "training"   false, "forward" (the forward pass as training runs it) or "step" (with the backward pass); true, in
//                  older files, is one of the two, as the primitives say
#pragma once

#include "relayout/graph/plan/layout_plan.h"
#include "tools/common.h"
#include "tools/json_file.h"

namespace relayout::tools {

/// "tensors", "copies", "inputs" and "outputs".
Json copies_json(const graph::Graph& graph, const graph::LayoutPlan& plan, const std::vector<std::string>& names);
/// Of one node: "src" and "dst".
Json operands_json(const std::vector<graph::CopyId>& copies);

/// What "digits" and "offset" of one of "copies" say; "layout" says the same.
Layout read_layout(const JsonItem& copy, const Dims& dims);
Dims read_dims(const JsonItem& dims);

/// The plan of a file, each step of which reads what is there; a backend is not asked for its implementations.
graph::LayoutPlan read_plan(const JsonItem& plan, const graph::Graph& graph);

/// "training" of ModelFlags, as files have it.
Json training_json(const std::string& training);
/// As ModelFlags has it; "" where a file does not say.
std::string read_training(const JsonItem& plan);

/// The JSON of a plan: bad data, naming the file, where it is no object or has not what plans have.
FileJson read_plan_json(const std::string& path, const char* needed);
/// The plan of a file. Errors, all naming what differs: bad data where it is no plan, or one of another model (names,
/// dims, types, primitives, layouts, memory), or planned for another --training than `training`; unsupported where the
/// backend lacks an implementation.
graph::LayoutPlan read_plan(const std::string& path, const graph::Graph& graph, const std::string& training,
                            const graph::Backend& backend);

}  // namespace relayout::tools
