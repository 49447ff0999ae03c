// Graph: a model as plain values, tensors and the primitives that compute them.
//
// Tensors have a name, a type, and logical dims in oneDNN's order (N C [D] [H] W; weights [G] O I [D] [H] W; T N C for
// RNN data). A tensor has a layout only where a user fixed one; for all others a planner chooses (`any`). Nodes stand
// in an order in which they can run. Functions that add a node compute the dims and types of its destinations (ops.h):
//
//     Graph g;
//     TensorId x = g.input("x", {1, 3, 224, 224}, DType::f32, Format::parse("nhwc"));
//     TensorId w = g.constant("w", {16, 3, 3, 3}, weights);
//     TensorId y = g.convolution(x, w, kNone, {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
//     g.output(g.eltwise(y, {.algorithm = EltwiseAlgorithm::relu}));
//
// Operands by kind. An absent optional operand (in []) is kNone, or left out at the end.
//
//     kind                 pass               src                                      dst
//     convolution,         forward            src weights [bias]                       dst
//     deconvolution,       backward_data      diff_dst weights                         diff_src
//     inner_product        backward_weights   src diff_dst                             diff_weights [diff_bias]
//     matmul               forward            a b [bias]                               dst
//     rnn                  forward            src_layer [src_iter] [src_iter_c] weights_layer weights_iter [bias]
//                                             [weights_projection]                     dst_layer [dst_iter]
//                                                                                      [dst_iter_c]
//                          backward           the forward's src, its dst, [diff_dst_layer] [diff_dst_iter]
//                          [diff_dst_iter_c],
//                                             each list with kNone where absent, to its full length (7, 3, 3)
//                                                                    diff_src_layer [diff_src_iter] [diff_src_iter_c]
//                                                                    diff_weights_layer diff_weights_iter [diff_bias]
//                                                                    [diff_weights_projection]
//     pooling, shuffle,    forward            src                                      dst
//     resampling           backward_data      diff_dst                                 diff_src
//     lrn, eltwise         forward            src                                      dst
//                          backward_data      src diff_dst                             diff_src
//     softmax              forward            src                                      dst
//                          backward_data      dst diff_dst                             diff_src
//     batch_normalization  forward_inference  src [scale] [shift] mean variance        dst
//                          forward_training   src [scale] [shift]                      dst mean variance
//                          backward           src [scale] mean variance diff_dst       diff_src [diff_scale]
//                          [diff_shift]
//     layer_normalization  forward            src [scale] [shift]                      dst [mean variance]
//                          backward           src [scale] mean variance diff_dst       diff_src [diff_scale]
//                          [diff_shift]
//     prelu                forward            src weights                              dst
//                          backward           src weights diff_dst                     diff_src diff_weights
//     concat, sum          forward            src...                                   dst
//     binary               forward            a b                                      dst
//     gather               forward            data indices                             dst
//     array                forward            see ArrayOperation (attributes.h)
//     others               forward            src                                      dst
//
// Dims of weights: convolution O I spatial, or G O/G I/G spatial with groups; deconvolution the same, where O are the
// channels of its destination; inner_product O I [spatial]; rnn L D I G O, with bias L D G O, states L D N C and
// src_layer T N C. Means, variances, scales, shifts and biases of other kinds have one dim.
//
// The gates of rnn stand in oneDNN's order along G: lstm input, forget, candidate, output; gru and lbr_gru update,
// reset, output (the candidate); a vanilla cell has one. The bias of lbr_gru has a fourth row, that of the linear part
// of the output gate. (PyTorch stores input, forget, candidate, output and reset, update, new; ONNX input, output,
// forget, cell and update, reset, hidden.)
//
// weights_projection (L D I O, oneDNN's ldio or ldoi) makes an lstm a projected one. Its cell has I channels, which is
// the O of weights_layer. The projection multiplies the cell's result into one of O channels, which are those of
// dst_layer, dst_iter and src_iter, and therefore the I of weights_iter. The cell states src_iter_c and dst_iter_c keep
// the channels of the cell.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "relayout/core/elements.h"
#include "relayout/core/format.h"
#include "relayout/graph/ir/attributes.h"

namespace relayout::graph {

/// Index into Graph::tensors, or kNone.
using TensorId = int;
/// Index into Graph::nodes, or kNone.
using NodeId = int;
inline constexpr int kNone = -1;

/// The values of a constant, row-major in the tensor's type.
using ConstantData = std::shared_ptr<const std::vector<std::byte>>;

struct Tensor {
  std::string name{};
  Dims dims{};
  DType dtype = DType::f32;
  /// The layout that a user fixed. Without one the planner chooses (`any`).
  std::optional<Layout> layout{};
  /// The values of a constant (weights); null for other tensors.
  ConstantData data{};

