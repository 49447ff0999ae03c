// Which family computes a node, and the evaluation of a whole graph from its first node to its last.
#include "relayout/graph/reference/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>

#include "relayout/core/error.h"
#include "relayout/graph/ir/post_ops.h"
#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph {
namespace reference {
namespace {

/// Rounds values to those that a tensor of that type holds.
void round_to(DType dtype, Values& values) {
  if (dtype == DType::f64) return;
  if (dtype == DType::f32) {
    for (double& v : values) v = static_cast<double>(static_cast<float>(v));
    return;
  }
  values = load(store(values, dtype), dtype, static_cast<int64_t>(values.size()));
}

/// The state of one evaluation: the values of tensors from their node to their last reader.
class GraphEvaluation {
 public:
  explicit GraphEvaluation(const Graph& graph)
      : graph_(graph), values_(graph.tensors.size()), last_(graph.tensors.size(), -1) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (TensorId t : graph.nodes[n].src) keep_until(t, static_cast<int>(n));
      for (TensorId t : graph.nodes[n].dst) keep_until(t, static_cast<int>(n));
      for (TensorId t : hint_sources(graph.nodes[n])) keep_until(t, static_cast<int>(n));
    }
    for (TensorId t : graph.outputs) keep_until(t, static_cast<int>(graph.nodes.size()));
  }

  /// Asks for values that are moved by a few roundings of f32, up or down (evaluate_rounded).
  void want_rounding(uint64_t seed) { rng_.emplace(seed); }
  void move_by_rounding(TensorId tensor, Values& values) {
    const DType dtype = graph_.tensor(tensor).dtype;
    if (!rng_ || (dtype != DType::f32 && dtype != DType::f64)) return;
    std::uniform_real_distribution<double> change(-0x1p-21, 0x1p-21);
    for (double& v : values) v *= 1 + change(*rng_);
  }

  void set(TensorId tensor, Values values) { values_[static_cast<std::size_t>(tensor)] = std::move(values); }

  /// The values of a tensor. Those of a constant are made when they are first asked for.
  const Values* get(TensorId tensor) {
    if (tensor == kNone) return nullptr;
    Values& values = values_[static_cast<std::size_t>(tensor)];
    if (values.empty() && graph_.tensor(tensor).constant()) values = values_of(graph_.tensor(tensor));
    return &values;
  }

