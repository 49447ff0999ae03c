// The reference's frame: which family computes a node, and a whole graph from its first node to its last.
#include "relayout/graph/reference.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "relayout/core/error.h"
#include "relayout/graph/reference_parts.h"

namespace relayout::graph {
namespace reference {

int64_t count(const Dims& dims) { return count(dims, 0, dims.size()); }

int64_t count(const Dims& dims, int first, int last) {
  return std::accumulate(dims.begin() + first, dims.begin() + last, int64_t{1}, std::multiplies<>());
}

Dims strides_of(const Dims& dims) {
  Dims out(dims.size(), 1);
  for (int d = dims.size() - 2; d >= 0; --d) out[d] = out[d + 1] * dims[d + 1];
  return out;
}

Dims broadcast_strides(const Dims& dims, const Dims& onto) {
  const Dims own = strides_of(dims);
  Dims out(onto.size(), 0);
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] > 1) out[onto.size() - dims.size() + d] = own[d];
  }
  return out;
}

int64_t entry(const Dims& list, int d, int64_t otherwise) { return list.empty() ? otherwise : list[d]; }

Lanes lanes(const Dims& dims, int axis) {
  const int d = axis < 0 ? axis + dims.size() : axis;
  return lanes(dims, d, d + 1);
}

Lanes lanes(const Dims& dims, int first, int last) {
  return {count(dims, 0, first), count(dims, first, last), count(dims, last, dims.size())};
}

void barrier(const Evaluation& e) {
  const std::string operation = escaped(e.node.as<BarrierAttributes>().operation);
  throw Error(ErrorCode::unsupported, "reference: node " + escaped(e.node.name) + ": unknown operator " + operation,
              "operation", operation, "an operator that the importer knows");
}

namespace {

/// Values as a tensor of that type holds them.
void round_to(DType dtype, Values& values) {
  if (dtype == DType::f64) return;
  if (dtype == DType::f32) {
    for (double& v : values) v = static_cast<double>(static_cast<float>(v));
    return;
  }
  values = load(store(values, dtype), dtype, static_cast<int64_t>(values.size()));
}

/// What evaluate() knows of its tensors: their values while they live.
class Run {
 public:
  explicit Run(const Graph& graph) : graph_(graph), values_(graph.tensors.size()), last_(graph.tensors.size(), -1) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (TensorId t : graph.nodes[n].src) keep_until(t, static_cast<int>(n));
      for (TensorId t : graph.nodes[n].dst) keep_until(t, static_cast<int>(n));
      for (TensorId t : hint_sources(graph.nodes[n])) keep_until(t, static_cast<int>(n));
    }
    for (TensorId t : graph.outputs) keep_until(t, static_cast<int>(graph.nodes.size()));
  }

  void set(TensorId tensor, Values values) { values_[static_cast<std::size_t>(tensor)] = std::move(values); }

  /// A tensor's values; a constant's are made where they are asked for the first time.
  const Values* get(TensorId tensor) {
    if (tensor == kNone) return nullptr;
    Values& values = values_[static_cast<std::size_t>(tensor)];
    if (values.empty() && graph_.tensor(tensor).constant()) values = values_of(graph_.tensor(tensor));
    return &values;
  }

  void run(int n) {
    const Node& node = graph_.node(n);
    const auto all = [&](const std::vector<TensorId>& tensors) {
      std::vector<const Values*> out;
      for (TensorId t : tensors) out.push_back(get(t));
      return out;
    };
    const std::vector<const Values*> src = all(node.src), hint_src = all(hint_sources(node));
    std::vector<Values> dst = evaluate_node(graph_, node, src, hint_src);
    for (std::size_t i = 0; i < node.dst.size(); ++i) {
      if (node.dst[i] != kNone) set(node.dst[i], std::move(dst[i]));
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

  /// Backward pooling asks which source was the largest.
  std::vector<TensorId> hint_sources(const Node& node) const {
    if (node.forward() || node.kind != Kind::pooling || node.hint == kNone) return {};
    return graph_.node(node.hint).src;
  }

  const Graph& graph_;
  std::vector<Values> values_;
  std::vector<int> last_;  // the last node that needs each tensor
};

}  // namespace
}  // namespace reference

std::vector<Values> evaluate_node(const Graph& graph, const Node& node, std::span<const Values* const> src,
                                  std::span<const Values* const> hint_src) {
  using namespace reference;
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

std::vector<Values> evaluate(const Graph& graph, std::span<const Values> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    throw Error(ErrorCode::invalid_argument,
                "reference: " + std::to_string(inputs.size()) + " inputs given, the graph has " +
                    std::to_string(graph.inputs.size()),
                "inputs", std::to_string(inputs.size()), std::to_string(graph.inputs.size()));
  }
  reference::Run run(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = graph.tensor(graph.inputs[i]);
    const auto want = static_cast<std::size_t>(reference::count(tensor.dims));
    if (inputs[i].size() != want) {
      throw Error(ErrorCode::invalid_argument,
                  "reference: input " + escaped(tensor.name) + " has " + std::to_string(inputs[i].size()) +
                      " values, its dims " + join(tensor.dims, "x") + " have " + std::to_string(want),
                  "inputs[" + std::to_string(i) + "]", std::to_string(inputs[i].size()), std::to_string(want));
    }
    Values values = inputs[i];
    reference::round_to(tensor.dtype, values);
    run.set(graph.inputs[i], std::move(values));
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) run.run(static_cast<int>(n));
  std::vector<Values> out;
  for (TensorId t : graph.outputs) out.push_back(*run.get(t));
  return out;
}

}  // namespace relayout::graph
