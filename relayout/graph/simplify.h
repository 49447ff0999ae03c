// Simplify: what a graph does not need to compute at run time.
#pragma once

#include "relayout/graph/graph.h"

namespace relayout::graph {

/// Nodes whose sources are all constants become constants; those whose result nobody reads go. Up to `max_bytes` of
/// new constants. Weights that only a view or reorder separates from their constant are folded too.
void fold_constants(Graph& graph, int64_t max_bytes = int64_t{1} << 30);

/// Inference batch normalization with constant scale, shift, mean and variance after a convolution, deconvolution or
/// inner product with constant weights, whose result nobody else reads, goes into the weights and the bias. A
/// multiplication or addition of a constant a channel likewise.
void fold_batch_normalization(Graph& graph);

/// Neighbours that undo each other, reshapes to the same dims, transposes that keep the order, sums of one.
void remove_identities(Graph& graph);

/// All of them, until nothing changes.
void simplify(Graph& graph);

/// Drops nodes and tensors that no output needs; ids change. Inputs stay.
void prune(Graph& graph);

}  // namespace relayout::graph
