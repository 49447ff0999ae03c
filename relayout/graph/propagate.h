// Propagate: the layouts of a graph by the policies that frameworks use.
//
//     LayoutPlan plan = propagate(graph, *backend, {.policy = Policy::nhwc});
//
// Policy::any is the specification's own (oneAPI, "Memory formats"): compute-bound primitives choose, the others
// take the layout of the primitive before them, reorders stand where formats disagree. The uniform ones ask for one
// layout of every activation with spatial dims; weights are each primitive's own choice under all of them.
#pragma once

#include "relayout/graph/layout_plan.h"

namespace relayout::graph {

enum class Policy : uint8_t { any, nchw, nhwc, blocked };
inline constexpr int kPolicyCount = 4;
std::string_view name(Policy policy);
/// Error{parse} lists the names.
Policy parse_policy(std::string_view text);

struct PropagateOptions {
  Policy policy = Policy::any;
  /// Channels of a block of Policy::blocked: 16 for 512-bit registers, 8 for 256-bit ones.
  int block = 16;
};

/// Errors: unsupported (a node that the backend has no way to run, named with its operands), what the views throw.
LayoutPlan propagate(const Graph& graph, const Backend& backend, const PropagateOptions& options = {});

/// The layout that a policy gives an activation: row-major below three dims, and under Policy::any.
Layout uniform_layout(const Dims& dims, const PropagateOptions& options);

}  // namespace relayout::graph
