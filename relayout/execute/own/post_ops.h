// Post-ops behind a primitive that a backend computes without them: the primitive writes the destination, and a program
// of element functions goes over it (internal to execute).
//
// The names of these implementations are the primitive's with "+relayout:fused" behind.
//
//     for (Implementation& each : with_post_ops(graph, node, found, requests, threads)) ...
//     after(backend's executable of alone.nodes[0], graph, node, implementation, threads)->run(src, dst)
#pragma once

#include "relayout/execute/own/layouts.h"
#include "relayout/graph/plan/backend.h"

namespace relayout::execute {

/// Whether a node's post-ops are computed so: those of nodes that are no elementwise functions themselves.
bool has_post_ops_behind(const graph::Node& node);

/// Those of `found`, implementations of the node without post-ops, behind which the post-ops can be computed. Sources
/// of the post-ops have the layouts of `requests`, which has all operands, or follow the destination.
std::vector<graph::Implementation> with_post_ops(const graph::Graph& graph, const graph::Node& node,
                                                 std::vector<graph::Implementation> found, const Layouts& requests);
bool is_with_post_ops(const graph::Implementation& implementation);
/// The implementation of the node without post-ops.
graph::Implementation without_post_ops(const graph::Node& node, const graph::Implementation& implementation);
/// Runs the node itself and then its post-ops. Error{unsupported} if with_post_ops() does not offer the implementation.
std::unique_ptr<graph::Executable> make_with_post_ops(std::unique_ptr<graph::Executable> itself,
                                                      const graph::Graph& graph, const graph::Node& node,
                                                      const graph::Implementation& implementation, int threads);

}  // namespace relayout::execute
