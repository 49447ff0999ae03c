// The reference of kinds that work on each element alone: eltwise, prelu, binary and sum. Formulas: oneDNN 2.6,
// "Eltwise"; hardsigmoid: oneDNN 3.0.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "relayout/core/error.h"
#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {
namespace {

constexpr double kGeluTanh = 0.044715;
const double kSqrt2OverPi = std::sqrt(2 / std::numbers::pi);

double logistic(double s) { return 1 / (1 + std::exp(-s)); }
/// ln(1 + e^s), in a form whose exponential cannot overflow.
double soft_relu(double s) { return s > 0 ? s + std::log1p(std::exp(-s)) : std::log1p(std::exp(s)); }

/// The derivative of s / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) (s + 0.044715 s^3).
double gelu_tanh_derivative(double s) {
  const double t = std::tanh(kSqrt2OverPi * (s + kGeluTanh * s * s * s));
  return 0.5 * (1 + t) + 0.5 * s * (1 - t * t) * kSqrt2OverPi * (1 + 3 * kGeluTanh * s * s);
}

double gelu_erf_derivative(double s) {
  const double density = std::exp(-s * s / 2) / std::sqrt(2 * std::numbers::pi);
  return 0.5 * (1 + std::erf(s / std::numbers::sqrt2)) + s * density;
}

double mish_derivative(double s) {
  const double t = std::tanh(soft_relu(s));
  return t + s * (1 - t * t) * logistic(s);
}

/// The derivative at s. For the *_dst functions, s is the source that gives the destination at hand.
double derivative(const EltwiseAttributes& attributes, double s) {
  using A = EltwiseAlgorithm;
  const double alpha = attributes.alpha, beta = attributes.beta;
  const auto inside = [](bool in) { return in ? 1.0 : 0.0; };
  switch (attributes.algorithm) {
    case A::relu:
    case A::relu_dst: return s > 0 ? 1 : alpha;
    case A::tanh: return 1 - std::tanh(s) * std::tanh(s);
    case A::elu: return s > 0 ? 1 : alpha * std::exp(s);
    case A::square: return 2 * s;
    case A::abs: return s > 0 ? 1 : s < 0 ? -1 : 0;
    case A::sqrt: return 1 / (2 * std::sqrt(s));
    case A::linear: return alpha;
    case A::bounded_relu: return inside(0 < s && s <= alpha);
    case A::soft_relu: return logistic(s);
    case A::logistic: return logistic(s) * (1 - logistic(s));
    case A::exp: return std::exp(s);
    case A::gelu_tanh: return gelu_tanh_derivative(s);
    case A::gelu_erf: return gelu_erf_derivative(s);
    case A::swish: return logistic(alpha * s) * (1 + alpha * s * (1 - logistic(alpha * s)));
    case A::log: return 1 / s;
    case A::clip: return inside(alpha < s && s <= beta);
    case A::clip_v2: return inside(alpha < s && s < beta);
    case A::pow: return beta == 0 ? 0 : alpha * beta * std::pow(s, beta - 1);
    case A::logsigmoid: return logistic(-s);
    case A::mish: return mish_derivative(s);
    case A::hardswish: return s >= 3 ? 1 : s > -3 ? (2 * s + 3) / 6 : 0;
    case A::hardsigmoid: return alpha * inside(0 < alpha * s + beta && alpha * s + beta < 1);
    case A::tanh_dst: return 1 - s * s;
    case A::elu_dst: return s > 0 ? 1 : s + alpha;
    case A::sqrt_dst: return 1 / (2 * s);
    case A::logistic_dst: return s * (1 - s);
    case A::exp_dst: return s;
    case A::clip_v2_dst: return inside(alpha < s && s < beta);
    case A::erf: return 2 / std::sqrt(std::numbers::pi) * std::exp(-s * s);
    default: break;
  }
  throw Error(ErrorCode::unsupported,
              "reference: eltwise " + std::string(name(attributes.algorithm)) + " has no backward", "algorithm",
              std::string(name(attributes.algorithm)), "an algorithm with a derivative");
}

/// The division of integers, as BinaryAlgorithm::div describes it. The result is exact where both operands fit 53 bits,
/// as the division in float64 then rounds no quotient with a fraction to a whole number.
double whole_quotient(double a, double b) { return b == 0 ? 0 : std::trunc(a / b); }

/// A NaN stays one, as in NumPy's maximum and ONNX's reference.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double clipped(double s, double low, double high) { return std::isnan(s) ? s : s > high ? high : s > low ? s : low; }

double remainder_of(BinaryAlgorithm algorithm, double a, double b, bool integers) {
  if (b == 0 && integers) return 0;
  const double rest = std::fmod(a, b);
  if (algorithm == BinaryAlgorithm::fmod) return rest;
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

/// The whole number of that type that a double stands for, as 64 bits.
uint64_t whole_bits(double value) {
  return value >= 0x1p63 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(static_cast<int64_t>(value));
}

double of_bits(uint64_t value, DType dtype) {
  const int unused = 64 - bits(dtype);
  value <<= unused;
  return kind(dtype) == DTypeKind::signed_integer ? static_cast<double>(static_cast<int64_t>(value) >> unused)
                                                  : static_cast<double>(value >> unused);
}

double bitwise(BinaryAlgorithm algorithm, double a, double b, DType dtype) {
  const uint64_t x = whole_bits(a), y = whole_bits(b);
  const bool inside = b >= 0 && b < bits(dtype);
  switch (algorithm) {
    case BinaryAlgorithm::bitwise_and: return of_bits(x & y, dtype);
    case BinaryAlgorithm::bitwise_or: return of_bits(x | y, dtype);
    case BinaryAlgorithm::bitwise_xor: return of_bits(x ^ y, dtype);
    case BinaryAlgorithm::shift_left: return inside ? of_bits(x << y, dtype) : 0;
    default: break;
  }
  if (!inside) return a < 0 ? -1 : 0;
  return a < 0 ? static_cast<double>(static_cast<int64_t>(x) >> y) : static_cast<double>(x >> y);
}

double apply(BinaryAlgorithm algorithm, double a, double b, DType dtype) {
  switch (algorithm) {
    case BinaryAlgorithm::add: return a + b;
    case BinaryAlgorithm::sub: return a - b;
    case BinaryAlgorithm::mul: return a * b;
    case BinaryAlgorithm::div: return is_floating(dtype) ? a / b : whole_quotient(a, b);
    case BinaryAlgorithm::max: return larger(a, b);
    case BinaryAlgorithm::min: return smaller(a, b);
    case BinaryAlgorithm::ge: return a >= b;
    case BinaryAlgorithm::gt: return a > b;
    case BinaryAlgorithm::le: return a <= b;
    case BinaryAlgorithm::lt: return a < b;
    case BinaryAlgorithm::eq: return a == b;
    case BinaryAlgorithm::ne: return a != b;
    case BinaryAlgorithm::pow: return std::pow(a, b);
    case BinaryAlgorithm::mod:
    case BinaryAlgorithm::fmod: return remainder_of(algorithm, a, b, !is_floating(dtype));
    case BinaryAlgorithm::logical_and: return a != 0 && b != 0;
    case BinaryAlgorithm::logical_or: return a != 0 || b != 0;
    case BinaryAlgorithm::logical_xor: return (a != 0) != (b != 0);
    case BinaryAlgorithm::bitwise_and:
    case BinaryAlgorithm::bitwise_or:
    case BinaryAlgorithm::bitwise_xor:
    case BinaryAlgorithm::shift_left:
    case BinaryAlgorithm::shift_right: return bitwise(algorithm, a, b, dtype);
  }
  throw Error(ErrorCode::internal, "reference: unknown binary algorithm", "algorithm");
}

}  // namespace

double eltwise_forward(const EltwiseAttributes& attributes, double s) {
  using A = EltwiseAlgorithm;
  const double alpha = attributes.alpha, beta = attributes.beta;
  switch (attributes.algorithm) {
    case A::relu:
    case A::relu_dst: return s <= 0 && alpha == 0 ? 0 : s <= 0 ? alpha * s : s;
    case A::tanh:
    case A::tanh_dst: return std::tanh(s);
    case A::elu:
    case A::elu_dst: return s > 0 ? s : alpha * std::expm1(s);
    case A::square: return s * s;
    case A::abs: return std::fabs(s);
    case A::sqrt:
    case A::sqrt_dst: return std::sqrt(s);
    case A::linear: return alpha * s + beta;
    case A::bounded_relu: return clipped(s, 0, alpha);
    case A::soft_relu: return soft_relu(s);
    case A::logistic:
    case A::logistic_dst: return logistic(s);
    case A::exp:
    case A::exp_dst: return std::exp(s);
    case A::gelu_tanh: return 0.5 * s * (1 + std::tanh(kSqrt2OverPi * (s + kGeluTanh * s * s * s)));
    case A::gelu_erf: return 0.5 * s * (1 + std::erf(s / std::numbers::sqrt2));
    case A::swish: return s * logistic(alpha * s);
    case A::log: return std::log(s);
    case A::clip:
    case A::clip_v2:
    case A::clip_v2_dst: return clipped(s, alpha, beta);
    case A::pow: return alpha * std::pow(s, beta);
    case A::round: return std::nearbyint(s);
    case A::erf: return std::erf(s);
    case A::sign: return s > 0 ? 1 : s < 0 ? -1 : s;
    case A::logsigmoid: return -soft_relu(-s);
    case A::mish: return s * std::tanh(soft_relu(s));
    case A::hardswish: return s * clipped(s + 3, 0, 6) / 6;
    case A::hardsigmoid: return clipped(alpha * s + beta, 0, 1);
    case A::floor: return std::floor(s);
    case A::ceil: return std::ceil(s);
    case A::trunc: return std::trunc(s);
    case A::is_nan: return std::isnan(s);
    case A::is_infinite: return std::isinf(s) && (s > 0 ? alpha : beta) != 0;
    case A::logical_not: return s == 0;
    case A::bitwise_not: return -1 - s;
    case A::sin: return std::sin(s);
    case A::cos: return std::cos(s);
    case A::tan: return std::tan(s);
    case A::asin: return std::asin(s);
    case A::acos: return std::acos(s);
    case A::atan: return std::atan(s);
    case A::sinh: return std::sinh(s);
    case A::cosh: return std::cosh(s);
    case A::asinh: return std::asinh(s);
    case A::acosh: return std::acosh(s);
    case A::atanh: return std::atanh(s);
  }
  throw Error(ErrorCode::internal, "reference: unknown eltwise algorithm", "algorithm");
}

double eltwise_backward(const EltwiseAttributes& attributes, double s, double dd) {
  return dd * derivative(attributes, s);
}

void eltwise(const Evaluation& e) {
  const auto& a = e.node.as<EltwiseAttributes>();
  const int64_t n = count(e.dst_dims(0));
  const DType dtype = e.graph.tensor(e.node.src[0]).dtype;
  for (int64_t i = 0; i < n; ++i) {
    if (a.algorithm == EltwiseAlgorithm::bitwise_not && !is_floating(dtype)) {
      e.out(0)[i] = of_bits(~whole_bits(e.in(0)[i]), dtype);
    } else {
      e.out(0)[i] = e.node.forward() ? eltwise_forward(a, e.in(0)[i]) : eltwise_backward(a, e.in(0)[i], e.in(1)[i]);
    }
  }
}

void prelu(const Evaluation& e) {
  const Dims& dims = e.src_dims(0);
  const Dims none(dims.size(), 0);
  walk(dims, broadcast_strides(e.src_dims(1), dims), none, [&](int64_t i, int64_t at, int64_t) {
    const double s = e.in(0)[i], weight = e.in(1)[at];
    if (e.node.forward()) {
      e.out(0)[i] = s > 0 ? s : s * weight;
      return;
    }
    const double dd = e.in(2)[i];
    if (e.has_dst(0)) e.out(0)[i] = s > 0 ? dd : dd * weight;
    if (e.has_dst(1)) e.out(1)[at] += s > 0 ? 0 : dd * s;
  });
}

void binary(const Evaluation& e) {
  const BinaryAlgorithm algorithm = e.node.as<BinaryAttributes>().algorithm;
  const Dims& dims = e.dst_dims(0);
  const DType dtype = e.graph.tensor(e.node.src[0]).dtype;
  walk(dims, broadcast_strides(e.src_dims(0), dims), broadcast_strides(e.src_dims(1), dims),
       [&](int64_t i, int64_t a, int64_t b) { e.out(0)[i] = apply(algorithm, e.in(0)[a], e.in(1)[b], dtype); });
}

void sum(const Evaluation& e) {
  const std::vector<double>& scales = e.node.as<SumAttributes>().scales;
  const int64_t n = count(e.dst_dims(0));
  for (std::size_t s = 0; s < e.src.size(); ++s) {
    const double scale = scales.empty() ? 1 : scales[s];
    for (int64_t i = 0; i < n; ++i) e.out(0)[i] += scale * e.in(s)[i];
  }
}

}  // namespace relayout::graph::reference
