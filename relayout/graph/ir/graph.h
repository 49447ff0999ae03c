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

namespace relayout::graph {

/// Index into Graph::tensors, or kNone.
using TensorId = int;
/// Index into Graph::nodes, or kNone.
using NodeId = int;
inline constexpr int kNone = -1;

enum class Kind : uint8_t {
  convolution,  // compute-bound: they choose their layouts
  deconvolution,
  matmul,
  inner_product,
  rnn,
  pooling,  // memory-bound: they follow the layout of their source
  batch_normalization,
  layer_normalization,
  lrn,
  eltwise,
  prelu,
  shuffle,
  softmax,
  resampling,
  reduction,
  concat,  // several sources, or a destination that a user fixed
  sum,
  binary,
  reorder,
  reshape,  // layout algebra: free where a view suffices
  transpose,
  slice,
  broadcast,
  pad,  // data movement
  gather,
  barrier,  // an unknown operator: it reads and writes row-major layouts, and cannot run
};
inline constexpr int kKindCount = 26;

enum class Pass : uint8_t {
  forward_inference,
  forward_training,
  backward_data,
  backward_weights,
  backward,  // the gradients of data and of weights in one node, as normalizations, prelu and rnn have them
};

/// Each list has one entry for each spatial dim, outermost first. An empty list stands for 1 everywhere (strides and
/// dilations), or for 0 (pads). A dilation of 1 means that the kernel reads neighbouring elements.
struct ConvolutionAttributes {
  Dims strides{}, dilations{}, pads_begin{}, pads_end{};
  int64_t groups = 1;
  /// Of a deconvolution: what is added to the end of each spatial dim of the destination.
  Dims output_padding{};
};
/// dst = a * b over the last two dims, batch dims broadcast.
struct MatmulAttributes {};
/// Multiplies each image of the source by the weights. Their dims are O I, or O I and the source's spatial dims.
struct InnerProductAttributes {};

enum class RnnCell : uint8_t { vanilla_relu, vanilla_tanh, vanilla_sigmoid, lstm, gru, lbr_gru };
enum class RnnDirection : uint8_t { left_to_right, right_to_left, bidirectional_concat, bidirectional_sum };
struct RnnAttributes {
  RnnCell cell = RnnCell::lstm;
  RnnDirection direction = RnnDirection::left_to_right;
};

/// An average divides by the size of the kernel, or (average_exclude_padding) by the number of its places that are not
/// padding.
enum class PoolingAlgorithm : uint8_t { max, average_include_padding, average_exclude_padding };
struct PoolingAttributes {
  PoolingAlgorithm algorithm = PoolingAlgorithm::max;
  /// Extents of the window. An empty list stands for the whole source: global pooling.
  Dims kernel{};
  Dims strides{}, dilations{}, pads_begin{}, pads_end{};
};

struct NormalizationAttributes {
  double epsilon = 1e-5;
  /// Of layer_normalization: the dims from this one to the last are normalized together.
  int axis = -1;
};

/// dst = src / (k + alpha / n * sum of squares)^beta. The sum is over n = `size` neighbouring channels or, within a
/// channel, over n = size^(spatial dims) neighbouring pixels.
struct LrnAttributes {
  bool within_channel = false;
  int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, k = 1;
};

/// All elementwise functions of oneDNN, by its formulas, and erf and sign, which it lacks. The backward pass of those
/// that end in _dst reads the forward destination instead of the source.
enum class EltwiseAlgorithm : uint8_t {
  relu,
  tanh,
  elu,
  square,
  abs,
  sqrt,
  linear,
  bounded_relu,
  soft_relu,
  logistic,
  exp,
  gelu_tanh,
  gelu_erf,
  swish,
  log,
  clip,
  clip_v2,
  pow,
  round,
  logsigmoid,
  mish,
  hardswish,
  hardsigmoid,
  erf,
  sign,  // -1, 0 or 1; no derivative
  relu_dst,
  tanh_dst,
  elu_dst,
  sqrt_dst,
  logistic_dst,
  exp_dst,
  clip_v2_dst
};
inline constexpr int kEltwiseCount = 32;
struct EltwiseAttributes {
  EltwiseAlgorithm algorithm = EltwiseAlgorithm::relu;
  double alpha = 0, beta = 0;
};

/// Channel shuffle: dim `axis`, split into groups x rest, is transposed to rest x groups.
struct ShuffleAttributes {
  int axis = 1;
  int64_t groups = 1;
};
struct SoftmaxAttributes {
  int axis = 1;
  bool log = false;
};

enum class ResamplingAlgorithm : uint8_t { nearest, linear };
/// How an index of the destination is mapped to a position in the source, by ONNX's names. oneDNN has only half_pixel,
/// for linear, and for nearest with halves rounded up.
enum class ResamplingCoordinates : uint8_t { half_pixel, pytorch_half_pixel, align_corners, asymmetric };
enum class ResamplingRounding : uint8_t { half_up, half_down, floor, ceil };
struct ResamplingAttributes {
  ResamplingAlgorithm algorithm = ResamplingAlgorithm::nearest;
  /// Spatial extents of the destination.
  Dims sizes{};
  ResamplingCoordinates coordinates = ResamplingCoordinates::half_pixel;
  ResamplingRounding rounding = ResamplingRounding::half_up;
};

enum class ReductionAlgorithm : uint8_t { max, min, sum, mul, mean, norm_l1, norm_l2 };
/// Reduces the listed dims, which stay with extent 1.
struct ReductionAttributes {
  ReductionAlgorithm algorithm = ReductionAlgorithm::mean;
  std::vector<int> axes{};
};

struct ConcatAttributes {
  int axis = 1;
};
/// dst = sum of scales[i] * src[i]. An empty list stands for 1 everywhere.
struct SumAttributes {
  std::vector<double> scales{};
};
/// div of integers truncates toward zero. Division by zero gives 0, and a quotient that the type cannot hold (the least
/// integer by -1) gives the type's largest value. pow is a to the power of b.
enum class BinaryAlgorithm : uint8_t { add, sub, mul, div, max, min, ge, gt, le, lt, eq, ne, pow };
inline constexpr int kBinaryCount = 13;
/// Dims of extent 1 of either source repeat.
struct BinaryAttributes {
  BinaryAlgorithm algorithm = BinaryAlgorithm::add;
};
struct PreluAttributes {};

/// dst = src * scale + shift, in type `dtype`, and in the destination's layout if a user fixed one.
struct ReorderAttributes {
  DType dtype = DType::f32;
  double scale = 1, shift = 0;
};
struct ReshapeAttributes {
  Dims dims{};
};
/// dst.dim(i) = src.dim(order[i]).
struct TransposeAttributes {
  std::vector<int> order{};
};
/// Indices start, start + step, ... before stop of each dim; step may be negative. One entry a dim.
struct SliceAttributes {
  Dims starts{}, stops{}, steps{};
};
struct BroadcastAttributes {
  Dims dims{};
};
enum class PadMode : uint8_t { constant, edge, reflect };
struct PadAttributes {
  Dims begin{}, end{};
  PadMode mode = PadMode::constant;
  double value = 0;
};
/// Takes elements of the first source along dim `axis`. In the destination the dims of `indices` replace that dim.
/// Indices are s32 or s64; negative ones count from the end.
struct GatherAttributes {
  int axis = 0;
};
/// The unknown operator's name, and the dims of its destinations, as far as they are known.
struct BarrierAttributes {
  std::string operation{};
  std::vector<Dims> dims{};
};

using NodeAttributes =
    std::variant<ConvolutionAttributes, MatmulAttributes, InnerProductAttributes, RnnAttributes, PoolingAttributes,
                 NormalizationAttributes, LrnAttributes, EltwiseAttributes, PreluAttributes, ShuffleAttributes,
                 SoftmaxAttributes, ResamplingAttributes, ReductionAttributes, ConcatAttributes, SumAttributes,
                 BinaryAttributes, ReorderAttributes, ReshapeAttributes, TransposeAttributes, SliceAttributes,
                 BroadcastAttributes, PadAttributes, GatherAttributes, BarrierAttributes>;

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

  template <typename T>
  const T& as() const {
    return std::get<T>(attributes);
  }
  bool forward() const { return pass == Pass::forward_inference || pass == Pass::forward_training; }
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
/// Compute-bound kinds choose their layouts, see Kind.
bool compute_bound(Kind kind);
/// reshape, transpose, slice and broadcast.
bool is_view(Kind kind);

/// The node that makes each tensor, or kNone.
std::vector<NodeId> producers(const Graph& graph);
/// The nodes that read each tensor, in order, each once.
std::vector<std::vector<NodeId>> consumers(const Graph& graph);

}  // namespace relayout::graph