  bool constant() const { return data != nullptr; }
};

struct Node {
  std::string name{};
  Kind kind = Kind::eltwise;
  Pass pass = Pass::forward_inference;
  NodeAttributes attributes{};
  std::vector<TensorId> src{}, dst{};
  /// The forward node of a backward node; its pass is forward_training.
  NodeId hint = kNone;
  /// What is done with the elements of the only destination before it is written, one after the other; the last one
  /// gives the elements. passes/fuse.h makes them of nodes; only nodes of Pass::forward_inference have any. They add no
  /// dims: every result has those of what the node itself computes, and its type. Where the destination has another
  /// type, the last result is converted to it as Kind::reorder does.
  std::vector<PostOp> post_ops{};
  /// How many of `src`, at its end, are read by post-ops alone.
  std::size_t post_sources = 0;

  template <typename T>
  const T& as() const {
    return std::get<T>(attributes);
  }
  bool forward() const { return pass == Pass::forward_inference || pass == Pass::forward_training; }
  /// How many of `src`, from its beginning, are the operands of the node's kind.
  std::size_t own_sources() const { return src.size() - post_sources; }
};

struct Graph {
  std::vector<Tensor> tensors;
  /// Each node stands after those that make its sources.
  std::vector<Node> nodes;
  std::vector<TensorId> inputs, outputs;
  /// The name of each of `outputs`. If it is empty or missing, the tensor's name counts. One tensor can be several
  /// outputs, each with its own name.
  std::vector<std::string> output_names;
  /// The pass that the functions below give to the nodes that they add.
  Pass pass = Pass::forward_inference;

  const Tensor& tensor(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  Tensor& tensor(TensorId id) { return tensors[static_cast<std::size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  /// The name of output i.
  const std::string& output_name(std::size_t i) const;

  /// A tensor that is given at run time. `format` fixes its layout.
  TensorId input(std::string name, const Dims& dims, DType dtype = DType::f32,
                 const std::optional<Format>& format = {});
  /// A constant of row-major values. Error{invalid_argument} if their number does not fit the dims, or elements
  /// (core/elements.h) are of another type.
  TensorId constant(std::string name, const Dims& dims, std::span<const float> values);
  TensorId constant(std::string name, const Dims& dims, DType dtype, ConstantData data);
  TensorId constant(std::string name, const Dims& dims, DType dtype, const ConstElements& values);
  /// Makes a tensor an output. `format` fixes its layout. `name` is the output's name; if empty, the tensor's name
  /// counts.
  void output(TensorId tensor, const std::optional<Format>& format = {}, std::string name = {});

  /// Adds a node of `pass`, and its destinations with the dims and types of ops.h. An empty name becomes the kind and
  /// the node's number. Destinations have the node's name; those after the first have a colon and their number behind
  /// it. Axes that count from the end are stored as counted from the front. Errors: invalid_argument (operands that do
  /// not fit the kind; the message names the node, the operand and what was expected), overflow.
  std::vector<TensorId> add(Kind kind, NodeAttributes attributes, std::vector<TensorId> src, std::string name = {});
  /// The same for any pass. The node gives the hint, and `dsts` the number of destinations. A destination that the node
  /// cannot have is kNone.
  std::vector<TensorId> add(Node node, int dsts);

  TensorId convolution(TensorId src, TensorId weights, TensorId bias = kNone, ConvolutionAttributes attributes = {});
  TensorId deconvolution(TensorId src, TensorId weights, TensorId bias = kNone, ConvolutionAttributes attributes = {});
  TensorId matmul(TensorId a, TensorId b, TensorId bias = kNone);
  TensorId inner_product(TensorId src, TensorId weights, TensorId bias = kNone);
  TensorId pooling(TensorId src, PoolingAttributes attributes);
  TensorId eltwise(TensorId src, EltwiseAttributes attributes);
  TensorId softmax(TensorId src, SoftmaxAttributes attributes = {});
  TensorId binary(TensorId a, TensorId b, BinaryAlgorithm algorithm = BinaryAlgorithm::add);
  TensorId sum(std::vector<TensorId> src);
  TensorId concat(std::vector<TensorId> src, int axis = 1);
  TensorId reshape(TensorId src, const Dims& dims);
  TensorId transpose(TensorId src, std::vector<int> order);
};

/// "convolution", ... as in oneDNN's documentation.
std::string_view name(Kind kind);
std::string_view name(Pass pass);
std::string_view name(EltwiseAlgorithm algorithm);
std::string_view name(BinaryAlgorithm algorithm);
std::string_view name(ArrayOperation operation);
/// Compute-bound kinds choose their layouts, see Kind.
bool compute_bound(Kind kind);
/// Whether such nodes compute each element from those at the same index, and post-ops may stand behind them.
bool is_elementwise(Kind kind);
/// reshape, transpose, slice and broadcast.
bool is_view(Kind kind);

/// The node that makes each tensor, or kNone.
std::vector<NodeId> producers(const Graph& graph);
/// The nodes that read each tensor, in order, each once.
std::vector<std::vector<NodeId>> consumers(const Graph& graph);

}  // namespace relayout::graph
