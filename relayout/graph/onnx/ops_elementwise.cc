// ONNX operators that work element by element, on one value or on several with dims that repeat.
#include <array>
#include <cmath>
#include <limits>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

using Algorithm = EltwiseAlgorithm;

void apply(Op& op, Algorithm algorithm, double alpha = 0, double beta = 0) {
  op.set(0, eltwise(op, op.input(0), algorithm, alpha, beta));
}

template <Algorithm algorithm>
void plain(Op& op) {
  apply(op, algorithm);
}

void leaky_relu(Op& op) { apply(op, Algorithm::relu, op.number("alpha", 0.01)); }
void elu(Op& op) { apply(op, Algorithm::elu, op.number("alpha", 1)); }
void hard_sigmoid(Op& op) { apply(op, Algorithm::hardsigmoid, op.number("alpha", 0.2), op.number("beta", 0.5)); }
void hard_swish(Op& op) { apply(op, Algorithm::hardswish, 1.0 / 6, 0.5); }
void softplus(Op& op) { apply(op, Algorithm::soft_relu, 1); }
void mish(Op& op) { apply(op, Algorithm::mish); }
void swish(Op& op) { apply(op, Algorithm::swish, op.number("alpha", 1)); }
void reciprocal(Op& op) { apply(op, Algorithm::pow, 1, -1); }

void selu(Op& op) {
  const Value out = op.add(
      Kind::eltwise, EltwiseAttributes{Algorithm::elu, op.number("alpha", 1.67326319217681884765625)}, {op.input(0)});
  op.set(0, multiplied(op, out, op.number("gamma", 1.05070102214813232421875)));
}

void gelu(Op& op) {
  const std::string approximate = op.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") op.corrupt("approximate \"" + escaped(approximate) + "\"");
  apply(op, approximate == "tanh" ? Algorithm::gelu_tanh : Algorithm::gelu_erf);
}

void neg(Op& op) {
  const Value& src = op.input(0);
  const Value minus_one = integer_constant({}, std::array<int64_t, 1>{-1}, src.dtype);
  const auto folded = fold_binary(op, src, minus_one, "Mul", src.dims);
  op.set(0, folded ? *folded : multiplied(op, src, -1));
}

/// Clip. Its bounds are attributes before opset 11, and sources since.
void clip(Op& op) {
  // The attributes' defaults are the largest f32; a source that is left out is no bound at all.
  constexpr double kLargest = std::numeric_limits<float>::max(), kInfinity = std::numeric_limits<double>::infinity();
  const double none = op.model.opset < 11 ? kLargest : kInfinity;
  std::array<double, 2> bounds = {op.number("min", -none), op.number("max", none)};
  Value out = op.input(0);
  // By bound: whether it is a source of its own, because it is computed at run time, or is NaN and so is the result.
  std::array<bool, 2> open{};
  for (int i = 0; i < 2; ++i) {
    const auto side = static_cast<std::size_t>(i);
    const Value* bound = op.optional(i + 1);
    if (bound == nullptr) continue;
    open[side] = !bound->constant();
    if (open[side]) continue;
    if (elements_of(bound->dims) != 1) op.corrupt("a bound of dims " + join(bound->dims, "x"));
    bounds[side] = numbers_of(*bound).front();
    open[side] = std::isnan(bounds[side]);
  }
  // If the lower bound is above the upper one, the upper one is the result everywhere.
  if (open[0] || open[1]) {
    if (op.has(1)) out = binary(op, out, op.input(1), BinaryAlgorithm::max);
    if (op.has(2)) out = binary(op, out, op.input(2), BinaryAlgorithm::min);
    return op.set(0, out);
  }
  bounds[0] = std::min(bounds[0], bounds[1]);
  if (bounds[0] == 0 && bounds[1] == kInfinity) return apply(op, Algorithm::relu);
  apply(op, Algorithm::clip, bounds[0], bounds[1]);
}

/// PRelu. The dims of its slopes correspond to the last dims of the source.
void prelu(Op& op) {
  const Value& src = op.input(0);
  if (broadcast_dims(op, src.dims, op.input(1).dims) != src.dims) {
    op.corrupt("slopes of " + join(op.input(1).dims, "x") + " for " + join(src.dims, "x"));
  }
  op.set(0, op.add(Kind::prelu, PreluAttributes{}, {src, with_rank(op, op.input(1), src.rank())}));
}

/// The exponents of Pow, in the type of its base. In ONNX they may have another type.
Value exponents_of(Op& op, DType dtype) {
  const Value& exponent = op.input(1);
  if (!exponent.constant()) return cast(op, exponent, dtype);
  return exponent.dtype == dtype ? exponent : number_constant(exponent.dims, numbers_of(exponent), dtype);
}

