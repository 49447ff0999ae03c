// ONNX operators that reduce dims: axes as attribute or source, and dims that stay or go.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "relayout/core/wide.h"
#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// The axes in ascending order. Nothing if the operator returns its source unchanged.
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

/// Reduces all elements of an integer constant. Exporters do this to multiply dims or to find the largest.
std::optional<Value> folded(const Op& op, const Value& src, const std::vector<int>& axes, const Dims& dims,
                            ReductionAlgorithm algorithm) {
  if (!src.constant() || is_floating(src.dtype) || static_cast<int>(axes.size()) != src.rank()) return std::nullopt;
  const std::vector<int64_t> values = integers_of(src);
  if (values.empty()) return std::nullopt;
  int64_t out = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    std::optional<int64_t> next;
    switch (algorithm) {
      case ReductionAlgorithm::mul: next = checked_mul(out, values[i]); break;
      case ReductionAlgorithm::sum: next = checked_add(out, values[i]); break;
      case ReductionAlgorithm::max: next = std::max(out, values[i]); break;
      case ReductionAlgorithm::min: next = std::min(out, values[i]); break;
      default: return std::nullopt;
    }
    if (!next) {
      const std::string of = algorithm == ReductionAlgorithm::mul ? "product" : "sum";
      const auto farthest = std::ranges::max_element(values, {}, [](int64_t value) { return abs_wide(Wide{value}); });
      throw Error(ErrorCode::overflow,
                  "onnx: node \"" + escaped(op.name) + "\": the " + of + " of " + join(values) +
                      " overflows 64 bits; value " + std::to_string(farthest - values.begin()) + " (" +
                      std::to_string(*farthest) + ") is the largest",
                  "src", std::to_string(*farthest), std::to_string(std::numeric_limits<int64_t>::max()));
    }
    out = *next;
  }
  return integer_constant(dims, std::array{out}, src.dtype);
}

/// The least or the largest value of a type.
Value extreme(DType dtype, bool least) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_floating(dtype)) return number_constant({}, std::array{least ? -kInfinity : kInfinity}, dtype);
  if (dtype == DType::boolean) return integer_constant({}, std::array{int64_t{!least}}, dtype);
  const int width = bits(dtype);
  if (kind(dtype) == DTypeKind::unsigned_integer) {
    // The largest value has all bits set, and so has -1, whose low bits integer_constant() keeps.
    return integer_constant({}, std::array{least ? int64_t{0} : int64_t{-1}}, dtype);
  }
  const int64_t lowest = std::numeric_limits<int64_t>::min() >> (64 - width);
  return integer_constant({}, std::array{least ? lowest : ~lowest}, dtype);
}

/// The constant that a reduction over no elements gives. Nothing if there are elements, and for a mean, which ONNX
/// leaves undefined.
std::optional<Value> of_nothing(Op& op, const Value& src, const Dims& dims, ReductionAlgorithm algorithm) {
  if (elements_of(src.dims) != 0 || elements_of(dims) == 0) return std::nullopt;
  switch (algorithm) {
    case ReductionAlgorithm::mean: return std::nullopt;
    case ReductionAlgorithm::max:
    case ReductionAlgorithm::min: return broadcast(op, extreme(src.dtype, algorithm == ReductionAlgorithm::max), dims);
    default: break;
  }
  const int64_t value = algorithm == ReductionAlgorithm::mul ? 1 : 0;
  return broadcast(op, integer_constant({}, std::array{value}, src.dtype), dims);
}

/// The sum over axes that stay with extent 1; zeros over no elements.
Value sum_over(Op& op, const Value& src, const std::vector<int>& axes) {
  Dims dims = src.dims;
  for (const int axis : axes) dims[axis] = 1;
  if (elements_of(src.dims) == 0) return broadcast(op, scalar(0, src.dtype), dims);
  return reduce(op, src, ReductionAlgorithm::sum, axes);
}

template <ReductionAlgorithm algorithm>
void reduced(Op& op) {
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
  if (const auto constant = of_nothing(op, src, dims, algorithm)) return op.set(0, *constant);
  if (const auto constant = folded(op, src, *axes, dims, algorithm)) return op.set(0, *constant);
  if (src.rank() == 0) return op.set(0, src);
  op.set(0, reshape(op, reduce(op, src, algorithm, *axes), dims));
}

