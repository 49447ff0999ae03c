// Propagate: the layouts of a graph by the policies that frameworks use.
//
//     LayoutPlan plan = propagate(graph, *backend, {.policy = Policy::nhwc});
//
// Each walks the nodes once, from the first to the last, and never goes back on a choice.
//
//     any        the specification's own (oneAPI, "Memory formats"): compute-bound primitives choose, the others take
//                the layout of the primitive before them, reorders stand where formats disagree
//     nchw nhwc  one layout for every activation with spatial dims; a first convolution may read few channels as they
//     8c 16c     are. `blocked` is the block of the machine's registers.
//     blocked
//     openvino   OpenVINO's CPU plugin (src/plugins/intel_cpu/src/node.cpp, selectPreferPrimitiveDescriptor): of the
//                best family of implementations the one whose sources match the most layouts that are there already,
//                constants matching always; the first one among equals, blocked before channels last before row-major.
//                Convolutions of floating types are not offered channels last (nodes/conv.cpp, isNspcAvailable).
//     ort        ONNX Runtime's NCHWc transformer (onnxruntime/core/optimizer/nchwc_transformer.cc): convolutions
//                are blocked where their channels fill blocks (or are a first one's few), pooling where channels
//                do; elementwise ones, normalizations, sums and concats stay blocked where all their sources are and
//                channels fit. Everything else is row-major, with a reorder to it and, after it, from it.
//
// Not taken over are what these systems fuse, and zero-copy concats. Weights are each primitive's own choice under all
// of them; those that are inputs, as in training, are in the layout that their first reader chose, and a reader of
// another choice has a reorder in every run. Slow reference implementations are avoided even where that takes a
// reorder. Backward nodes, which the last two do not know, follow the same rules; under `ort` their forward node's.
#pragma once

#include "relayout/graph/plan/layout_plan.h"

namespace relayout::graph {

enum class Policy : uint8_t { any, nchw, nhwc, blocked, blocked8, blocked16, openvino, ort };
inline constexpr int kPolicyCount = 8;
/// "any", "nchw", "nhwc", "blocked", "8c", "16c", "openvino", "ort".
std::string_view name(Policy policy);
/// Error{parse} lists the names.
Policy parse_policy(std::string_view text);

struct PropagateOptions {
  Policy policy = Policy::any;
  /// Channels of a block of Policy::blocked, openvino and ort: 16 for 512-bit registers, 8 for 256-bit ones.
  int block = 16;
};

/// Errors: unsupported (a node that the backend has no way to run, named with its operands), what the views throw.
LayoutPlan propagate(const Graph& graph, const Backend& backend, const PropagateOptions& options = {});

/// The layout that a uniform policy gives an activation: row-major below three dims, and under the other policies.
Layout uniform_layout(const Dims& dims, const PropagateOptions& options);

}  // namespace relayout::graph