  /// Asks for the sums of outputs (EvaluatedSums), and of the tensors from which these are taken over.
  void want_sums() {
    sums_.assign(values_.size(), 0);
    wants_sum_.assign(values_.size(), false);
    for (TensorId t : graph_.outputs) wants_sum_[static_cast<std::size_t>(t)] = true;
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (!hands_sums_on(node.kind) || !wants_sum(node)) continue;
      for (TensorId t : node.src) {
        if (t != kNone) wants_sum_[static_cast<std::size_t>(t)] = true;
      }
    }
  }
  double sum_of(TensorId tensor) const { return sums_[static_cast<std::size_t>(tensor)]; }

  void run(int n) {
    const Node& node = graph_.node(n);
    const auto all = [&](const std::vector<TensorId>& tensors) {
      std::vector<const Values*> out;
      for (TensorId t : tensors) out.push_back(get(t));
      return out;
    };
    const std::vector<const Values*> src = all(node.src), hint_src = all(hint_sources(node));
    std::vector<Values> dst = evaluate_node(graph_, node, src, hint_src);
    if (wants_sum(node)) note_sums(node, src);
    for (std::size_t i = 0; i < node.dst.size(); ++i) {
      if (node.dst[i] == kNone) continue;
      if (!only_moves(node.kind)) move_by_rounding(node.dst[i], dst[i]);
      set(node.dst[i], std::move(dst[i]));
    }
    for (const std::vector<TensorId>& tensors : {node.src, node.dst, hint_sources(node)}) {
      for (TensorId t : tensors) {
        if (t != kNone && last_[static_cast<std::size_t>(t)] == n) set(t, {});
      }
    }
  }

 private:
  void keep_until(TensorId tensor, int node) {
    if (tensor != kNone) last_[static_cast<std::size_t>(tensor)] = node;
  }

  static double largest(const Values& values) {
    double out = 0;
    for (double v : values) {
      if (std::isfinite(v)) out = std::max(out, std::abs(v));
    }
    return out;
  }
  static bool only_moves(Kind kind) {
    return is_view(kind) || kind == Kind::shuffle || kind == Kind::concat || kind == Kind::pad;
  }
  /// Kinds that only move values of the sources or add a few of them. The sums of magnitudes of their destinations
  /// follow from those of the sources.
  static bool hands_sums_on(Kind kind) { return only_moves(kind) || kind == Kind::sum; }
  bool wants_sum(const Node& node) const {
    return std::ranges::any_of(node.dst, [&](TensorId t) {
      return t != kNone && !wants_sum_.empty() && wants_sum_[static_cast<std::size_t>(t)];
    });
  }

  /// Notes the sums of a node's destinations. A node that is linear in each source, computed from the sources'
  /// magnitudes, gives the sum of magnitudes for each element.
  void note_sums(const Node& node, std::vector<const Values*> src) {
    if (!node.post_ops.empty()) return;
    const bool products = node.kind == Kind::convolution || node.kind == Kind::deconvolution ||
                          node.kind == Kind::matmul || node.kind == Kind::inner_product;
    const bool normalization = (node.kind == Kind::batch_normalization || node.kind == Kind::layer_normalization) &&
                               !node.forward() && node.dst.size() > 2 && node.dst[2] != kNone;
    if (hands_sums_on(node.kind)) {
      double all = 0;
      for (std::size_t i = 0; i < src.size(); ++i) {
        const double one = node.src[i] == kNone ? 0 : std::max(sum_of(node.src[i]), largest(*src[i]));
        all = node.kind == Kind::sum ? all + one * std::abs(scale_of(node, i)) : std::max(all, one);
      }
      return set_sum(node.dst[0], all);
    }
    if (!products && !normalization) return;
    std::vector<Values> magnitudes(src.size());
    for (std::size_t i = 0; i < src.size(); ++i) {
      if (src[i] == nullptr || (normalization && i != kDifference)) continue;
      magnitudes[i] = *src[i];
      for (double& v : magnitudes[i]) v = std::abs(v);
      src[i] = &magnitudes[i];
    }
    const std::vector<Values> sums = evaluate_node(graph_, node, src, {});
    for (std::size_t i = 0; i < node.dst.size(); ++i) {
      // Normalized values are of about unit size, so the gradient of the scale adds up magnitudes as large as that of
      // the shift.
      if (normalization && i == 0) continue;
      set_sum(node.dst[i], largest(sums[normalization ? 2 : i]));
    }
  }
  /// The index of diff_dst among the sources of a normalization.
  static constexpr std::size_t kDifference = 4;
  static double scale_of(const Node& node, std::size_t i) {
    const std::vector<double>& scales = node.as<SumAttributes>().scales;
    return scales.empty() ? 1 : scales[i];
  }
  void set_sum(TensorId tensor, double sum) {
    if (tensor != kNone) sums_[static_cast<std::size_t>(tensor)] = sum;
  }

  /// The forward sources, which backward pooling needs to find the largest value of each window.
  std::vector<TensorId> hint_sources(const Node& node) const {
    if (node.forward() || node.kind != Kind::pooling || node.hint == kNone) return {};
    return graph_.node(node.hint).src;
  }

  const Graph& graph_;
  std::vector<Values> values_;
  std::vector<int> last_;          // the last node that needs each tensor
  std::vector<double> sums_;       // by tensor
  std::vector<bool> wants_sum_{};  // by tensor; empty if no sums are wanted
  std::optional<std::mt19937_64> rng_{};
};

/// The destination of a node with post-ops: what it computes itself, and then each post-op, as nodes of their own.
std::vector<Values> evaluate_apart(const Graph& graph, const Node& node, std::span<const Values* const> src) {
  const Graph apart = written_apart(graph, node);
  std::vector<Values> made(apart.tensors.size());
  std::vector<const Values*> known(src.begin(), src.end());
  known.resize(apart.tensors.size());
  for (const Node& part : apart.nodes) {
    std::vector<const Values*> operands;
    for (TensorId t : part.src) operands.push_back(t == kNone ? nullptr : known[static_cast<std::size_t>(t)]);
    const auto dst = static_cast<std::size_t>(part.dst[0]);
    made[dst] = std::move(evaluate_node(apart, part, operands)[0]);
    known[dst] = &made[dst];
  }
  return {std::move(made.back())};
}

}  // namespace
}  // namespace reference

