// ONNX operators that work element by element, on one value or on several with dims that repeat.
#include <array>
#include <cmath>
#include <limits>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

using Algorithm = EltwiseAlgorithm;

void eltwise(Op& op, Algorithm algorithm, double alpha = 0, double beta = 0) {
  op.set(0, op.add(Kind::eltwise, EltwiseAttributes{algorithm, alpha, beta}, {op.input(0)}));
}

template <Algorithm algorithm>
void plain(Op& op) {
  eltwise(op, algorithm);
}

/// Translates an elementwise operator of one source. `function` computes it for constants.
template <Algorithm algorithm, double (*function)(double)>
void computed(Op& op) {
  const Value& src = op.input(0);
  if (!src.constant() || !is_floating(src.dtype)) return eltwise(op, algorithm);
  std::vector<double> values = numbers_of(src);
  charge(op.model, src.dtype, src.dims);
  for (double& value : values) value = function(value);
  op.set(0, number_constant(src.dims, values, src.dtype));
}

double exp_of(double x) { return std::exp(x); }
double log_of(double x) { return std::log(x); }
double sqrt_of(double x) { return std::sqrt(x); }
double abs_of(double x) { return std::abs(x); }
double erf_of(double x) { return std::erf(x); }
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

void leaky_relu(Op& op) { eltwise(op, Algorithm::relu, op.number("alpha", 0.01)); }
void elu(Op& op) { eltwise(op, Algorithm::elu, op.number("alpha", 1)); }
void hard_sigmoid(Op& op) { eltwise(op, Algorithm::hardsigmoid, op.number("alpha", 0.2), op.number("beta", 0.5)); }
void hard_swish(Op& op) { eltwise(op, Algorithm::hardswish, 1.0 / 6, 0.5); }
void softplus(Op& op) { eltwise(op, Algorithm::soft_relu, 1); }
void mish(Op& op) { eltwise(op, Algorithm::mish); }
void swish(Op& op) { eltwise(op, Algorithm::swish, op.number("alpha", 1)); }
void reciprocal(Op& op) { eltwise(op, Algorithm::pow, 1, -1); }

void selu(Op& op) {
  const Value out = op.add(
      Kind::eltwise, EltwiseAttributes{Algorithm::elu, op.number("alpha", 1.67326319217681884765625)}, {op.input(0)});
  op.set(0, linear(op, out, op.number("gamma", 1.05070102214813232421875), 0));
}

void gelu(Op& op) {
  const std::string approximate = op.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") op.corrupt("approximate \"" + escaped(approximate) + "\"");
  eltwise(op, approximate == "tanh" ? Algorithm::gelu_tanh : Algorithm::gelu_erf);
}

void neg(Op& op) {
  const Value& src = op.input(0);
  const Value minus_one = integer_constant({}, std::array<int64_t, 1>{-1}, src.dtype);
  const auto folded = fold_binary(op, src, minus_one, "Mul", src.dims);
  op.set(0, folded ? *folded : linear(op, src, -1, 0));
}

