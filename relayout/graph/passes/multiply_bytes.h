// Multiply bytes: products of numbers that were made of 8-bit integers become products of these integers.
//
//     y = conv((x - z) * s, w * t[o]) + b[o]     x of s8 or u8, constant w: as ONNX's DequantizeLinear gives both
//     y = conv(x, w) * (s * t)[o] + b[o]         sums of integers (src_zero_point z), and two functions behind
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Changes convolutions, inner products and matmuls of f32 whose source is (x - zero point) * scale and whose weights
/// are constants likewise, with one scale or one for each channel (matmul: column) of the destination. Weights less
/// their zero points must fit s8. The sums are exact, so results differ from those of the graph as it was by what f32
/// rounds. Must run before constants are folded, which makes f32 of the weights. Only nodes of inference. Ids of nodes
/// and tensors change.
void multiply_bytes(Graph& graph);

/// Lets nodes with post-ops write 8-bit integers that a reorder makes of their result, so that the reorder is no node
/// any more. Must run after fuse(). Ids of nodes and tensors change.
void store_bytes(Graph& graph);

}  // namespace relayout::graph
