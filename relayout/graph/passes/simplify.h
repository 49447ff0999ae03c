// Simplify: removes from a graph what need not be computed in each run. The values of the outputs stay the same but for
// rounding. Forward nodes that are the hint of a backward node stay as they are. Node ids change; tensor ids change
// only in functions that say so.
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Computes nodes whose sources are all constants: their results become constants, and the nodes are removed. At most
/// `max_bytes` of new constants are made. Constants that only folded nodes read stay until prune(). Views and reorders
/// of constant weights are folded like other nodes. 64-bit integers that float64 cannot hold are not folded.
void fold_constants(Graph& graph, int64_t max_bytes = int64_t{1} << 30);

/// Multiplies a batch normalization into the weights and the bias of the convolution, deconvolution or inner product
/// before it. The normalization must be of inference, all its parameters and the weights constant, and nothing else may
/// read the result between. A multiplication or addition of one constant for each channel is treated alike. Only f32
/// and f64 are changed, as narrower weights would be rounded a second time.
void fold_batch_normalization(Graph& graph);

/// Removes nodes that return their source: pairs that undo each other, reshapes to the same dims, transposes that keep
/// the order, sums of one tensor. A node whose destination is an output, or has a fixed layout, stays.
void remove_identities(Graph& graph);

/// Finds what exporters write as several nodes although it is one primitive, and makes it one: layer normalization over
/// the last dims (of f32) with its scale and shift, GELU by tanh, x * sigmoid(alpha * x), and a product of f32 matrices
/// with a constant bias. Only nodes of inference.
void join_compositions(Graph& graph);

/// Makes a product of many matrices of one row each by one matrix (64x1x256 by 1x256x1000) the product of one matrix of
/// all these rows, between two reshapes. Only nodes of inference. Ids of nodes change.
void join_rows(Graph& graph);

/// Applies the functions of this file until nothing changes. Ids of tensors change.
void simplify(Graph& graph);

/// Removes the nodes and tensors that no output needs. Inputs stay. Ids of nodes and tensors change.
void prune(Graph& graph);

}  // namespace relayout::graph
