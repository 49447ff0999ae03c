// Products of bytes: see multiply_bytes.h.
#include "relayout/graph/passes/multiply_bytes.h"

#include <algorithm>
#include <cmath>

#include "relayout/core/overflow.h"
#include "relayout/graph/ir/ops.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/passes/simplify_steps.h"
#include "relayout/graph/reference/values.h"

namespace relayout::graph {
namespace {

int64_t count(const Dims& dims) { return checked_product(dims).value(); }

/// (bytes - zero) * scale. A zero that is kNone is 0.
struct Dequantized {
  TensorId bytes = kNone, zero = kNone, scale = kNone;
};

/// The place in `values`, whose dims are those of `dims` or 1, of element i of a tensor of `dims`.
std::size_t place_in(const Dims& values, const Dims& dims, int64_t i) {
  int64_t out = 0, step = 1;
  for (int d = dims.size() - 1; d >= 0; --d) {
    out += (values[d] == 1 ? 0 : i % dims[d]) * step;
    step *= values[d];
    i /= dims[d];
  }
  return static_cast<std::size_t>(out);
}

class ByteProducts {
 public:
  explicit ByteProducts(Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  void run() {
    std::vector<Node> nodes;
    bool changed = false;
    for (const Node& node : graph_.nodes) {
      if (const auto made = of_bytes(node)) {
        nodes.insert(nodes.end(), made->begin(), made->end());
        changed = true;
      } else {
        nodes.push_back(node);
      }
    }
    if (!changed) return;
    graph_.nodes = std::move(nodes);
    prune(graph_);
  }

 private:
  const Node* maker(TensorId t, Kind kind) const {
    const NodeId n = t == kNone ? kNone : makers_[static_cast<std::size_t>(t)];
    if (n == kNone || graph_.node(n).kind != kind || !graph_.node(n).post_ops.empty()) return nullptr;
    return &graph_.node(n);
  }
  const Node* maker(TensorId t, BinaryAlgorithm algorithm) const {
    const Node* node = maker(t, Kind::binary);
    return node && node->as<BinaryAttributes>().algorithm == algorithm ? node : nullptr;
  }
  bool is_f32_constant(TensorId t) const { return graph_.tensor(t).constant() && graph_.tensor(t).dtype == DType::f32; }

  std::optional<Dequantized> dequantized(TensorId t) const {
    Dequantized out;
    const Node* mul = maker(t, BinaryAlgorithm::mul);
    if (!mul || !is_f32_constant(mul->src[1])) return std::nullopt;
    out.scale = mul->src[1];
    TensorId value = mul->src[0];
    if (const Node* sub = maker(value, BinaryAlgorithm::sub)) {
      if (!is_f32_constant(sub->src[1])) return std::nullopt;
      out.zero = sub->src[1];
      value = sub->src[0];
    }
    const Node* cast = maker(value, Kind::reorder);
    if (!cast || cast->as<ReorderAttributes>().scale != 1 || cast->as<ReorderAttributes>().shift != 0)
      return std::nullopt;
    out.bytes = cast->src[0];
    if (!is_byte(graph_.tensor(out.bytes).dtype)) return std::nullopt;
    return out;
  }

  /// The one value of a constant; nothing if there are several, or it is not finite.
  std::optional<double> single(TensorId t) const {
    if (count(graph_.tensor(t).dims) != 1) return std::nullopt;
    const double value = values_of(graph_.tensor(t))[0];
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }

  /// The constant less its zero points, row-major; empty where that does not fit s8.
  Values signed_values(const Dequantized& of) const {
    const Tensor& bytes = graph_.tensor(of.bytes);
    Values values = values_of(bytes);
    if (of.zero != kNone) {
      const Tensor& zero = graph_.tensor(of.zero);
      const Values zeros = values_of(zero);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] -= zeros[place_in(zero.dims, bytes.dims, static_cast<int64_t>(i))];
    }
    const auto fits = [](double value) { return is_zero_point(DType::s8, value); };
    return std::ranges::all_of(values, fits) ? values : Values();
  }

  /// The scales of the weights' dequantization, one for each channel of the destination; empty where they are others.
  Values scales_of(const Dequantized& weights, bool last, int64_t channels) const {
    const Tensor& scale = graph_.tensor(weights.scale);
    const Dims& dims = scale.dims;
    Values out = values_of(scale);
    if (out.size() == 1) out.assign(static_cast<std::size_t>(channels), out[0]);
    const int d = last ? dims.size() - 1 : 0;
    if (dims.empty() || std::ssize(out) != channels) return {};
    if (count(dims) != 1 && dims[d] != channels) return {};
    const auto is_scale = [](double value) { return std::isfinite(value) && value != 0; };
    return std::ranges::all_of(out, is_scale) ? out : Values();
  }

  TensorId constant(const std::string& name, const Dims& dims, const Values& values) {
    return graph_.constant(name, dims, std::vector<float>(values.begin(), values.end()));
  }

