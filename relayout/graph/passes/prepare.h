// Prepare: all passes between the import of a model for inference and its plan, in their order.
//
//     Widened changed = prepare(graph, [&](const Graph& g, NodeId n) { return has_implementation(*backend, g, n); });
#pragma once

#include "relayout/graph/passes/widen.h"

namespace relayout::graph {

/// Products of dequantized bytes become products of bytes (multiply_bytes.h), what need not be computed in each run is
/// computed now (simplify.h), types that the backend lacks become f32 (widen.h), and elementwise functions become
/// post-ops (fuse.h), those between bytes and bytes as few as can be (requantize.h). Returns what widen() changed. Ids
/// of nodes and tensors change.
Widened prepare(Graph& graph, const Computable& computable);

/// Inputs and outputs that have no layout become row-major, as ONNX has them. Where the caller's memory is row-major,
/// that is to be said before a plan is made, so that it counts what reorders from and to there take.
void make_ends_row_major(Graph& graph);

}  // namespace relayout::graph
