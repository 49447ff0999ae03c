// ONNX operators that reduce dims: axes as attribute or source, and dims that stay or go.
#include <algorithm>
#include <array>
#include <numeric>

#include "relayout/graph/onnx_import.h"

namespace relayout::graph::importing {
namespace {

/// Axes in order; nothing where the operator does nothing.
std::optional<std::vector<int>> reduced_axes(const Op& op, int rank) {
  const auto given = op.has(1) ? std::optional(op.integers_of(1)) : op.integers("axes");
  std::vector<int> axes;
  for (const int64_t axis : given.value_or(std::vector<int64_t>{})) axes.push_back(op.axis(axis, rank));
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) op.corrupt("axes " + join(*given));
  if (!axes.empty()) return axes;
  if (op.integer("noop_with_empty_axes", 0) != 0) return std::nullopt;
  axes.resize(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Constants of shapes: the product of dims, the largest.
std::optional<Value> folded(const Op& op, const Value& src, const std::vector<int>& axes, const Dims& dims,
                            ReductionAlgorithm algorithm) {
  if (!src.constant() || static_cast<int>(axes.size()) != src.rank() || elements_of(src.dims) == 0) return std::nullopt;
  std::string_view step;
  if (algorithm == ReductionAlgorithm::mul) step = "Mul";
  if (algorithm == ReductionAlgorithm::sum) step = "Add";
  if (algorithm == ReductionAlgorithm::max) step = "Max";
  if (algorithm == ReductionAlgorithm::min) step = "Min";
  if (step.empty() || is_floating(src.dtype)) return std::nullopt;
  const std::vector<int64_t> values = integers_of(src);
  Value out = integer_constant(dims, std::array{values.front()}, src.dtype);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto next = fold_binary(op, out, integer_constant(dims, std::array{values[i]}, src.dtype), step, dims);
    out = *next;
  }
  return out;
}

template <ReductionAlgorithm algorithm>
void reduce(Op& op) {
  const Value& src = op.input(0);
  const auto axes = reduced_axes(op, src.rank());
  if (!axes) return op.set(0, src);
  Dims dims;
  for (int d = 0; d < src.rank(); ++d) {
    if (!std::binary_search(axes->begin(), axes->end(), d))
      dims.push_back(src.dims[d]);
    else if (op.integer("keepdims", 1) != 0)
      dims.push_back(1);
  }
  if (const auto constant = folded(op, src, *axes, dims, algorithm)) return op.set(0, *constant);
  if (src.rank() == 0) return op.set(0, src);
  op.set(0, reshape(op, op.add(Kind::reduction, ReductionAttributes{algorithm, *axes}, {src}), dims));
}

}  // namespace

std::span<const Operator> reduction_operators() {
  static constexpr std::array<Operator, 7> kOperators = {{{"ReduceMean", reduce<ReductionAlgorithm::mean>},
                                                          {"ReduceSum", reduce<ReductionAlgorithm::sum>},
                                                          {"ReduceMax", reduce<ReductionAlgorithm::max>},
                                                          {"ReduceMin", reduce<ReductionAlgorithm::min>},
                                                          {"ReduceProd", reduce<ReductionAlgorithm::mul>},
                                                          {"ReduceL1", reduce<ReductionAlgorithm::norm_l1>},
                                                          {"ReduceL2", reduce<ReductionAlgorithm::norm_l2>}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
