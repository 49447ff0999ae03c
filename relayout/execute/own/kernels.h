// Own kernels that compute values or look them up, one source file each (internal to execute).
#pragma once

#include "relayout/execute/own/layouts.h"
#include "relayout/graph/plan/backend.h"

namespace relayout::execute {

/// The node that a kernel is made for, and the layouts of all its operands, sources then destinations.
struct OwnRequest {
  const graph::Graph& graph;
  const graph::Node& node;
  const Layouts& layouts;
  int threads = 0;

  const Layout& src(std::size_t i) const { return *layouts[i]; }
  const Layout& dst(std::size_t i = 0) const { return *layouts[node.src.size() + i]; }
  const graph::Tensor& src_tensor(std::size_t i) const { return graph.tensor(node.src[i]); }
  const graph::Tensor& dst_tensor(std::size_t i = 0) const { return graph.tensor(node.dst[i]); }
};

// Each function returns null if its kernel cannot run the node in these layouts.

/// batch_normalization of training, forward and backward: f32, src and diff_dst in one layout, diff_src in any.
std::unique_ptr<graph::Executable> make_batch_normalization(const OwnRequest& request);
/// gather: row-major operands, elements of whole bytes.
std::unique_ptr<graph::Executable> make_gather(const OwnRequest& request);
/// reduction to the largest or smallest element, and global max pooling, of inference: floating types, any layouts.
/// Other reductions as make_plain_reduction().
std::unique_ptr<graph::Executable> make_reduction(const OwnRequest& request);
/// resampling, forward and backward: f32, any layouts.
std::unique_ptr<graph::Executable> make_resampling(const OwnRequest& request);
/// eltwise and prelu (forward), binary and sum, with their post-ops: types of a byte or more, any layouts. Functions of
/// integers of 64 bits are those of make_integers(), and there is no sum of them.
std::unique_ptr<graph::Executable> make_elementwise(const OwnRequest& request);
/// The derivatives of hardsigmoid and erf: f32, one layout without gaps.
std::unique_ptr<graph::Executable> make_pointwise(const OwnRequest& request);
/// eltwise (forward) and binary: integers, into their own type or bool, any layouts.
std::unique_ptr<graph::Executable> make_integers(const OwnRequest& request);
/// array: row-major operands, elements of whole bytes.
std::unique_ptr<graph::Executable> make_array(const OwnRequest& request);
/// reduction, of types and algorithms that neither the backend nor make_reduction() has: row-major operands.
std::unique_ptr<graph::Executable> make_plain_reduction(const OwnRequest& request);
/// softmax (forward): row-major operands of a floating type that is not f32.
std::unique_ptr<graph::Executable> make_softmax(const OwnRequest& request);
/// matmul: row-major operands of one type of whole bytes, not f32. Slow: a reference.
std::unique_ptr<graph::Executable> make_matmul(const OwnRequest& request);
/// matmul and inner_product of inference with at most eight rows of the destination: f32, plain layouts whose columns,
/// inner elements or both follow each other.
std::unique_ptr<graph::Executable> make_few_rows(const OwnRequest& request);
/// rnn of inference: f32, lstm without projection, gru and lbr_gru of one layer, all operands row-major.
std::unique_ptr<graph::Executable> make_rnn(const OwnRequest& request);
/// rnn, backward: f32, an lstm with a projection to more channels than the cell has, any layouts. Slow: a reference.
std::unique_ptr<graph::Executable> make_projected_lstm(const OwnRequest& request);
/// pooling, forward and backward: averages without padding whose windows step over the whole source along a dim, so
/// that one of their elements at most lies in it, which the library refuses; any types and layouts. Slow: a reference.
std::unique_ptr<graph::Executable> make_sparse_average(const OwnRequest& request);
/// shuffle, concat, reshape, transpose, slice, broadcast, pad, reorder.
std::unique_ptr<graph::Executable> make_moves(const OwnRequest& request);

}  // namespace relayout::execute
