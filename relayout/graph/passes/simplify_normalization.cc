// Simplify: multiplies a scale and a shift of channels after a convolution into its weights and bias.
//
// If y = W x + b, then s y + t = (s W) x + (s b + t), for each channel.
#include <algorithm>
#include <cmath>

#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/passes/simplify_steps.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::graph {
namespace {

/// dst = scale * src + shift, with one scale and one shift for each channel.
struct Affine {
  Values scale, shift;

  explicit Affine(int64_t channels)
      : scale(static_cast<std::size_t>(channels), 1), shift(static_cast<std::size_t>(channels), 0) {}

  void then(const Affine& next) {
    for (std::size_t c = 0; c < scale.size(); ++c) {
      scale[c] *= next.scale[c];
      shift[c] = shift[c] * next.scale[c] + next.shift[c];
    }
  }
  bool finite() const {
    const auto all = [](const Values& values) {
      return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
    };
    return all(scale) && all(shift);
  }
};

bool constant_or_absent(const Graph& graph, TensorId t) { return t == kNone || graph.tensor(t).constant(); }

std::optional<Affine> batch_normalization(const Graph& graph, const Node& node, int64_t channels) {
  if (node.pass != Pass::forward_inference) return std::nullopt;
  for (std::size_t i = 1; i < node.src.size(); ++i) {
    if (!constant_or_absent(graph, node.src[i])) return std::nullopt;
  }
  const auto values = [&](std::size_t i, double otherwise) {
    return node.src[i] == kNone ? Values(static_cast<std::size_t>(channels), otherwise)
                                : values_of(graph.tensor(node.src[i]));
  };
  const Values scale = values(1, 1), shift = values(2, 0), mean = values(3, 0), variance = values(4, 1);
  Affine out(channels);
  for (std::size_t c = 0; c < scale.size(); ++c) {
    out.scale[c] = scale[c] / std::sqrt(variance[c] + node.as<NormalizationAttributes>().epsilon);
    out.shift[c] = shift[c] - mean[c] * out.scale[c];
  }
  return out;
}

/// The values of a constant that has one value for each channel, or a single one: all its dims except dim 1 are 1.
/// Nothing for other tensors.
std::optional<Values> channel_values(const Graph& graph, TensorId t, int64_t channels) {
  const Tensor& tensor = graph.tensor(t);
  if (!tensor.constant() || tensor.dims.size() < 2) return std::nullopt;
  for (int d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] != 1 && (d != 1 || tensor.dims[d] != channels)) return std::nullopt;
  }
  const Values values = values_of(tensor);
  return values.size() == 1 ? Values(static_cast<std::size_t>(channels), values[0]) : values;
}

std::optional<Affine> binary(const Graph& graph, const Node& node, TensorId src, int64_t channels) {
  const bool first = node.src[0] == src;
  const std::optional<Values> values = channel_values(graph, node.src[first ? 1 : 0], channels);
  if (!values) return std::nullopt;
  Affine out(channels);
  for (std::size_t c = 0; c < values->size(); ++c) {
    const double v = (*values)[c];
    switch (node.as<BinaryAttributes>().algorithm) {
      case BinaryAlgorithm::add: out.shift[c] = v; break;
      case BinaryAlgorithm::sub:
        out.scale[c] = first ? 1 : -1;
        out.shift[c] = first ? -v : v;
        break;
      case BinaryAlgorithm::mul: out.scale[c] = v; break;
      case BinaryAlgorithm::div:
        if (!first) return std::nullopt;
        out.scale[c] = 1 / v;
        break;
      default: return std::nullopt;
    }
  }
  return out;
}

