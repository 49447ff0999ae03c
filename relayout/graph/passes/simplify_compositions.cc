// Simplify: what exporters write as several nodes although it is one primitive: layer normalization, GELU by tanh, and
// SiLU. (GELU by erf is found as a model is read: onnx/gelu.cc.) The bias of a product of matrices becomes its operand.
//
//     (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + shift
//     x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
//     x * sigmoid(alpha * x)
//
// The node that gives the result is replaced. Nodes whose results nobody else reads are removed by prune().
#include <algorithm>
#include <cmath>
#include <numbers>

#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/passes/simplify_steps.h"

namespace relayout::graph {
namespace {

/// Finds the nodes that make tensors.
struct Makers {
  const Graph& graph;
  std::vector<NodeId> of = producers(graph);

  const Node* node(TensorId t, Kind kind) const {
    const NodeId n = t == kNone ? kNone : of[static_cast<std::size_t>(t)];
    if (n == kNone || graph.node(n).kind != kind || graph.node(n).pass != Pass::forward_inference) return nullptr;
    return graph.node(n).post_ops.empty() ? &graph.node(n) : nullptr;
  }
  const Node* eltwise(TensorId t, EltwiseAlgorithm algorithm) const {
    const Node* found = node(t, Kind::eltwise);
    return found != nullptr && found->as<EltwiseAttributes>().algorithm == algorithm ? found : nullptr;
  }
  const Node* binary(TensorId t, BinaryAlgorithm algorithm) const {
    const Node* found = node(t, Kind::binary);
    return found != nullptr && found->as<BinaryAttributes>().algorithm == algorithm ? found : nullptr;
  }
  /// The source and the numbers of alpha * source + beta.
  const Node* linear(TensorId t) const { return eltwise(t, EltwiseAlgorithm::linear); }
  /// What a tensor is the square of, or kNone.
  TensorId square_root(TensorId t) const {
    if (const Node* square = eltwise(t, EltwiseAlgorithm::square)) return square->src[0];
    const Node* product = binary(t, BinaryAlgorithm::mul);
    return product != nullptr && product->src[0] == product->src[1] ? product->src[0] : kNone;
  }
};

bool near(double got, double wanted) { return std::abs(got - wanted) <= 1e-4 * std::abs(wanted); }

// Layer normalization.

/// The first of the dims of `src` that a mean is taken over, if these are the last ones and stay with extent 1.
std::optional<int> normalized_from(const Graph& graph, const Node& mean) {
  const auto& a = mean.as<ReductionAttributes>();
  const int rank = graph.tensor(mean.src[0]).dims.size(), count = static_cast<int>(a.axes.size());
  std::vector<int> axes = a.axes;
  std::ranges::sort(axes);
  for (int k = 0; k < count; ++k) {
    if (axes[static_cast<std::size_t>(k)] != rank - count + k) return std::nullopt;
  }
  return a.algorithm == ReductionAlgorithm::mean && count > 0 ? std::optional(rank - count) : std::nullopt;
}

/// The mean that `difference` subtracts from its source; null if it is something else.
const Node* subtracted_mean(const Makers& makers, TensorId difference) {
  const Node* sub = makers.binary(difference, BinaryAlgorithm::sub);
  const Node* mean = sub == nullptr ? nullptr : makers.node(sub->src[1], Kind::reduction);
  if (mean == nullptr || mean->src[0] != sub->src[0]) return nullptr;
  return normalized_from(makers.graph, *mean) ? mean : nullptr;
}

/// The tensor of which `t` is the square root, or 1 / the square root where `inverse`; else kNone.
TensorId under_root(const Makers& makers, TensorId t, bool inverse) {
  if (const Node* root = makers.eltwise(t, EltwiseAlgorithm::sqrt)) return inverse ? kNone : root->src[0];
  const Node* power = makers.eltwise(t, EltwiseAlgorithm::pow);
  if (power == nullptr || power->as<EltwiseAttributes>().alpha != 1) return kNone;
  const double exponent = power->as<EltwiseAttributes>().beta;
  if (exponent == (inverse ? -0.5 : 0.5)) return power->src[0];
  return inverse && exponent == -1 ? under_root(makers, power->src[0], false) : kNone;
}

/// The layer normalization without scale and shift that a node is; nothing if it is none.
std::optional<Node> layer_normalization(const Makers& makers, const Node& node) {
  if (node.kind != Kind::binary) return std::nullopt;
  const BinaryAlgorithm algorithm = node.as<BinaryAttributes>().algorithm;
  if (algorithm != BinaryAlgorithm::div && algorithm != BinaryAlgorithm::mul) return std::nullopt;
  for (std::size_t first = 0; first < (algorithm == BinaryAlgorithm::mul ? 2u : 1u); ++first) {
    const TensorId difference = node.src[first];
    const Node* mean = subtracted_mean(makers, difference);
    if (mean == nullptr) continue;
    const Node* shifted = makers.linear(under_root(makers, node.src[1 - first], algorithm == BinaryAlgorithm::mul));
    if (shifted == nullptr || shifted->as<EltwiseAttributes>().alpha != 1) continue;
    const Node* variance = makers.node(shifted->src[0], Kind::reduction);
    if (variance == nullptr || normalized_from(makers.graph, *variance) != normalized_from(makers.graph, *mean))
      continue;
    const TensorId squared = makers.square_root(variance->src[0]);
    const Node* again = subtracted_mean(makers, squared);
    const bool same = squared == difference || (again != nullptr && again->src[0] == mean->src[0]);
    if (!same) continue;
    return Node{.name = node.name,
                .kind = Kind::layer_normalization,
                .attributes = NormalizationAttributes{.epsilon = shifted->as<EltwiseAttributes>().beta,
                                                      .axis = *normalized_from(makers.graph, *mean)},
                .src = {mean->src[0]},
                .dst = node.dst};
  }
  return std::nullopt;
}

// GELU and SiLU.

/// The search follows at most this many nodes, one after the other.
constexpr int kMostSteps = 6;

/// A product taken apart: its numbers multiplied, and its other factors. What is in `whole` is not taken apart.
struct Product {
  const Makers& makers;
  std::vector<TensorId> whole;
  double number = 1;
  std::vector<TensorId> factors{};

