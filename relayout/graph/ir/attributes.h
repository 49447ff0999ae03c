// Attributes: the kinds of primitives, and what a node of each kind says beside its operands. See graph.h, which has
// the operands.
#pragma once

#include <cstdint>
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
  array,    // what is computed on row-major arrays, see ArrayOperation
  barrier,  // an unknown operator: it reads and writes row-major layouts, and cannot run
};
inline constexpr int kKindCount = 27;

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
  /// Of a convolution of 8-bit integers: what stands for zero in the source and around it, so that sums are of
  /// (src - src_zero_point) * weights.
  int64_t src_zero_point = 0;
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

/// All elementwise functions of oneDNN, by its formulas, and those from erf to atanh, which it lacks. The backward pass
/// of those that end in _dst reads the forward destination instead of the source.
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
  sign,  // -1, 0 or 1; no derivative here, as all up to atanh
  floor,
  ceil,
  trunc,
  is_nan,       // 1 or 0, as the next two
  is_infinite,  // infinity if alpha is not 0, minus infinity if beta is not 0
  logical_not,
  bitwise_not,  // of whole numbers
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  relu_dst,
  tanh_dst,
  elu_dst,
  sqrt_dst,
  logistic_dst,
  exp_dst,
  clip_v2_dst
};
inline constexpr int kEltwiseCount = 50;
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
  /// Whether rows of minus infinity alone, in which every element is masked, give 0 in place of NaN. Not with log.
  bool masked_rows_give_zero = false;
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
/// mod has the sign of the divisor b, fmod that of a; by zero both are 0 for integers. Those named logical_ take what
/// is not 0 for true and give 0 or 1. Those named bitwise_ and shift_ take whole numbers; a shift right of a negative
/// number keeps its sign, and bits that are shifted beyond the type are lost. A shift by a negative number, or by as
/// many bits as the type has or more, gives 0, or -1 for a shift right of a negative number.
enum class BinaryAlgorithm : uint8_t {
  add,
  sub,
  mul,
  div,
  max,
  min,
  ge,
  gt,
  le,
  lt,
  eq,
  ne,
  pow,  // the first that oneDNN lacks, as all after it
  mod,
  fmod,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,
  shift_right
};
inline constexpr int kBinaryCount = 23;
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
/// What a node of Kind::array computes: operations whose elements go where indices say, or follow each other along a
/// dim. No layout makes them faster, so all operands are row-major. By operation, the sources and the destinations:
///
///     select            condition a b -> dst     a where the condition is not 0, else b; dims of extent 1 repeat
///     arg_max, arg_min  src -> dst               the index (s64) of the extreme along `axis`, which has extent 1 then,
///                                                the first of equal ones or, with `reverse`, the last; a NaN is one
///     top_k             src -> values indices    the `count` largest along `axis` or, with `reverse`, the smallest, in
///                                                order; of equal ones the first come first; a NaN is the largest
///     gather_elements   data indices -> dst      element i is the one of data whose index along `axis` indices[i] says
///     gather_nd         data indices -> dst      the last dim of indices has an index of the first dims of data behind
///                                                `count` dims that both have
///     scatter_elements  data indices updates     data, but updates[i] where along `axis` indices[i] says, combined
///                       -> dst                   with what is there by `scatter`
///     scatter_nd        data indices updates     data, but slices of updates where the last dim of indices says, by
///                       -> dst                   `scatter`
///     cumulative        src -> dst               the sum (`scatter` = add) or product (mul) of the elements up to each
///                                                one along `axis`, without it (`exclusive`), from the end (`reverse`)
///     bit_cast          src -> dst               the same bits as elements of `dtype`, which has as many
///     wrap              src -> dst               integers as those of `dtype`, by their low bits
///     grid_sample       src grid -> dst          src (N C spatial) at the positions of grid (N spatial dims), see
///                                                ArrayAttributes
///
/// Indices are s32 or s64, and count from the end where negative.
enum class ArrayOperation : uint8_t {
  select,
  arg_max,
  arg_min,
  top_k,
  gather_elements,
  gather_nd,
  scatter_elements,
  scatter_nd,
  cumulative,
  bit_cast,
  wrap,
  grid_sample
};
inline constexpr int kArrayCount = 12;
enum class ScatterAlgorithm : uint8_t { replace, add, mul, max, min };
enum class GridInterpolation : uint8_t { nearest, linear, cubic };
/// What stands beyond the border: zeros, the border's elements, or the tensor mirrored at the border.
enum class GridPadding : uint8_t { zeros, border, reflection };
struct ArrayAttributes {
  ArrayOperation operation = ArrayOperation::select;
  int axis = 0;
  int64_t count = 0;
  bool reverse = false, exclusive = false;
  ScatterAlgorithm scatter = ScatterAlgorithm::replace;
  DType dtype = DType::f32;
  /// Of grid_sample. A grid's last dim has a position in each spatial dim, innermost first, from -1 to 1: the centres
  /// of the first and the last element, if `align_corners`, else their outer edges.
  GridInterpolation interpolation = GridInterpolation::linear;
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;
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
                 BroadcastAttributes, PadAttributes, GatherAttributes, ArrayAttributes, BarrierAttributes>;

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