/// The scale and shift that a node applies to the channels of `src`; nothing if it does something else.
std::optional<Affine> affine_of(const Graph& graph, const Node& node, TensorId src) {
  const Tensor &from = graph.tensor(src), &to = graph.tensor(node.dst[0]);
  if (!node.forward() || !node.post_ops.empty()) return std::nullopt;
  if (from.dims != to.dims || from.dtype != to.dtype) return std::nullopt;
  const int64_t channels = from.dims[1];
  std::optional<Affine> out;
  if (node.kind == Kind::batch_normalization) out = batch_normalization(graph, node, channels);
  if (node.kind == Kind::binary) out = binary(graph, node, src, channels);
  if (node.kind == Kind::eltwise && node.as<EltwiseAttributes>().algorithm == EltwiseAlgorithm::linear) {
    out.emplace(channels);
    std::fill(out->scale.begin(), out->scale.end(), node.as<EltwiseAttributes>().alpha);
    std::fill(out->shift.begin(), out->shift.end(), node.as<EltwiseAttributes>().beta);
  }
  return out && out->finite() ? out : std::nullopt;
}

TensorId add_constant(Graph& graph, std::string name, const Dims& dims, DType dtype, const Values& values) {
  return graph.constant(std::move(name), dims, dtype,
                        std::make_shared<const std::vector<std::byte>>(store(values, dtype)));
}

/// Applies a scale and shift to the weights and bias of a convolution. The outer dims of weights are the channels of
/// the destination, so that the weights of each channel are consecutive values.
void scale_weights(Graph& graph, Node& node, const Affine& affine, const std::string& name) {
  const Tensor weights = graph.tensor(node.src[1]);
  Values values = values_of(weights);
  const std::size_t channels = affine.scale.size(), run = channels == 0 ? 0 : values.size() / channels;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= affine.scale[i / run];
  node.src[1] = add_constant(graph, name + ":weights", weights.dims, weights.dtype, values);

  node.src.resize(3, kNone);
  const bool has_bias = node.src[2] != kNone;
  Values bias = has_bias ? values_of(graph.tensor(node.src[2])) : Values(channels, 0.0);
  for (std::size_t c = 0; c < channels; ++c) bias[c] = bias[c] * affine.scale[c] + affine.shift[c];
  const DType dtype = has_bias ? graph.tensor(node.src[2]).dtype : weights.dtype;
  node.src[2] = add_constant(graph, name + ":bias", {static_cast<int64_t>(channels)}, dtype, bias);
}

/// Whether the weights of a node may be changed. Weights of narrow types would be rounded a second time.
bool scalable(const Graph& graph, const Node& node) {
  if (node.kind != Kind::convolution && node.kind != Kind::deconvolution && node.kind != Kind::inner_product) {
    return false;
  }
  if (node.pass != Pass::forward_inference || !node.post_ops.empty()) return false;
  if (!graph.tensor(node.src[1]).constant()) return false;
  const TensorId bias = node.src.size() > 2 ? node.src[2] : kNone;
  const auto wide = [&](TensorId t) {
    return t == kNone || (is_floating(graph.tensor(t).dtype) && bits(graph.tensor(t).dtype) >= 32);
  };
  return constant_or_absent(graph, bias) && wide(bias) && wide(node.src[1]) && wide(node.dst[0]);
}

}  // namespace

void fold_batch_normalization(Graph& graph) {
  const std::vector<std::vector<NodeId>> readers = consumers(graph);
  std::vector<bool> dropped(graph.nodes.size(), false);
  for (Node& node : graph.nodes) {
    if (!scalable(graph, node)) continue;
    Affine total(graph.tensor(node.dst[0]).dims[1]);
    std::string last;
    for (;;) {
      const TensorId dst = node.dst[0];
      const std::vector<NodeId>& after = readers[static_cast<std::size_t>(dst)];
      const bool is_output = std::find(graph.outputs.begin(), graph.outputs.end(), dst) != graph.outputs.end();
      if (after.size() != 1 || is_output || graph.tensor(dst).layout) break;
      const Node& next = graph.node(after[0]);
      const std::optional<Affine> affine = affine_of(graph, next, dst);
      if (!affine) break;
      total.then(*affine);
      last = next.name;
      node.dst = next.dst;
      dropped[static_cast<std::size_t>(after[0])] = true;
    }
    if (!last.empty()) scale_weights(graph, node, total, last);
  }
  drop_nodes(graph, dropped);
}

}  // namespace relayout::graph
