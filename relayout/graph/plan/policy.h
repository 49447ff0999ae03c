// Policies: the rules by which frameworks choose the layouts of a graph, and the systems that they come from.
//
//     any        The rule of the oneAPI specification ("Memory formats"): compute-bound primitives choose layouts, the
//                others use the layout of the primitive before them. Where these disagree, a reorder is added.
//     nchw nhwc  One layout for every activation with spatial dims. A first convolution may read its few channels as
//     8c 16c     they are. The block of `blocked` fills a register of the machine.
//     blocked
//     openvino   OpenVINO's CPU plugin (src/plugins/intel_cpu/src/node.cpp, selectPreferPrimitiveDescriptor). Of the
//                best family of implementations it takes the one most of whose sources have their layouts already;
//                constants always count as such. Among equals it prefers blocked to channels last to row-major.
//                Convolutions of floating types are not offered channels last (nodes/conv.cpp, isNspcAvailable).
//     ort        ONNX Runtime's NCHWc transformer (onnxruntime/core/optimizer/nchwc_transformer.cc). Convolutions are
//                blocked if their channels fill blocks, or if a first one's are few; pooling is if its channels fill
//                blocks. Elementwise nodes, normalizations, sums and concats stay blocked if all their sources are
//                blocked and the channels fill blocks. Everything else is row-major, with reorders before and after.
//
// The fusions of these systems and their concats without a copy are not modelled. Under every policy each primitive
// chooses the layout of its weights. Weights that are inputs, as in training, have the layout that their first reader
// chose, and a reader that chose another one needs a reorder in every run. Slow reference implementations are avoided,
// even if that takes a reorder. `openvino` and `ort` know no backward nodes: these follow the same rules here, and
// under `ort` those of their forward node.
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

enum class Policy : uint8_t { any, nchw, nhwc, blocked, blocked8, blocked16, openvino, ort };
inline constexpr int kPolicyCount = 8;
/// "any", "nchw", "nhwc", "blocked", "8c", "16c", "openvino", "ort".
std::string_view name(Policy policy);
/// Error{parse} lists the names.
Policy parse_policy(std::string_view text);

struct PropagateOptions {
  Policy policy = Policy::any;
  /// The channels of a block under Policy::blocked, openvino and ort: 16 for 512-bit registers, 8 for 256-bit ones.
  int block = 16;
};

/// The layout that an activation has under a policy of one layout for all. Row-major if the activation has fewer than
/// three dims, and under all other policies.
Layout uniform_layout(const Dims& dims, const PropagateOptions& options);

}  // namespace relayout::graph