/// Whether these are integers to a power that is no whole number, or may be none.
bool is_power_with_fraction(const Value& src, const Value& exponent) {
  if (is_floating(src.dtype) || !is_floating(exponent.dtype)) return false;
  if (!exponent.constant()) return true;
  return std::ranges::any_of(numbers_of(exponent), [](double value) { return std::trunc(value) != value; });
}

void power(Op& op) {
  const Value& src = op.input(0);
  if (is_power_with_fraction(src, op.input(1))) {
    const Value real = binary(op, cast(op, src, DType::f64), exponents_of(op, DType::f64), BinaryAlgorithm::pow);
    return op.set(0, cast(op, real, src.dtype));
  }
  const Value exponent = exponents_of(op, src.dtype);
  if (!exponent.constant() || elements_of(exponent.dims) != 1 || exponent.rank() > src.rank()) {
    return op.set(0, binary(op, src, exponent, BinaryAlgorithm::pow));
  }
  const double beta = numbers_of(exponent).front();
  if (src.constant() && elements_of(src.dims) == 1 && is_floating(src.dtype)) {
    op.set(0, number_constant(src.dims, std::array{std::pow(numbers_of(src).front(), beta)}, src.dtype));
  } else if (beta == 2) {
    apply(op, Algorithm::square);
  } else {
    apply(op, Algorithm::pow, 1, beta);
  }
}

/// Whether 1 / x is a normal number of f32, by which one may multiply instead of dividing by x.
bool has_reciprocal(double x) {
  using Limits = std::numeric_limits<float>;
  return std::fabs(1 / x) >= Limits::min() && std::fabs(1 / x) <= Limits::max();
}

/// a op b as an elementwise function of one side, if the other side is a constant of one element. Nothing if no such
/// function exists.
std::optional<Value> with_scalar(Op& op, const Value& a, const Value& b, BinaryAlgorithm algorithm) {
  const bool left = scalar_of(a).has_value();
  const auto scalar = left ? scalar_of(a) : scalar_of(b);
  const Value& other = left ? b : a;
  const Value& one = left ? a : b;
  if (!scalar || !is_floating(other.dtype) || one.rank() > other.rank()) return std::nullopt;
  switch (algorithm) {
    case BinaryAlgorithm::add: return linear(op, other, 1, *scalar);
    case BinaryAlgorithm::mul: return multiplied(op, other, *scalar);
    case BinaryAlgorithm::sub: return left ? linear(op, other, -1, *scalar) : linear(op, other, 1, -*scalar);
    case BinaryAlgorithm::div:
      if (left) return op.add(Kind::eltwise, EltwiseAttributes{Algorithm::pow, *scalar, -1}, {other});
      return has_reciprocal(*scalar) ? std::optional(multiplied(op, other, 1 / *scalar)) : std::nullopt;
    default: return std::nullopt;
  }
}

Value combined(Op& op, const Value& a, const Value& b, BinaryAlgorithm algorithm, std::string_view name) {
  const Dims dims = broadcast_dims(op, a.dims, b.dims);
  if (const auto folded = fold_binary(op, a, b, name, dims)) return *folded;
  if (const auto simple = with_scalar(op, a, b, algorithm)) return *simple;
  return binary(op, a, b, algorithm);
}

/// Applies an operation to two or more sources, from the first to the last.
template <BinaryAlgorithm algorithm>
void combine_sources(Op& op) {
  Value out = op.input(0);
  for (int i = 1; i < op.inputs(); ++i) out = combined(op, out, op.input(i), algorithm, op.node.op_type());
  const bool product = algorithm == BinaryAlgorithm::mul || algorithm == BinaryAlgorithm::div;
  op.set(0, product ? with_gelu(op, out) : out);
}

std::vector<Value> sources(const Op& op) {
  std::vector<Value> out;
  for (int i = 0; i < op.inputs(); ++i) out.push_back(op.input(i));
  if (out.empty()) op.corrupt("no source");
  return out;
}

Value sum_of(Op& op, const std::vector<Value>& src) {
  const bool plain_sum = src.size() > 1 && std::all_of(src.begin(), src.end(), [&](const Value& value) {
                           return value.dims == src.front().dims && !value.constant();
                         });
  if (plain_sum) return op.add(Kind::sum, SumAttributes{}, src);
  Value out = src.front();
  for (std::size_t i = 1; i < src.size(); ++i) out = combined(op, out, src[i], BinaryAlgorithm::add, "Add");
  return out;
}

void sum(Op& op) { op.set(0, sum_of(op, sources(op))); }

void mean(Op& op) {
  const std::vector<Value> src = sources(op);
  op.set(0, multiplied(op, sum_of(op, src), 1 / static_cast<double>(src.size())));
}