  /// A tensor like the product's destination.
  TensorId result(const Node& node, const std::string& name) {
    graph_.tensors.push_back({.name = name, .dims = graph_.tensor(node.dst[0]).dims});
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  /// The nodes that take the place of a product; nothing if it is none of bytes.
  std::optional<std::vector<Node>> of_bytes(const Node& node) {
    const bool product =
        node.kind == Kind::convolution || node.kind == Kind::inner_product || node.kind == Kind::matmul;
    if (!product || node.pass != Pass::forward_inference || !node.post_ops.empty()) return std::nullopt;
    if (graph_.tensor(node.dst[0]).dtype != DType::f32) return std::nullopt;
    const auto src = dequantized(node.src[0]);
    if (!src || count(graph_.tensor(node.src[1]).dims) == 0) return std::nullopt;
    TensorId read = node.src[1];
    while (const Node* reshape = maker(read, Kind::reshape)) read = reshape->src[0];
    const auto weights = dequantized(read);
    if (!weights || !graph_.tensor(weights->bytes).constant()) return std::nullopt;
    const auto scale = single(src->scale), zero = src->zero == kNone ? std::optional(0.0) : single(src->zero);
    if (!scale || !zero || *scale == 0 || !is_zero_point(graph_.tensor(src->bytes).dtype, *zero)) return std::nullopt;
    const bool has_bias = node.src.size() > 2 && node.src[2] != kNone;
    if (has_bias && !is_f32_constant(node.src[2])) return std::nullopt;
    return multiplied(node, *src, *weights, *scale, *zero);
  }

  std::optional<std::vector<Node>> multiplied(const Node& node, const Dequantized& src, const Dequantized& weights,
                                              double scale, double zero) {
    const bool last = node.kind == Kind::matmul;
    const Dims dims = graph_.tensor(node.dst[0]).dims, weights_dims = graph_.tensor(node.src[1]).dims;
    const int channel = last ? dims.size() - 1 : 1;
    const int64_t channels = dims[channel];
    // Of several matrices each has columns of its own.
    if (last && count(weights_dims) != channels * weights_dims[weights_dims.size() - 2]) return std::nullopt;
    Values scales = scales_of(weights, last, channels);
    const Values bytes = signed_values(weights);
    const Tensor original = graph_.tensor(weights.bytes);
    if (scales.empty() || bytes.empty()) return std::nullopt;
    for (double& each : scales) each *= scale;
    // What is added: the bias, less what the source's zero point adds to each sum where no padding depends on it.
    Values added(static_cast<std::size_t>(channels), 0);
    if (node.src.size() > 2 && node.src[2] != kNone) added = values_of(graph_.tensor(node.src[2]));
    Node made = node;
    if (node.kind == Kind::convolution) {
      auto attributes = node.as<ConvolutionAttributes>();
      attributes.src_zero_point = static_cast<int64_t>(zero);
      made.attributes = attributes;
    } else if (zero != 0) {
      const int64_t products = std::ssize(bytes) / channels;
      Values sums(static_cast<std::size_t>(channels), 0);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        sums[static_cast<std::size_t>(last ? at % channels : at / products)] += zero * bytes[i];
      }
      // It must not take digits from what is left when it is subtracted: f32 holds whole numbers to 2^24.
      if (std::ranges::any_of(sums, [](double sum) { return std::abs(sum) > 0x1p24; })) return std::nullopt;
      for (std::size_t c = 0; c < sums.size(); ++c) added[c] -= sums[c] * scales[c];
    }
    const auto data = std::make_shared<const std::vector<std::byte>>(store(bytes, DType::s8));
    made.src = {src.bytes, graph_.constant(original.name + ".s8", weights_dims, DType::s8, data)};
    std::vector<Node> out;
    Dims of_channels(dims.size(), 1);
    of_channels[channel] = channels;
    const auto append = [&](Node each, bool is_last) {
      each.dst = {is_last ? node.dst[0] : result(node, each.name)};
      out.push_back(std::move(each));
    };
    append(std::move(made), false);
    const bool adds = std::ranges::any_of(added, [](double value) { return value != 0; });
    const auto function = [&](const char* what, BinaryAlgorithm algorithm, const auto& values, bool end) {
      const std::string name = node.name + what;
      const TensorId operand = constant(name, of_channels, values);
      append({.name = name,
              .kind = Kind::binary,
              .pass = node.pass,
              .attributes = BinaryAttributes{algorithm},
              .src = {out.back().dst[0], operand}},
             end);
    };
    function(".scale", BinaryAlgorithm::mul, scales, !adds);
    if (adds) function(".bias", BinaryAlgorithm::add, added, true);
    return out;
  }

  Graph& graph_;
  const std::vector<NodeId> makers_;
};

}  // namespace

void multiply_bytes(Graph& graph) { ByteProducts(graph).run(); }

void store_bytes(Graph& graph) {
  const std::vector<NodeId> makers = producers(graph);
  const std::vector<std::vector<NodeId>> readers = consumers(graph);
  std::vector<bool> dropped(graph.nodes.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.kind != Kind::reorder || node.pass != Pass::forward_inference || !node.post_ops.empty()) continue;
    const auto& attributes = node.as<ReorderAttributes>();
    const TensorId from = node.src[0];
    const NodeId maker = makers[static_cast<std::size_t>(from)];
    if (!is_byte(attributes.dtype) || attributes.scale != 1 || attributes.shift != 0 || maker == kNone) continue;
    Node& before = graph.nodes[static_cast<std::size_t>(maker)];
    const Tensor& tensor = graph.tensor(from);
    const bool read_alone = readers[static_cast<std::size_t>(from)].size() == 1 &&
                            std::ranges::find(graph.outputs, from) == graph.outputs.end();
    if (before.post_ops.empty() || tensor.dtype != DType::f32 || tensor.layout || !read_alone) continue;
    before.dst = node.dst;
    dropped[n] = true;
  }
  drop_nodes(graph, dropped);
  prune(graph);
}

}  // namespace relayout::graph
