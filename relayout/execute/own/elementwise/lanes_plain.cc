// The functions of elements in plain C++: for f64, and for f32 where no vectors are asked for.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "relayout/execute/own/elementwise/lanes.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;

namespace {

template <typename T, T (*function)(T, T, T)>
void unary(const T* const* src, T* dst, int64_t n, T alpha, T beta) {
  for (int64_t i = 0; i < n; ++i) dst[i] = function(src[0][i], alpha, beta);
}

template <typename T, T (*function)(T, T, T)>
void binary(const T* const* src, T* dst, int64_t n, T alpha, T) {
  for (int64_t i = 0; i < n; ++i) dst[i] = function(src[0][i], src[1][i], alpha);
}

// Comparisons are written so that a NaN takes the branch that keeps it.

template <typename T>
T clipped(T s, T low, T high) {
  const T raised = s < low ? low : s;
  return raised > high ? high : raised;
}
template <typename T>
T logistic(T s) {
  return 1 / (1 + std::exp(-s));
}
template <typename T>
T soft_relu(T s) {
  return s > 0 ? s + std::log1p(std::exp(-s)) : std::log1p(std::exp(s));
}

template <typename T>
struct Functions {
  static T relu(T s, T alpha, T) { return s > 0 ? s : alpha == 0 ? (s <= 0 ? 0 : s) : alpha * s; }
  static T tanh(T s, T, T) { return std::tanh(s); }
  static T elu(T s, T alpha, T) { return s > 0 ? s : alpha * std::expm1(s); }
  static T square(T s, T, T) { return s * s; }
  static T abs(T s, T, T) { return std::fabs(s); }
  static T sqrt(T s, T, T) { return std::sqrt(s); }
  static T linear(T s, T alpha, T beta) { return alpha * s + beta; }
  static T bounded_relu(T s, T alpha, T) { return clipped<T>(s, 0, alpha); }
  static T softplus(T s, T, T) { return soft_relu(s); }
  static T sigmoid(T s, T, T) { return logistic(s); }
  static T exp(T s, T, T) { return std::exp(s); }
  static T gelu_tanh(T s, T, T) {
    const T u = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T> * (s + T(0.044715) * s * s * s);
    return T(0.5) * s * (1 + std::tanh(u));
  }
  static T gelu_erf(T s, T, T) { return T(0.5) * s * (1 + std::erf(s / std::numbers::sqrt2_v<T>)); }
  static T swish(T s, T alpha, T) { return s * logistic(alpha * s); }
  static T log(T s, T, T) { return std::log(s); }
  static T clip(T s, T alpha, T beta) { return clipped(s, alpha, beta); }
  static T pow(T s, T alpha, T beta) { return alpha * std::pow(s, beta); }
  static T round(T s, T, T) { return std::nearbyint(s); }
  static T logsigmoid(T s, T, T) { return -soft_relu(-s); }
  static T mish(T s, T, T) { return s * std::tanh(soft_relu(s)); }
  static T hardswish(T s, T, T) { return s * (clipped<T>(s + 3, 0, 6) / 6); }
  static T hardsigmoid(T s, T alpha, T beta) { return clipped<T>(alpha * s + beta, 0, 1); }
  static T erf(T s, T, T) { return std::erf(s); }
  static T sign(T s, T, T) { return s > 0 ? 1 : s < 0 ? -1 : s; }
  static T floor(T s, T, T) { return std::floor(s); }
  static T ceil(T s, T, T) { return std::ceil(s); }
  static T trunc(T s, T, T) { return std::trunc(s); }
  static T is_nan(T s, T, T) { return s != s; }
  static T is_infinite(T s, T alpha, T beta) { return std::isinf(s) && (s > 0 ? alpha : beta) != 0; }
  static T logical_not(T s, T, T) { return s == 0; }
  static T bitwise_not(T s, T, T) { return -1 - s; }
  static T sin(T s, T, T) { return std::sin(s); }
  static T cos(T s, T, T) { return std::cos(s); }
  static T tan(T s, T, T) { return std::tan(s); }
  static T asin(T s, T, T) { return std::asin(s); }
  static T acos(T s, T, T) { return std::acos(s); }
  static T atan(T s, T, T) { return std::atan(s); }
  static T sinh(T s, T, T) { return std::sinh(s); }
  static T cosh(T s, T, T) { return std::cosh(s); }
  static T asinh(T s, T, T) { return std::asinh(s); }
  static T acosh(T s, T, T) { return std::acosh(s); }
  static T atanh(T s, T, T) { return std::atanh(s); }
  static T reciprocal(T s, T alpha, T) { return alpha / s; }

