// Products of bytes by a backend's kernels for f32: the source and the weights are converted first (internal to
// execute). For machines whose instructions do not multiply bytes exactly, and for what the backend has no such kernel.
//
// The names of these implementations are those of the f32 kernel with "+relayout:widened" behind.
//
//     if (multiplies_bytes(graph, node)) {
//       const Graph wide = in_f32(graph, node);
//       for (Implementation& each : widened(backend's implementations of wide.nodes[0])) ...
//     }
#pragma once

#include "relayout/graph/plan/backend.h"

namespace relayout::execute {

/// Whether a node without post-ops is a product of 8-bit integers, of inference.
bool multiplies_bytes(const graph::Graph& graph, const graph::Node& node);
/// A graph of the node alone with operands of f32 and without a zero point. Its tensors are the node's operands.
graph::Graph in_f32(const graph::Graph& graph, const graph::Node& node);

/// Those of `found`, implementations of in_f32(), that can be used so, under their names here.
std::vector<graph::Implementation> widened(std::vector<graph::Implementation> found);
/// What their names have behind the kernel's.
inline constexpr std::string_view kWidened = "+relayout:widened";
bool is_widened(const graph::Implementation& implementation);
/// The implementation of the node of in_f32().
graph::Implementation narrowed_name(const graph::Implementation& implementation);
/// Converts and then runs `itself`, an executable of the node of in_f32(). Weights that are constants are converted in
/// the first run alone.
std::unique_ptr<graph::Executable> make_widened(std::unique_ptr<graph::Executable> itself, const graph::Graph& graph,
                                                const graph::Node& node, const graph::Implementation& implementation,
                                                int threads);

}  // namespace relayout::execute
