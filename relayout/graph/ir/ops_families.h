// What the families of ops share (internal): access to a node's operands, and refusals that name them.
#pragma once

#include <string>

#include "relayout/graph/ir/ops.h"

namespace relayout::graph {

/// Computes sizes whose intermediate results may not fit 64 bits.
__extension__ typedef __int128 Wide;

/// "convolution 'conv1': weights is 16,3,3,3, expected 16,4,3,3".
[[noreturn]] void refuse(const Node& node, std::string_view operand, const std::string& value,
                         const std::string& expected, ErrorCode code = ErrorCode::invalid_argument);

/// One word of a Signature.
struct OperandName {
  std::string_view name;
  bool optional = false;
};
std::vector<OperandName> operand_names(std::string_view words);

/// The operands of a node. Their number was checked against the signature, and all required ones are there.
struct Operands {
  const Graph& graph;
  const Node& node;
  int dsts = 0;

  int count() const { return static_cast<int>(node.src.size()); }
  bool has(int i) const { return i < count() && node.src[static_cast<std::size_t>(i)] != kNone; }
  const Tensor& src(int i) const { return graph.tensor(node.src[static_cast<std::size_t>(i)]); }

  /// Refuses source i, called `operand`, unless it is absent or has these dims.
  void expect_dims(int i, std::string_view operand, const Dims& dims) const;
  void expect_rank(int i, std::string_view operand, int least, int most) const;
};

/// Returns `size`, the extent of a destination. Refuses it if it is below `least` or does not fit 64 bits; `what` names
/// it.
int64_t fitting(const Node& node, const std::string& what, Wide size, int64_t least);
/// The axis, counted from the front. `operand` is the attribute's name for a refusal.
int checked_axis(const Node& node, std::string_view operand, int axis, int ndims);
/// An attribute's list with one entry for each spatial dim. An empty list is filled with `fill`. Refuses entries below
/// `least`.
Dims filled_list(const Node& node, std::string_view operand, const Dims& list, int count, int64_t fill, int64_t least);
/// The number of places of a kernel along a dim: (extent + pads - (kernel - 1) * dilation - 1) / stride + 1.
int64_t window_places(const Node& node, int spatial_dim, int64_t extent, int64_t kernel, int64_t stride,
                      int64_t dilation, int64_t pads);

using Specs = std::vector<OperandSpec>;

Specs infer_convolution(const Operands& of);
Specs infer_deconvolution(const Operands& of);
Specs infer_matmul(const Operands& of);
Specs infer_inner_product(const Operands& of);
Specs infer_rnn(const Operands& of);
Specs infer_pooling(const Operands& of);
Specs infer_resampling(const Operands& of);
Specs infer_batch_normalization(const Operands& of);
Specs infer_layer_normalization(const Operands& of);
Specs infer_lrn(const Operands& of);
Specs infer_softmax(const Operands& of);
Specs infer_eltwise(const Operands& of);
Specs infer_prelu(const Operands& of);
Specs infer_shuffle(const Operands& of);
Specs infer_reduction(const Operands& of);
Specs infer_sum(const Operands& of);
Specs infer_binary(const Operands& of);
Specs infer_reorder(const Operands& of);
Specs infer_concat(const Operands& of);
Specs infer_reshape(const Operands& of);
Specs infer_transpose(const Operands& of);
Specs infer_slice(const Operands& of);
Specs infer_broadcast(const Operands& of);
Specs infer_pad(const Operands& of);
Specs infer_gather(const Operands& of);
Specs infer_array(const Operands& of);
Specs infer_barrier(const Operands& of);

}  // namespace relayout::graph
