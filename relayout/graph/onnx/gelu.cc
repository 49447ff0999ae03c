// GELU: exporters of opsets before 20 write it as x * 0.5 * (1 + erf(x / sqrt(2))), with the factors in any order. It
// becomes one elementwise node. The nodes that it replaces stay in the graph if other nodes read them.
#include <cmath>
#include <numbers>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// The search for the factors of GELU follows at most this many products, one after the other.
constexpr int kMostSteps = 6;

/// The node that gives `tensor` as alpha * source + beta, else null.
const Node* linear_maker(const Import& model, TensorId tensor) {
  const Node* node = maker(model, tensor, Kind::eltwise);
  return node != nullptr && node->as<EltwiseAttributes>().algorithm == EltwiseAlgorithm::linear ? node : nullptr;
}

/// The node that gives `tensor` as a product of two tensors of its dims, else null.
const Node* product_maker(const Import& model, TensorId tensor) {
  const Node* node = maker(model, tensor, Kind::binary);
  if (node == nullptr || node->as<BinaryAttributes>().algorithm != BinaryAlgorithm::mul) return nullptr;
  const Dims& dims = model.graph.tensor(tensor).dims;
  const bool same = model.graph.tensor(node->src[0]).dims == dims && model.graph.tensor(node->src[1]).dims == dims;
  return same ? node : nullptr;
}

struct Matcher {
  const Import& model;

  /// The tolerance is larger for types of 16 bits, whose constants cannot hold 1 / sqrt(2) exactly enough.
  bool equal(double got, double wanted) const { return std::abs(got - wanted) <= tolerance * std::abs(wanted); }

  /// Whether `tensor` is c + c * erf(x / sqrt(2)) for some x and c. If so, remembers x and multiplies `factor` by c.
  bool is_shifted_erf(TensorId tensor) {
    const Node* sum = linear_maker(model, tensor);
    const Node* erf = sum == nullptr ? nullptr : maker(model, sum->src[0], Kind::eltwise);
    if (erf == nullptr || erf->as<EltwiseAttributes>().algorithm != EltwiseAlgorithm::erf) return false;
    const Node* scaled = linear_maker(model, erf->src[0]);
    if (scaled == nullptr) return false;
    const auto& inner = scaled->as<EltwiseAttributes>();
    const auto& outer = sum->as<EltwiseAttributes>();
    if (inner.beta != 0 || !equal(inner.alpha, 1 / std::numbers::sqrt2) || outer.alpha != outer.beta) return false;
    x = scaled->src[0];
    factor *= outer.alpha;
    return true;
  }

  /// Looks for the factor that contains erf, which shows what x is.
  bool find_erf(TensorId tensor, int steps) {
    if (is_shifted_erf(tensor)) {
      erf_part = tensor;
      return true;
    }
    if (steps == 0) return false;
    if (const Node* linear = linear_maker(model, tensor)) {
      return linear->as<EltwiseAttributes>().beta == 0 && find_erf(linear->src[0], steps - 1);
    }
    const Node* product = product_maker(model, tensor);
    return product != nullptr && (find_erf(product->src[0], steps - 1) || find_erf(product->src[1], steps - 1));
  }

  /// Whether `tensor` is a product of numbers, x and the factor with erf alone. Counts how often x and that factor
  /// occur.
  bool take_apart(TensorId tensor, int steps) {
    if (tensor == x || tensor == erf_part) {
      ++(tensor == x ? xs : erfs);
      return true;
    }
    if (steps == 0) return false;
    if (const Node* linear = linear_maker(model, tensor)) {
      factor *= linear->as<EltwiseAttributes>().alpha;
      return linear->as<EltwiseAttributes>().beta == 0 && take_apart(linear->src[0], steps - 1);
    }
    const Node* product = product_maker(model, tensor);
    return product != nullptr && take_apart(product->src[0], steps - 1) && take_apart(product->src[1], steps - 1);
  }

  bool matches(TensorId product) {
    return find_erf(product, kMostSteps) && take_apart(product, kMostSteps) && xs == 1 && erfs == 1 &&
           equal(factor, 0.5);
  }

  double tolerance = 1e-6;
  TensorId x = kNone, erf_part = kNone;
  double factor = 1;
  int xs = 0, erfs = 0;
};

}  // namespace

Value with_gelu(Op& op, const Value& product) {
  if (product.constant() || !is_floating(product.dtype)) return product;
  Matcher matcher{.model = op.model,
                  .tolerance = product.dtype == DType::f32 || product.dtype == DType::f64 ? 1e-6 : 1e-3};
  if (!matcher.matches(product.id)) return product;
  return op.add(Kind::eltwise, EltwiseAttributes{EltwiseAlgorithm::gelu_erf},
                {{.id = matcher.x, .dims = product.dims, .dtype = product.dtype}});
}

}  // namespace relayout::graph::importing