std::vector<Values> evaluate_node(const Graph& graph, const Node& node, std::span<const Values* const> src,
                                  std::span<const Values* const> hint_src) {
  using namespace reference;
  if (!node.post_ops.empty()) return evaluate_apart(graph, node, src);
  using Family = void (*)(const Evaluation&);
  static constexpr std::array<Family, kKindCount> kFamilies = {convolution,
                                                               deconvolution,
                                                               matmul,
                                                               inner_product,
                                                               rnn,
                                                               pooling,
                                                               batch_normalization,
                                                               layer_normalization,
                                                               lrn,
                                                               eltwise,
                                                               prelu,
                                                               shuffle,
                                                               softmax,
                                                               resampling,
                                                               reduction,
                                                               concat,
                                                               sum,
                                                               binary,
                                                               reference::reorder,
                                                               reshape,
                                                               transpose,
                                                               slice,
                                                               broadcast,
                                                               pad,
                                                               gather,
                                                               array,
                                                               barrier};
  std::vector<Values> dst(node.dst.size());
  for (std::size_t i = 0; i < dst.size(); ++i) {
    if (node.dst[i] != kNone) dst[i].assign(static_cast<std::size_t>(count(graph.tensor(node.dst[i]).dims)), 0.0);
  }
  kFamilies[static_cast<std::size_t>(node.kind)]({graph, node, src, hint_src, dst});
  for (std::size_t i = 0; i < dst.size(); ++i) {
    if (node.dst[i] != kNone) round_to(graph.tensor(node.dst[i]).dtype, dst[i]);
  }
  return dst;
}

namespace reference {
namespace {

EvaluatedSums evaluate_graph(const Graph& graph, std::span<const Values> inputs, bool sums,
                             std::optional<uint64_t> rounding = {}) {
  if (inputs.size() != graph.inputs.size()) {
    throw Error(ErrorCode::invalid_argument,
                "reference: " + std::to_string(inputs.size()) + " inputs given, the graph has " +
                    std::to_string(graph.inputs.size()),
                "inputs", std::to_string(inputs.size()), std::to_string(graph.inputs.size()));
  }
  GraphEvaluation run(graph);
  if (sums) run.want_sums();
  if (rounding) run.want_rounding(*rounding);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = graph.tensor(graph.inputs[i]);
    const auto want = static_cast<std::size_t>(count(tensor.dims));
    if (inputs[i].size() != want) {
      throw Error(ErrorCode::invalid_argument,
                  "reference: input " + escaped(tensor.name) + " has " + std::to_string(inputs[i].size()) +
                      " values, its dims " + join(tensor.dims, "x") + " have " + std::to_string(want),
                  "inputs[" + std::to_string(i) + "]", std::to_string(inputs[i].size()), std::to_string(want));
    }
    Values values = inputs[i];
    round_to(tensor.dtype, values);
    run.move_by_rounding(graph.inputs[i], values);
    run.set(graph.inputs[i], std::move(values));
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) run.run(static_cast<int>(n));
  EvaluatedSums out;
  for (TensorId t : graph.outputs) {
    out.outputs.push_back(*run.get(t));
    if (sums) out.sums.push_back(run.sum_of(t));
  }
  return out;
}

}  // namespace
}  // namespace reference

std::vector<Values> evaluate(const Graph& graph, std::span<const Values> inputs) {
  return reference::evaluate_graph(graph, inputs, false).outputs;
}

std::vector<Values> evaluate_rounded(const Graph& graph, std::span<const Values> inputs, uint64_t seed) {
  return reference::evaluate_graph(graph, inputs, false, seed).outputs;
}

EvaluatedSums evaluate_sums(const Graph& graph, std::span<const Values> inputs) {
  return reference::evaluate_graph(graph, inputs, true);
}

}  // namespace relayout::graph