/// alpha * elu(x / alpha) with elu's own factor 1, or alpha 0 without a difference for positive numbers.
void celu(Op& op) {
  const double alpha = op.number("alpha", 1);
  if (alpha == 0) op.corrupt("alpha 0");
  const Value inner = multiplied(op, op.input(0), 1 / alpha);
  const Value negative = multiplied(op, eltwise(op, inner, Algorithm::elu, 1), alpha);
  op.set(0,
         select(op, binary(op, op.input(0), scalar(0, op.input(0).dtype), BinaryAlgorithm::gt), op.input(0), negative));
}

void thresholded_relu(Op& op) {
  const Value& src = op.input(0);
  const Value limit = scalar(op.number("alpha", 1), src.dtype);
  // 0 for NaN, as in ONNX's reference.
  op.set(0, select(op, binary(op, src, limit, BinaryAlgorithm::gt), src, scalar(0, src.dtype)));
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
void shrink(Op& op) {
  const Value& src = op.input(0);
  const double bias = op.number("bias", 0), lambd = op.number("lambd", 0.5);
  const auto beyond = [&](double limit, BinaryAlgorithm side) {
    return binary(op, src, scalar(limit, src.dtype), side);
  };
  const auto shifted = [&](double by) { return cast(op, linear(op, cast(op, src, DType::f32), 1, by), src.dtype); };
  const Value above = select(op, beyond(lambd, BinaryAlgorithm::gt), shifted(-bias), scalar(0, src.dtype));
  op.set(0, select(op, beyond(-lambd, BinaryAlgorithm::lt), shifted(bias), above));
}

void softsign(Op& op) {
  const Value& src = op.input(0);
  op.set(0, binary(op, src, linear(op, eltwise(op, src, Algorithm::abs), 1, 1), BinaryAlgorithm::div));
}

/// The swish of the first source times the second.
void swiglu(Op& op) {
  const Value gate = eltwise(op, op.input(0), Algorithm::swish, op.number("alpha", 1));
  op.set(0, binary(op, gate, op.input(1), BinaryAlgorithm::mul));
}

constexpr auto kElementwiseOperators = std::to_array<Operator>({
    {"Relu", plain<Algorithm::relu>},
    {"LeakyRelu", leaky_relu, "alpha"},
    {"PRelu", prelu},
    {"Sigmoid", plain<Algorithm::logistic>},
    {"Tanh", plain<Algorithm::tanh>},
    {"Elu", elu, "alpha"},
    {"Selu", selu, "alpha gamma"},
    {"HardSwish", hard_swish},
    {"HardSigmoid", hard_sigmoid, "alpha beta"},
    {"Clip", clip, "max:7-10 min:7-10"},
    {"Softplus", softplus},
    {"Gelu", gelu, "approximate"},
    {"Mish", mish},
    {"Exp", plain<Algorithm::exp>},
    {"Log", plain<Algorithm::log>},
    {"Sqrt", plain<Algorithm::sqrt>},
    {"Abs", plain<Algorithm::abs>},
    {"Erf", plain<Algorithm::erf>},
    {"Sign", plain<Algorithm::sign>},
    {"Swish", swish, "alpha"},
    {"Round", plain<Algorithm::round>},
    {"Floor", plain<Algorithm::floor>},
    {"Ceil", plain<Algorithm::ceil>},
    {"Sin", plain<Algorithm::sin>},
    {"Cos", plain<Algorithm::cos>},
    {"Tan", plain<Algorithm::tan>},
    {"Asin", plain<Algorithm::asin>},
    {"Acos", plain<Algorithm::acos>},
    {"Atan", plain<Algorithm::atan>},
    {"Sinh", plain<Algorithm::sinh>},
    {"Cosh", plain<Algorithm::cosh>},
    {"Asinh", plain<Algorithm::asinh>},
    {"Acosh", plain<Algorithm::acosh>},
    {"Atanh", plain<Algorithm::atanh>},
    {"Celu", celu, "alpha"},
    {"ThresholdedRelu", thresholded_relu, "alpha"},
    {"Shrink", shrink, "bias lambd"},
    {"Softsign", softsign},
    {"SwiGLU", swiglu, "alpha"},
    {"Neg", neg},
    {"Reciprocal", reciprocal},
    {"Pow", power},
    {"Add", combine_sources<BinaryAlgorithm::add>},
    {"Sub", combine_sources<BinaryAlgorithm::sub>},
    {"Mul", combine_sources<BinaryAlgorithm::mul>},
    {"Div", combine_sources<BinaryAlgorithm::div>},
    {"Min", combine_sources<BinaryAlgorithm::min>},
    {"Max", combine_sources<BinaryAlgorithm::max>},
    {"Sum", sum},
    {"Mean", mean},
});

}  // namespace

std::span<const Operator> elementwise_operators() { return kElementwiseOperators; }

}  // namespace relayout::graph::importing
