// Policies: the rules by which frameworks choose the layouts of a graph, and the systems that they come from.
//
//     any        the rule of the oneAPI specification ("Memory formats"): compute-bound primitives choose layouts, the
//                others use the layout of the primitive before them, and a reorder is added where these disagree
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

/// The layout that a policy of one layout for all gives an activation. Row-major below three dims, and under the
/// policies that are not of that kind.
Layout uniform_layout(const Dims& dims, const PropagateOptions& options);

}  // namespace relayout::graph