/// Clip. Its bounds are attributes before opset 11, and sources since.
void clip(Op& op) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  std::array<double, 2> bounds = {op.number("min", -kLargest), op.number("max", kLargest)};
  Value out = op.input(0);
  // By bound: whether it is computed at run time.
  std::array<bool, 2> open{};
  for (int i = 0; i < 2; ++i) {
    const auto side = static_cast<std::size_t>(i);
    const Value* bound = op.optional(i + 1);
    if (bound == nullptr) continue;
    open[side] = !bound->constant();
    if (open[side]) continue;
    if (elements_of(bound->dims) != 1) op.corrupt("a bound of dims " + join(bound->dims, "x"));
    bounds[side] = numbers_of(*bound).front();
  }
  if (open[0] || open[1]) throw NotExpressible{"a bound is no constant"};
  // If the lower bound is above the upper one, the upper one is the result everywhere.
  bounds[0] = std::min(bounds[0], bounds[1]);
  if (bounds[0] == 0 && bounds[1] >= kLargest) return eltwise(op, Algorithm::relu);
  eltwise(op, Algorithm::clip, bounds[0], bounds[1]);
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
  if (exponent.constant()) {
    const std::vector<double> values = numbers_of(exponent);
    const bool whole =
        std::all_of(values.begin(), values.end(), [](double value) { return std::trunc(value) == value; });
    if (!is_floating(dtype) && !whole) throw NotExpressible{"powers of integers that are no integers"};
    return exponent.dtype == dtype ? exponent : number_constant(exponent.dims, values, dtype);
  }
  if (exponent.dtype == dtype) return exponent;
  if (!is_floating(dtype)) throw NotExpressible{"integers to a power of type " + std::string(name(exponent.dtype))};
  return op.add(Kind::reorder, ReorderAttributes{.dtype = dtype}, {exponent});
}

void power(Op& op) {
  const Value& src = op.input(0);
  const Value exponent = exponents_of(op, src.dtype);
  if (!exponent.constant() || elements_of(exponent.dims) != 1 || exponent.rank() > src.rank()) {
    return op.set(0, binary(op, src, exponent, BinaryAlgorithm::pow));
  }
  const double beta = numbers_of(exponent).front();
  if (src.constant() && elements_of(src.dims) == 1 && is_floating(src.dtype)) {
    op.set(0, number_constant(src.dims, std::array{std::pow(numbers_of(src).front(), beta)}, src.dtype));
  } else if (beta == 2) {
    eltwise(op, Algorithm::square);
  } else if (beta == 0.5) {
    eltwise(op, Algorithm::sqrt);
  } else {
    eltwise(op, Algorithm::pow, 1, beta);
  }
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
    case BinaryAlgorithm::mul: return linear(op, other, *scalar, 0);
    case BinaryAlgorithm::sub: return left ? linear(op, other, -1, *scalar) : linear(op, other, 1, -*scalar);
    case BinaryAlgorithm::div:
      if (left) return op.add(Kind::eltwise, EltwiseAttributes{Algorithm::pow, *scalar, -1}, {other});
      return *scalar != 0 ? std::optional(linear(op, other, 1 / *scalar, 0)) : std::nullopt;
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
  op.set(0, linear(op, sum_of(op, src), 1 / static_cast<double>(src.size()), 0));
}

/// Comparisons and logic between constants, with which exporters compute shapes. The graph has no kind for them between
/// tensors that are computed at run time.
void only_constants(Op& op) {
  const Value &a = op.input(0), &b = op.input(1);
  const std::string operation = op.integer("fmod", 0) != 0 ? "Fmod" : op.node.op_type();
  const auto folded = fold_binary(op, a, b, operation, broadcast_dims(op, a.dims, b.dims));
  if (!folded) throw NotExpressible{"its sources are no constants"};
  op.set(0, *folded);
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
    {"Exp", computed<Algorithm::exp, exp_of>},
    {"Log", computed<Algorithm::log, log_of>},
    {"Sqrt", computed<Algorithm::sqrt, sqrt_of>},
    {"Abs", computed<Algorithm::abs, abs_of>},
    {"Erf", computed<Algorithm::erf, erf_of>},
    {"Sign", computed<Algorithm::sign, sign_of>},
    {"Swish", swish, "alpha"},
    {"Round", plain<Algorithm::round>},
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
    {"Mod", only_constants, "fmod"},
    {"Equal", only_constants},
    {"Less", only_constants},
    {"LessOrEqual", only_constants},
    {"Greater", only_constants},
    {"GreaterOrEqual", only_constants},
    {"And", only_constants},
    {"Or", only_constants},
});

}  // namespace

std::span<const Operator> elementwise_operators() { return kElementwiseOperators; }

}  // namespace relayout::graph::importing