  void add(TensorId t, int steps = kMostSteps) {
    if (steps == 0 || std::ranges::find(whole, t) != whole.end()) return factors.push_back(t);
    const Node* linear = makers.linear(t);
    const Node* power = makers.eltwise(t, EltwiseAlgorithm::pow);
    if (linear != nullptr && linear->as<EltwiseAttributes>().beta == 0) {
      number *= linear->as<EltwiseAttributes>().alpha;
      add(linear->src[0], steps - 1);
    } else if (power != nullptr && power->as<EltwiseAttributes>().beta == 3) {
      number *= power->as<EltwiseAttributes>().alpha;
      for (int k = 0; k < 3; ++k) add(power->src[0], steps - 1);
    } else if (const Node* square = makers.eltwise(t, EltwiseAlgorithm::square)) {
      for (int k = 0; k < 2; ++k) add(square->src[0], steps - 1);
    } else if (const Node* product = makers.binary(t, BinaryAlgorithm::mul)) {
      for (TensorId factor : product->src) add(factor, steps - 1);
    } else {
      factors.push_back(t);
    }
  }
  /// Whether the factors are `t` so many times, and nothing else or, where there is one, `other` once.
  bool is(TensorId t, std::ptrdiff_t times, TensorId other = kNone) const {
    const std::ptrdiff_t others = other == kNone ? 0 : 1;
    return std::ssize(factors) == times + others && std::ranges::count(factors, t) == times &&
           std::ranges::count(factors, other) == others;
  }
};

/// Whether `t` is sqrt(2 / pi) * (x + 0.044715 * x^3), with the factors in any order.
bool is_gelu_argument(const Makers& makers, TensorId t, TensorId x) {
  constexpr double kCubic = 0.044715;
  const double scale = std::sqrt(2 / std::numbers::pi);
  Product outer{makers, {x}};
  outer.add(t);
  if (outer.factors.size() == 2 && std::ranges::count(outer.factors, x) == 1) {  // x * (1 + 0.044715 * x^2)
    const Node* linear = makers.linear(outer.factors[outer.factors[0] == x ? 1 : 0]);
    if (linear == nullptr) return false;
    Product inner{makers, {x}};
    inner.add(linear->src[0]);
    const auto& a = linear->as<EltwiseAttributes>();
    return inner.is(x, 2) && near(outer.number * a.beta, scale) && near(a.alpha * inner.number, kCubic * a.beta);
  }
  if (outer.factors.size() != 1) return false;
  const Node* sum = makers.binary(outer.factors[0], BinaryAlgorithm::add);
  if (sum == nullptr) return false;
  const std::size_t first = sum->src[0] == x ? 0 : 1;
  Product cubic{makers, {x}};
  cubic.add(sum->src[1 - first]);
  return sum->src[first] == x && cubic.is(x, 3) && near(cubic.number, kCubic) && near(outer.number, scale);
}

/// The tensors that `t` is computed from by a few nodes.
void collect_sources(const Makers& makers, TensorId t, int steps, std::vector<TensorId>& out) {
  if (std::ranges::find(out, t) == out.end()) out.push_back(t);
  for (Kind kind : {Kind::eltwise, Kind::binary}) {
    const Node* node = steps > 0 ? makers.node(t, kind) : nullptr;
    if (node == nullptr) continue;
    for (TensorId source : node->src) collect_sources(makers, source, steps - 1, out);
  }
}

/// The factor of a product that is a sigmoid, or c + c * tanh of something; kNone if there is none.
TensorId gate_of(const Makers& makers, TensorId t, int steps = kMostSteps) {
  const Node* linear = makers.linear(t);
  if (makers.eltwise(t, EltwiseAlgorithm::logistic) != nullptr) return t;
  if (linear != nullptr && makers.eltwise(linear->src[0], EltwiseAlgorithm::tanh) != nullptr) return t;
  if (steps == 0) return kNone;
  if (linear != nullptr)
    return linear->as<EltwiseAttributes>().beta == 0 ? gate_of(makers, linear->src[0], steps - 1) : kNone;
  const Node* product = makers.binary(t, BinaryAlgorithm::mul);
  if (product == nullptr) return kNone;
  const TensorId first = gate_of(makers, product->src[0], steps - 1);
  return first != kNone ? first : gate_of(makers, product->src[1], steps - 1);
}

/// The elementwise function of x that `dst` is, if it is x * gate * number; nothing if it is none.
std::optional<EltwiseAttributes> gated(const Makers& makers, TensorId dst, TensorId gate, TensorId x) {
  Product product{makers, {x, gate}};
  product.add(dst);
  if (!product.is(x, 1, gate) || makers.graph.tensor(x).dims != makers.graph.tensor(dst).dims) return std::nullopt;
  if (const Node* sigmoid = makers.eltwise(gate, EltwiseAlgorithm::logistic)) {
    Product argument{makers, {x}};
    argument.add(sigmoid->src[0]);
    if (product.number != 1 || !argument.is(x, 1)) return std::nullopt;
    return EltwiseAttributes{.algorithm = EltwiseAlgorithm::swish, .alpha = argument.number};
  }
  const Node* shifted = makers.linear(gate);
  const auto& a = shifted->as<EltwiseAttributes>();
  const TensorId argument = makers.eltwise(shifted->src[0], EltwiseAlgorithm::tanh)->src[0];
  if (a.alpha != a.beta || !near(product.number * a.alpha, 0.5) || !is_gelu_argument(makers, argument, x)) {
    return std::nullopt;
  }
  return EltwiseAttributes{.algorithm = EltwiseAlgorithm::gelu_tanh};
}

std::optional<Node> activation(const Makers& makers, const Node& node) {
  const TensorId dst = node.dst[0];
  if (makers.binary(dst, BinaryAlgorithm::mul) == nullptr && makers.linear(dst) == nullptr) return std::nullopt;
  const TensorId gate = gate_of(makers, dst);
  if (gate == kNone || gate == dst) return std::nullopt;
  std::vector<TensorId> sources;
  collect_sources(makers, gate, kMostSteps, sources);
  for (TensorId x : sources) {
    if (x == gate) continue;
    if (const auto attributes = gated(makers, dst, gate, x)) {
      return Node{.name = node.name, .kind = Kind::eltwise, .attributes = *attributes, .src = {x}, .dst = node.dst};
    }
  }
  return std::nullopt;
}

/// The constant that a node multiplies `t` by, or adds to it, for each element of the dims that are normalized
/// together; else kNone.
TensorId parameter(const Graph& graph, const Node& node, TensorId t, BinaryAlgorithm algorithm, int axis) {
  if (node.kind != Kind::binary || node.as<BinaryAttributes>().algorithm != algorithm) return kNone;
  if (node.pass != Pass::forward_inference || !node.post_ops.empty()) return kNone;
  const TensorId other = node.src[node.src[0] == t ? 1 : 0];
  const Tensor &constant = graph.tensor(other), &data = graph.tensor(t);
  if (other == t || !constant.constant() || constant.dtype != data.dtype) return kNone;
  for (int d = 0; d < data.dims.size(); ++d) {
    if (constant.dims[d] != (d < axis ? 1 : data.dims[d])) return kNone;
  }
  return other;
}

/// Lets a layer normalization take in the scale and the shift that follow it, and a product of matrices its bias.
class Parameters {
 public:
  explicit Parameters(Graph& graph) : graph_(graph), readers_(consumers(graph)), dropped_(graph.nodes.size(), false) {}