  static T add(T a, T b, T) { return a + b; }
  static T sub(T a, T b, T) { return a - b; }
  static T mul(T a, T b, T) { return a * b; }
  static T div(T a, T b, T) { return a / b; }
  static T max(T a, T b, T) { return a != a ? a : b > a || b != b ? b : a; }
  static T min(T a, T b, T) { return a != a ? a : b < a || b != b ? b : a; }
  static T ge(T a, T b, T) { return a >= b; }
  static T gt(T a, T b, T) { return a > b; }
  static T le(T a, T b, T) { return a <= b; }
  static T lt(T a, T b, T) { return a < b; }
  static T eq(T a, T b, T) { return a == b; }
  static T ne(T a, T b, T) { return a != b; }
  static T logical_and(T a, T b, T) { return a != 0 && b != 0; }
  static T logical_or(T a, T b, T) { return a != 0 || b != 0; }
  static T logical_xor(T a, T b, T) { return (a != 0) != (b != 0); }
  static T mod(T a, T b, T) {
    const T rest = std::fmod(a, b);
    return rest == 0 ? std::copysign(T(0), b) : (rest < 0) != (b < 0) ? rest + b : rest;
  }
  static T fmod(T a, T b, T) { return std::fmod(a, b); }
  static T power(T a, T b, T) { return std::pow(a, b); }
  static T whole_quotient(T a, T b, T) { return b == 0 ? 0 : std::trunc(a / b); }
  static T prelu(T a, T b, T) { return a > 0 ? a : a * b; }
  static T add_scaled(T a, T b, T alpha) { return a + alpha * b; }
};

template <typename T>
void add_eltwise(LaneTable<T>& out) {
  using A = EltwiseAlgorithm;
  using F = Functions<T>;
  out.of(A::relu) = out.of(A::relu_dst) = unary<T, F::relu>;
  out.of(A::tanh) = out.of(A::tanh_dst) = unary<T, F::tanh>;
  out.of(A::elu) = out.of(A::elu_dst) = unary<T, F::elu>;
  out.of(A::square) = unary<T, F::square>;
  out.of(A::abs) = unary<T, F::abs>;
  out.of(A::sqrt) = out.of(A::sqrt_dst) = unary<T, F::sqrt>;
  out.of(A::linear) = unary<T, F::linear>;
  out.of(A::bounded_relu) = unary<T, F::bounded_relu>;
  out.of(A::soft_relu) = unary<T, F::softplus>;
  out.of(A::logistic) = out.of(A::logistic_dst) = unary<T, F::sigmoid>;
  out.of(A::exp) = out.of(A::exp_dst) = unary<T, F::exp>;
  out.of(A::gelu_tanh) = unary<T, F::gelu_tanh>;
  out.of(A::gelu_erf) = unary<T, F::gelu_erf>;
  out.of(A::swish) = unary<T, F::swish>;
  out.of(A::log) = unary<T, F::log>;
  out.of(A::clip) = out.of(A::clip_v2) = out.of(A::clip_v2_dst) = unary<T, F::clip>;
  out.of(A::pow) = unary<T, F::pow>;
  out.of(A::round) = unary<T, F::round>;
  out.of(A::logsigmoid) = unary<T, F::logsigmoid>;
  out.of(A::mish) = unary<T, F::mish>;
  out.of(A::hardswish) = unary<T, F::hardswish>;
  out.of(A::hardsigmoid) = unary<T, F::hardsigmoid>;
  out.of(A::erf) = unary<T, F::erf>;
  out.of(A::sign) = unary<T, F::sign>;
  out.of(A::floor) = unary<T, F::floor>;
  out.of(A::ceil) = unary<T, F::ceil>;
  out.of(A::trunc) = unary<T, F::trunc>;
  out.of(A::is_nan) = unary<T, F::is_nan>;
  out.of(A::is_infinite) = unary<T, F::is_infinite>;
  out.of(A::logical_not) = unary<T, F::logical_not>;
  out.of(A::bitwise_not) = unary<T, F::bitwise_not>;
  out.reciprocal = unary<T, F::reciprocal>;
  out.root = unary<T, F::pow>;
}

template <typename T>
bool any_of_at_most(const T* values, int64_t n, T limit) {
  return std::any_of(values, values + n, [=](T value) { return value <= limit; });
}

template <typename T>
bool all_are_below(const T* values, int64_t n, T limit) {
  return std::all_of(values, values + n, [=](T value) { return value < limit; });
}

template <typename T>
void add_trigonometric(LaneTable<T>& out) {
  using A = EltwiseAlgorithm;
  using F = Functions<T>;
  out.of(A::sin) = unary<T, F::sin>;
  out.of(A::cos) = unary<T, F::cos>;
  out.of(A::tan) = unary<T, F::tan>;
  out.of(A::asin) = unary<T, F::asin>;
  out.of(A::acos) = unary<T, F::acos>;
  out.of(A::atan) = unary<T, F::atan>;
  out.of(A::sinh) = unary<T, F::sinh>;
  out.of(A::cosh) = unary<T, F::cosh>;
  out.of(A::asinh) = unary<T, F::asinh>;
  out.of(A::acosh) = unary<T, F::acosh>;
  out.of(A::atanh) = unary<T, F::atanh>;
}

template <typename T>
void add_binary(LaneTable<T>& out) {
  using B = BinaryAlgorithm;
  using F = Functions<T>;
  out.of(B::add) = binary<T, F::add>;
  out.of(B::sub) = binary<T, F::sub>;
  out.of(B::mul) = binary<T, F::mul>;
  out.of(B::div) = binary<T, F::div>;
  out.of(B::max) = binary<T, F::max>;
  out.of(B::min) = binary<T, F::min>;
  out.of(B::ge) = binary<T, F::ge>;
  out.of(B::gt) = binary<T, F::gt>;
  out.of(B::le) = binary<T, F::le>;
  out.of(B::lt) = binary<T, F::lt>;
  out.of(B::eq) = binary<T, F::eq>;
  out.of(B::ne) = binary<T, F::ne>;
  out.of(B::pow) = binary<T, F::power>;
  out.of(B::mod) = binary<T, F::mod>;
  out.of(B::fmod) = binary<T, F::fmod>;
  out.of(B::logical_and) = binary<T, F::logical_and>;
  out.of(B::logical_or) = binary<T, F::logical_or>;
  out.of(B::logical_xor) = binary<T, F::logical_xor>;
  out.whole_quotient = binary<T, F::whole_quotient>;
  out.add_scaled = binary<T, F::add_scaled>;
  out.prelu = binary<T, F::prelu>;
  out.any_at_most = any_of_at_most<T>;
  out.all_below = all_are_below<T>;
}

}  // namespace

template <typename T>
const LaneTable<T>& plain_lanes() {
  static const LaneTable<T> kTable = [] {
    LaneTable<T> out;
    add_eltwise(out);
    add_trigonometric(out);
    add_binary(out);
    return out;
  }();
  return kTable;
}

template const LaneTable<float>& plain_lanes();
template const LaneTable<double>& plain_lanes();

}  // namespace relayout::execute
