// ONNX operators that normalize, softmax among them, and those that inference leaves out.
#include <array>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// Reshapes `value`, which has one element for each channel, so that it broadcasts over dims N C and spatial ones of
/// that rank: 1 x C x 1 x 1 for rank 4.
Value by_channel(Op& op, const Value& value, int rank) {
  Dims dims(rank, 1);
  dims[1] = elements_of(value.dims);
  return reshape(op, value, dims);
}

void batch_normalization(Op& op) {
  const Value& src = op.input(0);
  if (src.rank() < 2) op.corrupt("a source of dims " + join(src.dims, "x"));
  if (op.integer("spatial", 1) == 0) throw NotExpressible{"a normalization a place (spatial 0)"};
  for (int i = 1; i < op.outputs(); ++i) {
    if (op.wanted(i)) throw NotExpressible{"running statistics are read"};
  }
  const NormalizationAttributes attributes{.epsilon = op.number("epsilon", 1e-5)};
  const bool training = op.model.graph.pass == Pass::forward_training;
  if (!training && op.integer("training_mode", 0) != 0) throw NotExpressible{"training mode in an inference graph"};
  std::vector<Value> operands = {few_dims(op, src), op.input(1), op.input(2)};
  if (!training) {
    operands.push_back(op.input(3));
    operands.push_back(op.input(4));
  }
  op.set(0, reshape(op, op.add(Kind::batch_normalization, attributes, operands, training ? 3 : 1).front(), src.dims));
}

void instance_normalization(Op& op) {
  const Value& src = op.input(0);
  if (src.rank() < 3) op.corrupt("a source of dims " + join(src.dims, "x"));
  const Value rows = reshape(op, src, joined(src.dims, 2));
  const Value normal =
      op.add(Kind::layer_normalization, NormalizationAttributes{.epsilon = op.number("epsilon", 1e-5)}, {rows});
  const Value scaled =
      binary(op, reshape(op, normal, src.dims), by_channel(op, op.input(1), src.rank()), BinaryAlgorithm::mul);
  op.set(0, binary(op, scaled, by_channel(op, op.input(2), src.rank()), BinaryAlgorithm::add));
}

/// Each group of channels of an image is one row, which is normalized. Until opset 20 a group has one scale and one
/// shift; since opset 21 each channel has its own.
void group_normalization(Op& op) {
  const Value& src = op.input(0);
  if (src.rank() < 3) op.corrupt("a source of dims " + join(src.dims, "x"));
  const int64_t groups = op.integer("num_groups", 0), channels = src.dims[1];
  if (groups < 1 || channels % groups != 0) {
    op.corrupt(std::to_string(groups) + " groups of " + std::to_string(channels) + " channels");
  }
  const int64_t members = channels / groups;
  Dims grouped = joined(src.dims, 2);
  grouped[1] = groups;
  grouped[2] *= members;
  const auto spread = [&](const Value& value) {
    const int64_t wanted = op.model.opset < 21 ? groups : channels;
    if (value.dims != Dims{wanted}) op.corrupt("a scale or shift of dims " + join(value.dims, "x"));
    if (wanted == channels) return by_channel(op, value, src.rank());
    const Value each = broadcast(op, reshape(op, value, {groups, 1}), {groups, members});
    return by_channel(op, each, src.rank());
  };
  const Value rows = reshape(op, src, grouped);
  const Value normal =
      op.add(Kind::layer_normalization, NormalizationAttributes{.epsilon = op.number("epsilon", 1e-5)}, {rows});
  const Value scaled = binary(op, reshape(op, normal, src.dims), spread(op.input(1)), BinaryAlgorithm::mul);
  op.set(0, binary(op, scaled, spread(op.input(2)), BinaryAlgorithm::add));
}

/// A scale or shift as one dim for the `inner` dims that are normalized together; nothing if it differs between those
/// outside. Error{corrupt} where it does not repeat to the source's dims.
std::optional<Value> for_inner(Op& op, const Value& value, const Dims& src, int axis) {
  if (broadcast_dims(op, src, value.dims) != src) {
    op.corrupt("a scale or shift of dims " + join(value.dims, "x") + " for " + join(src, "x"));
  }
  Dims inner, own = value.dims;
  for (int d = axis; d < src.size(); ++d) inner.push_back(src[d]);
  while (own.size() > inner.size() && own[0] == 1) own.erase(0);
  if (own.size() > inner.size()) return std::nullopt;
  return reshape(op, broadcast(op, reshape(op, value, own), inner), {elements_of(inner)});
}

/// Means and deviations have the source's dims, with extent 1 from the axis on.
void layer_normalization(Op& op) {
  const Value& src = op.input(0);
  const int axis = op.axis(op.integer("axis", -1), src.rank());
  const Dims dims = joined(src.dims, axis);
  const double epsilon = op.number("epsilon", 1e-5);
  const Value* shift = op.optional(2);
  const auto scale = for_inner(op, op.input(1), src.dims, axis);
  const auto added = shift != nullptr ? for_inner(op, *shift, src.dims, axis) : std::nullopt;
  const bool whole = scale && (shift == nullptr || added);
  const bool statistics = op.wanted(1) || op.wanted(2);
  const Value rows = reshape(op, src, dims);
  const std::vector<Value> out =
      op.add(Kind::layer_normalization, NormalizationAttributes{.epsilon = epsilon},
             {rows, whole ? *scale : Value{}, whole && added ? *added : Value{}}, statistics ? 3 : 1);
  Value normal = reshape(op, out[0], src.dims);
  if (!whole) normal = binary(op, normal, op.input(1), BinaryAlgorithm::mul);
  if (!whole && shift != nullptr) normal = binary(op, normal, *shift, BinaryAlgorithm::add);
  op.set(0, normal);
  Dims kept = src.dims;
  for (int d = axis; d < src.rank(); ++d) kept[d] = 1;
  if (op.wanted(1)) op.set(1, reshape(op, out[1], kept));
  if (!op.wanted(2)) return;
  const Value deviation = eltwise(op, linear(op, out[2], 1, epsilon), EltwiseAlgorithm::pow, 1, -0.5);
  op.set(2, reshape(op, deviation, kept));
}

