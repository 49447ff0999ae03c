// Attributes: the kinds of primitives, their passes, and what describes each kind beside its operands (graph.h).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "relayout/core/dtype.h"
#include "relayout/core/extents.h"

namespace relayout::graph {

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

/// A function of elements that a node applies to what it has computed, before it writes it (Node::post_ops).
struct PostOp {
  std::variant<EltwiseAttributes, BinaryAttributes, SumAttributes> function{};
  /// What it reads, by number: first the node's sources, then what the node itself computes, then the results of its
  /// post-ops so far. Dims of extent 1 of a source repeat.
  std::vector<int> src{};
  /// The name of the node that it was.
  std::string name{};
};

}  // namespace relayout::graph
