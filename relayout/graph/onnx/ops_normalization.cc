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

/// The dims with those from `axis` on joined to one.
Dims joined(const Dims& dims, int axis) {
  Dims out, tail;
  for (int d = 0; d < dims.size(); ++d) (d < axis ? out : tail).push_back(dims[d]);
  out.push_back(elements_of(tail));
  return out;
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
  std::vector<Value> operands = {src, op.input(1), op.input(2)};
  if (!training) {
    operands.push_back(op.input(3));
    operands.push_back(op.input(4));
  }
  op.set(0, op.add(Kind::batch_normalization, attributes, operands, training ? 3 : 1).front());
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

void layer_normalization(Op& op) {
  const Value& src = op.input(0);
  if (op.wanted(1) || op.wanted(2)) throw NotExpressible{"mean or deviation are read"};
  const int axis = op.axis(op.integer("axis", -1), src.rank());
  const Dims dims = joined(src.dims, axis);
  const auto flat = [&](const Value& value) { return reshape(op, value, {dims[dims.size() - 1]}); };
  const Value* shift = op.optional(2);
  const Value out = op.add(Kind::layer_normalization, NormalizationAttributes{.epsilon = op.number("epsilon", 1e-5)},
                           {reshape(op, src, dims), flat(op.input(1)), shift != nullptr ? flat(*shift) : Value{}});
  op.set(0, reshape(op, out, src.dims));
}

void lrn(Op& op) {
  const int64_t size = op.integer("size", 0);
  if (size < 1) op.corrupt("size " + std::to_string(size));
  // An even window cannot be centred, and implementations disagree on which side has one channel fewer.
  if (size % 2 == 0) throw NotExpressible{"an even size, " + std::to_string(size)};
  op.set(0, op.add(Kind::lrn,
                   LrnAttributes{.size = size,
                                 .alpha = op.number("alpha", 1e-4),
                                 .beta = op.number("beta", 0.75),
                                 .k = op.number("bias", 1)},
                   {op.input(0)}));
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
  if (op.wanted(1)) throw NotExpressible{"the mask is read"};
  // Training graphs leave dropout out (onnx.h). In an inference graph it does nothing, so one that asks for
  // training mode is refused.
  if (const Value* training = op.optional(2); training != nullptr && op.model.graph.pass != Pass::forward_training) {
    if (!training->constant()) throw NotExpressible{"training_mode is no constant"};
    if (integers_of(*training) != std::vector<int64_t>{0}) throw NotExpressible{"training mode in an inference graph"};
  }
  op.set(0, op.input(0));
}

}  // namespace

std::span<const Operator> normalization_operators() {
  static constexpr std::array<Operator, 8> kOperators = {
      {{"BatchNormalization", batch_normalization, "epsilon momentum spatial:7-8 training_mode:14-"},
       {"InstanceNormalization", instance_normalization, "epsilon"},
       {"GroupNormalization", group_normalization, "epsilon num_groups stash_type:21-"},
       {"LayerNormalization", layer_normalization, "axis epsilon stash_type"},
       {"LRN", lrn, "alpha beta bias size"},
       {"Softmax", plain_softmax, "axis"},
       {"LogSoftmax", log_softmax, "axis"},
       {"Dropout", dropout, "ratio:7-11 seed:12-"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
