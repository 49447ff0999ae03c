// ONNX's losses of classes: NegativeLogLikelihoodLoss, and SoftmaxCrossEntropyLoss, which takes the logarithm itself.
#include <array>
#include <numeric>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

Value sum_of_all(Op& op, const Value& value) {
  std::vector<int> axes(static_cast<std::size_t>(value.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return reshape(op, reduce(op, value, ReductionAlgorithm::sum, axes), {});
}

/// The mean or sum of the losses -probability[n, target[n, ...], ...] * weight of the target's class. A target that is
/// ignored counts nothing.
Value loss_of(Op& op, const Value& logarithms, const std::string& reduction) {
  const Value& target = op.input(1);
  Dims dims = target.dims;
  dims.insert(1, 1);
  if (logarithms.rank() != dims.size()) op.corrupt("targets of dims " + join(target.dims, "x"));
  Value classes = cast(op, target, DType::s64), counted;
  const bool ignores = op.find("ignore_index") != nullptr;
  if (ignores) {
    const Value ignored = integer_constant({}, std::array{op.integer("ignore_index", 0)});
    counted = binary(op, classes, ignored, BinaryAlgorithm::ne);
    classes = select(op, counted, classes, integer_constant({}, std::array{int64_t{0}}));
  }
  const Value picked = op.add(Kind::array, ArrayAttributes{.operation = ArrayOperation::gather_elements, .axis = 1},
                              {logarithms, reshape(op, classes, dims)});
  Value loss = multiplied(op, reshape(op, picked, target.dims), -1);
  std::optional<Value> weights;
  if (op.has(2)) weights = gather(op, op.input(2), classes, 0);
  if (ignores) {
    const Value zero = scalar(0, loss.dtype);
    weights = weights ? select(op, counted, *weights, zero) : cast(op, counted, loss.dtype);
    loss = select(op, counted, loss, zero);
  }
  if (weights) loss = binary(op, loss, *weights, BinaryAlgorithm::mul);
  if (reduction == "none") return loss;
  const Value sum = sum_of_all(op, loss);
  if (reduction == "sum") return sum;
  if (reduction != "mean") op.corrupt("reduction " + in_quotes(reduction));
  if (!weights) return multiplied(op, sum, 1 / static_cast<double>(elements_of(target.dims)));
  return binary(op, sum, sum_of_all(op, *weights), BinaryAlgorithm::div);
}

void likelihood_loss(Op& op) { op.set(0, loss_of(op, op.input(0), op.text("reduction", "mean"))); }

void cross_entropy_loss(Op& op) {
  const Value& src = op.input(0);
  if (src.rank() < 2) op.corrupt("scores of dims " + join(src.dims, "x"));
  const Value logarithms = op.add(Kind::softmax, SoftmaxAttributes{1, true}, {src});
  op.set(0, loss_of(op, logarithms, op.text("reduction", "mean")));
  if (op.wanted(1)) op.set(1, logarithms);
}

}  // namespace

std::span<const Operator> loss_operators() {
  static constexpr std::array<Operator, 2> kOperators = {
      {{"NegativeLogLikelihoodLoss", likelihood_loss, "ignore_index reduction"},
       {"SoftmaxCrossEntropyLoss", cross_entropy_loss, "ignore_index reduction"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