/// The dims of `value` that are reduced, which have extent 1, as keepdims says.
Value as_kept(Op& op, const Value& value, const std::vector<int>& axes) {
  if (op.integer("keepdims", 1) != 0) return value;
  Dims dims;
  for (int d = 0; d < value.rank(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d)) dims.push_back(value.dims[d]);
  }
  return reshape(op, value, dims);
}

/// The sum of squares; of nothing where the operator returns its source's squares.
void sum_of_squares(Op& op) {
  const Value& src = op.input(0);
  const Value squares = eltwise(op, src, EltwiseAlgorithm::square);
  const auto axes = reduced_axes(op, src.rank());
  if (!axes) return op.set(0, squares);
  op.set(0, as_kept(op, sum_over(op, squares, *axes), *axes));
}

void log_of_sum(Op& op) {
  const Value& src = op.input(0);
  const auto axes = reduced_axes(op, src.rank());
  const Value sum = axes ? as_kept(op, sum_over(op, src, *axes), *axes) : src;
  op.set(0, eltwise(op, sum, EltwiseAlgorithm::log));
}

/// The largest number of a type that f32 holds, too.
double largest_finite(DType dtype) {
  if (dtype == DType::f16) return 65504;
  return dtype == DType::bf16 ? 0x1.fep127 : std::numeric_limits<float>::max();
}

/// ln of the sum of e^x, as m + ln of the sum of e^(x - m) with the largest x, so that no exponential overflows.
void log_of_sum_of_exponentials(Op& op) {
  const Value& src = op.input(0);
  const auto axes = reduced_axes(op, src.rank());
  if (!axes) return op.set(0, src);
  if (elements_of(src.dims) == 0) {
    return op.set(0, eltwise(op, as_kept(op, sum_over(op, src, *axes), *axes), EltwiseAlgorithm::log));
  }
  // Where all are minus infinity, or one is infinity, the differences are NaN; a finite m avoids that.
  const double bound = largest_finite(src.dtype);
  const Value largest =
      eltwise(op, reduce(op, src, ReductionAlgorithm::max, *axes), EltwiseAlgorithm::clip, -bound, bound);
  const Value shifted = eltwise(op, binary(op, src, largest, BinaryAlgorithm::sub), EltwiseAlgorithm::exp);
  const Value log = eltwise(op, reduce(op, shifted, ReductionAlgorithm::sum, *axes), EltwiseAlgorithm::log);
  op.set(0, as_kept(op, binary(op, log, largest, BinaryAlgorithm::add), *axes));
}

}  // namespace

std::span<const Operator> reduction_operators() {
  static constexpr std::array<Operator, 10> kOperators = {
      {{"ReduceMean", reduced<ReductionAlgorithm::mean>, "axes:7-17 keepdims noop_with_empty_axes:18-"},
       {"ReduceSum", reduced<ReductionAlgorithm::sum>, "axes:7-12 keepdims noop_with_empty_axes:13-"},
       {"ReduceMax", reduced<ReductionAlgorithm::max>, "axes:7-17 keepdims noop_with_empty_axes:18-"},
       {"ReduceMin", reduced<ReductionAlgorithm::min>, "axes:7-17 keepdims noop_with_empty_axes:18-"},
       {"ReduceProd", reduced<ReductionAlgorithm::mul>, "axes:7-17 keepdims noop_with_empty_axes:18-"},
       {"ReduceL1", reduced<ReductionAlgorithm::norm_l1>, "axes:7-17 keepdims noop_with_empty_axes:18-"},
       {"ReduceL2", reduced<ReductionAlgorithm::norm_l2>, "axes:7-17 keepdims noop_with_empty_axes:18-"},
       {"ReduceSumSquare", sum_of_squares, "axes:7-17 keepdims noop_with_empty_axes:18-"},
       {"ReduceLogSum", log_of_sum, "axes:7-17 keepdims noop_with_empty_axes:18-"},
       {"ReduceLogSumExp", log_of_sum_of_exponentials, "axes:7-17 keepdims noop_with_empty_axes:18-"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
