// Fuse: nodes that work element by element become post-ops of one node, so that they take one pass over memory, or none
// of their own behind a product.
//
//     y = relu(a * s + b)    mul, add and relu become a mul with the post-ops add and relu; a * s and a * s + b are
//                            no tensors any more
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// The most tensors that one node reads element by element after fuse(); what a product computes counts as one.
inline constexpr std::size_t kMostFusedSources = 7;

/// Merges chains and trees of eltwise, binary and sum nodes: a node joins its only reader if its result is no output,
/// has no fixed layout, and has the dims and the type of the reader's result. Types are f32, f64 and bf16, whose range
/// holds what narrower types would round to infinity between. A convolution, deconvolution, matmul or inner product
/// that gives f32 joins its reader likewise. Only nodes of Pass::forward_inference are merged. The values of outputs
/// stay the same but for rounding. Ids of nodes and tensors change; a node has the name of the first of those that it
/// was, and its post-ops have the names of the others.
void fuse(Graph& graph);

}  // namespace relayout::graph
