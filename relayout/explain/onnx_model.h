// Models of ONNX: their transpositions as a trace, and the names of their nodes for profiles.
//
//     const graph::OnnxTransposes found = graph::move_transposes("net.onnx");
//     to_text(explain(trace_of_model("net.onnx", found, this_machine())));
#pragma once

#include <filesystem>

#include "relayout/explain/readers.h"
#include "relayout/explain/report.h"
#include "relayout/graph/onnx/transposes.h"

namespace relayout::explaining {

/// The nodes of a model by the names that ONNX Runtime's profile has.
std::vector<NamedNode> named_nodes(const std::filesystem::path& model);

/// All nodes of the model. Its transpositions have the times that this project's plans of them are predicted to take on
/// the machine; those that `found` removes are judged avoidable, with its reasons. Errors: those of read_onnx_nodes().
Trace trace_of_model(const std::filesystem::path& model, const graph::OnnxTransposes& found,
                     const MachineTimes& machine);

/// What move_transposes() should minimise on the machine: predicted milliseconds, or bytes where it says nothing.
graph::TransposeCost cost_on(const MachineTimes& machine);

}  // namespace relayout::explaining