void lrn(Op& op) {
  const int64_t size = op.integer("size", 0);
  if (size < 1) op.corrupt("size " + std::to_string(size));
  // An even window cannot be centred, and implementations disagree on which side has one channel fewer.
  if (size % 2 == 0) throw NotExpressible{"an even size, " + std::to_string(size)};
  const LrnAttributes attributes{
      .size = size, .alpha = op.number("alpha", 1e-4), .beta = op.number("beta", 0.75), .k = op.number("bias", 1)};
  const Value& src = op.input(0);
  op.set(0, reshape(op, op.add(Kind::lrn, attributes, {few_dims(op, src)}), src.dims));
}

/// Before opset 13, softmax is over all dims from the axis on together.
void softmax(Op& op, bool log) {
  const Value& src = op.input(0);
  const int axis = op.axis(op.integer("axis", op.model.opset < 13 ? 1 : -1), src.rank());
  Dims rest;
  for (int d = axis + 1; d < src.rank(); ++d) rest.push_back(src.dims[d]);
  if (op.model.opset >= 13 || elements_of(rest) == 1) {
    op.set(0, op.add(Kind::softmax, SoftmaxAttributes{axis, log}, {src}));
    return;
  }
  const Value rows = reshape(op, src, joined(src.dims, axis));
  op.set(0, reshape(op, op.add(Kind::softmax, SoftmaxAttributes{axis, log}, {rows}), src.dims));
}

void plain_softmax(Op& op) { softmax(op, false); }
void log_softmax(Op& op) { softmax(op, true); }

void dropout(Op& op) {
  // Training graphs leave dropout out (onnx.h). In an inference graph it does nothing, so one that asks for
  // training mode is refused, unless nothing is dropped.
  if (const Value* training = op.optional(2); training != nullptr && op.model.graph.pass != Pass::forward_training) {
    if (!training->constant()) throw NotExpressible{"training_mode is no constant"};
    const bool drops = !op.has(1) || !op.input(1).constant() || numbers_of(op.input(1)) != std::vector{0.0};
    if (integers_of(*training) != std::vector<int64_t>{0} && drops) {
      throw NotExpressible{"training mode in an inference graph"};
    }
  }
  op.set(0, op.input(0));
  const DType mask = op.model.opset < 12 ? op.input(0).dtype : DType::boolean;
  if (op.wanted(1)) op.set(1, broadcast(op, scalar(1, mask), op.input(0).dims));
}

/// The source divided by its norm over one axis, 0 where that is 0.
void lp_normalization(Op& op) {
  const Value& src = op.input(0);
  const int axis = op.axis(op.integer("axis", -1), src.rank());
  const int64_t p = op.integer("p", 2);
  if (p != 1 && p != 2) op.corrupt("p " + std::to_string(p));
  const Value norm = reduce(op, src, p == 1 ? ReductionAlgorithm::norm_l1 : ReductionAlgorithm::norm_l2, {axis});
  const Value zero = scalar(0, src.dtype), one = scalar(1, src.dtype);
  const Value nothing = binary(op, norm, zero, BinaryAlgorithm::eq);
  op.set(0, binary(op, src, select(op, nothing, one, norm), BinaryAlgorithm::div));
}

/// (x - mean) / (deviation + 1e-9) over axes, by default all but the channels.
void mean_variance_normalization(Op& op) {
  const Value& src = op.input(0);
  std::vector<int> axes;
  for (const int64_t axis : op.integers("axes").value_or(std::vector<int64_t>{0, 2, 3})) {
    axes.push_back(op.axis(axis, src.rank()));
  }
  const Value mean = reduce(op, src, ReductionAlgorithm::mean, axes);
  const Value centred = binary(op, src, mean, BinaryAlgorithm::sub);
  const Value variance = reduce(op, eltwise(op, centred, EltwiseAlgorithm::square), ReductionAlgorithm::mean, axes);
  const Value deviation = linear(op, eltwise(op, variance, EltwiseAlgorithm::sqrt), 1, 1e-9);
  op.set(0, binary(op, centred, deviation, BinaryAlgorithm::div));
}

}  // namespace

std::span<const Operator> normalization_operators() {
  static constexpr std::array<Operator, 10> kOperators = {
      {{"BatchNormalization", batch_normalization, "epsilon momentum spatial:7-8 training_mode:14-"},
       {"InstanceNormalization", instance_normalization, "epsilon"},
       {"GroupNormalization", group_normalization, "epsilon num_groups stash_type:21-"},
       {"LayerNormalization", layer_normalization, "axis epsilon stash_type"},
       {"LRN", lrn, "alpha beta bias size"},
       {"Softmax", plain_softmax, "axis"},
       {"LogSoftmax", log_softmax, "axis"},
       {"LpNormalization", lp_normalization, "axis p"},
       {"MeanVarianceNormalization", mean_variance_normalization, "axes"},
       {"Dropout", dropout, "ratio:7-11 seed:12-"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