  void run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.pass != Pass::forward_inference || !node.post_ops.empty() || node.dst.size() > 1) continue;
      const auto has = [&](std::size_t i) { return i < node.src.size() && node.src[i] != kNone; };
      if (graph_.tensor(node.dst[0]).dtype != DType::f32 || graph_.tensor(node.src[0]).dtype != DType::f32) continue;
      if (node.kind == Kind::layer_normalization && !has(1) && !has(2)) {
        const int axis = node.as<NormalizationAttributes>().axis;
        take(n, BinaryAlgorithm::mul, 1, axis);
        take(n, BinaryAlgorithm::add, 2, axis);
      } else if (node.kind == Kind::matmul && !has(2)) {
        take(n, BinaryAlgorithm::add, 2, graph_.tensor(node.dst[0]).dims.size() - 1);
      }
    }
    drop_nodes(graph_, dropped_);
  }

 private:
  /// Takes in a node that multiplies the result, or adds to it, the same for all indices of the dims before `axis`.
  void take(std::size_t n, BinaryAlgorithm algorithm, std::size_t operand, int axis) {
    const TensorId dst = graph_.nodes[n].dst[0];
    const std::vector<NodeId>& after = readers_[static_cast<std::size_t>(dst)];
    const bool is_output = std::ranges::find(graph_.outputs, dst) != graph_.outputs.end();
    if (after.size() != 1 || is_output || graph_.tensor(dst).layout) return;
    const Node& next = graph_.node(after[0]);
    const TensorId given = parameter(graph_, next, dst, algorithm, axis);
    if (given == kNone) return;
    Node& node = graph_.nodes[n];
    dropped_[static_cast<std::size_t>(after[0])] = true;
    node.dst = next.dst;
    const Tensor constant = graph_.tensor(given);
    node.src.resize(operand + 1, kNone);
    node.src[operand] =
        graph_.constant(constant.name, {checked_product(constant.dims).value()}, constant.dtype, constant.data);
  }

  Graph& graph_;
  const std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> dropped_;
};

}  // namespace

void join_compositions(Graph& graph) {
  std::vector<std::optional<Node>> found(graph.nodes.size());
  {
    const Makers makers{graph};
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.pass != Pass::forward_inference || !node.post_ops.empty()) continue;
      if (!is_floating(graph.tensor(node.dst[0]).dtype)) continue;
      if (graph.tensor(node.dst[0]).dtype == DType::f32) found[n] = layer_normalization(makers, node);
      if (!found[n]) found[n] = activation(makers, node);
    }
  }
  for (std::size_t n = 0; n < found.size(); ++n) {
    if (found[n]) graph.nodes[n] = std::move(*found[n]);
  }
  Parameters(graph).run();
}

}  // namespace relayout::graph
