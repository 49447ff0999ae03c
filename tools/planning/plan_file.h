// Plan files: a layout plan as JSON. A plan that is read is checked against the model before it may run.
//
//     "tensors"    {name: {"dims", "dtype"}}
//     "copies"     a list; each is a tensor in one layout: "tensor", "layout" (for people), "digits" (for each dim its
//                  [extent, stride], innermost first), "offset", and where they apply "from" (the copy that a reorder
//                  makes it from), "view_of" (the copy whose memory it shares), "reason"
//     "primitives" a list; each has "name", "kind", "pass", "implementation", "src" and "dst" (numbers of copies; null
//                  where an operand is absent); where it has any, "post_ops": "name", "kind", "src" (numbers of
//                  values, see PostOp), and "algorithm", "alpha", "beta" or "scales"
//     "inputs", "outputs"  numbers of copies
//     "training"   false, "forward" (the forward pass as training runs it) or "step" (with the backward pass). Older
//                  files have true, which is "step" where there are backward primitives, else "forward"
#pragma once

#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/plan/layout_plan.h"
#include "tools/command/common.h"
#include "tools/command/json_file.h"

namespace relayout::tools {

/// "tensors", "copies", "inputs" and "outputs".
Json copies_json(const graph::Graph& graph, const graph::LayoutPlan& plan, const std::vector<std::string>& names);
/// A node's "post_ops".
Json post_ops_json(const graph::Node& node);
/// The copies that a node reads or writes, as "src" and "dst" have them.
Json operands_json(const std::vector<graph::CopyId>& copies);

/// The layout of one of "copies", by its "digits" and "offset". Bad data where "layout" says something else.
Layout read_layout(const JsonItem& copy, const Dims& dims);
/// The opaque format of a copy, if it has one.
std::optional<graph::Opaque> read_opaque(const JsonItem& copy);
Dims read_dims(const JsonItem& dims);

/// The dims that the inputs of a model have in a plan, for those that the model's file leaves open. Bad data where the
/// plan lacks an input or has it with another number of dims.
std::vector<std::optional<Dims>> planned_dims(const JsonItem& plan, std::span<const graph::OnnxInput> inputs);

/// The plan that the JSON holds, checked against the graph: each step reads copies that exist by then. Whether a
/// backend has the implementations is not checked.
graph::LayoutPlan read_plan(const JsonItem& plan, const graph::Graph& graph);

/// The value of "training" in a file for the `training` of ModelFlags.
Json training_json(const std::string& training);
/// The reverse; "" where the file has no "training".
std::string read_training(const JsonItem& plan);

/// The JSON of a plan file. Failure (bad data) that names the file where it is not an object or lacks the key `needed`.
FileJson read_plan_json(const std::string& path, const char* needed);
/// The plan of a file. Failures, each of which names what differs: bad data where the file is not a plan, is the plan
/// of another model (by names, dims, types, primitives, layouts or memory), or was planned for another --training than
/// `training`; unsupported where the backend lacks an implementation.
graph::LayoutPlan read_plan(const std::string& path, const graph::Graph& graph, const std::string& training,
                            const graph::Backend& backend);

}  // namespace relayout::tools
