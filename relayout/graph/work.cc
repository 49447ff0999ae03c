// Arithmetic by kind, from the sizes of weights as they are laid out; traffic from the operands.
#include "relayout/graph/work.h"

#include <algorithm>

#include "relayout/graph/ops.h"

namespace relayout::graph {
namespace {

double elements(const Graph& graph, TensorId id) {
  return static_cast<double>(checked_product(graph.tensor(id).dims).value_or(0));
}

/// Of batch and spatial dims.
double places(const Graph& graph, TensorId id) {
  const Dims& dims = graph.tensor(id).dims;
  return dims.size() < 2 || dims[1] == 0 ? 0 : elements(graph, id) / static_cast<double>(dims[1]);
}

double padded(const std::optional<Layout>& layout) {
  return layout ? static_cast<double>(layout->padded_elements()) : 0;
}

/// Each weight is multiplied once at each place of the side that the kernel walks.
double weighted(const Graph& graph, const Node& node, const Implementation& way) {
  const bool gives_weights = node.pass == Pass::backward_weights;
  const double weights = padded(gives_weights ? way.dst[0] : way.src[1]);
  const std::size_t other = node.kind == Kind::deconvolution ? 0 : 1;
  // The destination or its gradient; of a deconvolution the source or its gradient.
  TensorId walked = kNone;
  if (node.kind == Kind::deconvolution)
    walked = node.pass == Pass::backward_data ? node.dst[0] : node.src[0];
  else
    walked = node.forward() ? node.dst[0] : node.src[gives_weights ? other : 0];
  const double count =
      node.kind == Kind::inner_product ? static_cast<double>(graph.tensor(walked).dims[0]) : places(graph, walked);
  return 2 * weights * count;
}

double recurrent(const Graph& graph, const Node& node) {
  const Dims& src = graph.tensor(node.src[0]).dims;  // T N C
  const double steps = static_cast<double>(src[0]) * static_cast<double>(src[1]);
  const double once = 2 * steps * (elements(graph, node.src[3]) + elements(graph, node.src[4]));
  // The gradients of data and of weights are a product each.
  return node.forward() ? once : 2 * once;
}

double window(const Graph& graph, const Node& node) {
  const PoolingAttributes& attributes = node.as<PoolingAttributes>();
  const TensorId whole = node.forward() ? node.src[0] : node.dst[0],
                 reduced = node.forward() ? node.dst[0] : node.src[0];
  const Dims kernel = filled(attributes, graph.tensor(whole).dims).kernel;
  return elements(graph, reduced) * static_cast<double>(checked_product(kernel).value_or(0));
}

/// Operations an element of what is not linear, about.
double operations(const Node& node) {
  constexpr double kPlain = 1, kExponential = 12;
  if (node.kind == Kind::lrn) return static_cast<double>(node.as<LrnAttributes>().size) + kExponential;
  if (node.kind == Kind::softmax) return kExponential;
  if (node.kind != Kind::eltwise) return kPlain;
  switch (node.as<EltwiseAttributes>().algorithm) {
    case EltwiseAlgorithm::relu:
    case EltwiseAlgorithm::relu_dst:
    case EltwiseAlgorithm::square:
    case EltwiseAlgorithm::abs:
    case EltwiseAlgorithm::linear:
    case EltwiseAlgorithm::bounded_relu:
    case EltwiseAlgorithm::clip:
    case EltwiseAlgorithm::clip_v2:
    case EltwiseAlgorithm::clip_v2_dst:
    case EltwiseAlgorithm::round:
    case EltwiseAlgorithm::hardswish:
    case EltwiseAlgorithm::hardsigmoid: return kPlain;
    default: return kExponential;
  }
}

double flops_of(const Graph& graph, const Node& node, const Implementation& way) {
  switch (node.kind) {
    case Kind::convolution:
    case Kind::deconvolution:
    case Kind::inner_product: return weighted(graph, node, way);
    case Kind::matmul:
      return 2 * elements(graph, node.dst[0]) * static_cast<double>(graph.tensor(node.src[0]).dims.back());
    case Kind::rnn: return recurrent(graph, node);
    case Kind::pooling: return window(graph, node);
    default: return operations(node) * std::max(padded(way.src[0]), padded(way.dst[0]));
  }
}

}  // namespace

Work work_of(const Graph& graph, NodeId id, const Implementation& implementation) {
  const Node& node = graph.node(id);
  Work out{.flops = flops_of(graph, node, implementation)};
  const auto add = [&](const std::vector<TensorId>& operands, const std::vector<std::optional<Layout>>& layouts) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == kNone || std::find(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(i),
                                            operands[i]) != operands.begin() + static_cast<std::ptrdiff_t>(i)) {
        continue;  // read once
      }
      out.bytes += padded(layouts[i]) * bits(graph.tensor(operands[i]).dtype) / 8;
    }
  };
  add(node.src, implementation.src);
  add(node.dst, implementation.dst);
  return out;
}

}  // namespace relayout::graph
