// Simplify: what a graph does not need to compute at run time. What the outputs hold stays the same up to rounding;
// forward nodes that are hints stay as they are. Node ids change, tensor ids only where said.
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// What nodes make whose sources are all constants becomes constant, and the nodes go. Up to `max_bytes` of new
/// constants; those that only folded nodes read stay until prune(). Weights that only a view or reorder separates from
/// their constant are folded too. Not folded are 64-bit integers beyond what float64 holds.
void fold_constants(Graph& graph, int64_t max_bytes = int64_t{1} << 30);

/// Inference batch normalization with constant scale, shift, mean and variance after a convolution, deconvolution or
/// inner product with constant weights, whose result nobody else reads, goes into the weights and the bias. A
/// multiplication or addition of a constant a channel likewise. Only in f32 and f64: narrower weights would be rounded
/// anew.
void fold_batch_normalization(Graph& graph);

/// Neighbours that undo each other, reshapes to the same dims, transposes that keep the order, sums of one. A node
/// whose destination is an output, or has a fixed layout, stays.
void remove_identities(Graph& graph);

/// All of them, until nothing changes.
void simplify(Graph& graph);

/// Drops nodes and tensors that no output needs; ids change. Inputs stay.
void prune(Graph& graph);

}  // namespace relayout::graph
