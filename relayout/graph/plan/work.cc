// Arithmetic of each kind of node, computed from the sizes of its operands in their layouts, and its memory traffic in
// bytes.
#include "relayout/graph/plan/work.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "relayout/graph/ir/ops.h"

namespace relayout::graph {
namespace {

double elements(const Graph& graph, TensorId id) {
  return static_cast<double>(checked_product(graph.tensor(id).dims).value_or(0));
}

double padded(const std::optional<Layout>& layout) {
  return layout ? static_cast<double>(layout->padded_elements()) : 0;
}

double fraction_up(double value, double unit) { return std::ceil(value / unit) * unit; }

/// An operand of a node and its layout.
struct OperandLayout {
  const Dims& dims;
  const Layout& layout;
};

/// The three tensors of a convolution, named as in its forward pass, whatever the pass of the node. A deconvolution
/// counts as a convolution from its destination to its source.
struct ConvolutionSides {
  OperandLayout src, dst;
  const Dims& weights;
  /// Of `src` and `dst`: the one that the node computes, and the one that it reads (for the gradient of weights: dst
  /// and src).
  const OperandLayout &made, &read;
};

template <typename F>
auto with_sides(const Graph& graph, const Node& node, const Implementation& implementation, F&& f) {
  const auto side = [&](TensorId id, const std::optional<Layout>& layout) {
    return OperandLayout{graph.tensor(id).dims, layout.value()};
  };
  const bool forward = node.forward(), to_weights = node.pass == Pass::backward_weights;
  const TensorId weights = to_weights ? node.dst[0] : node.src[1];
  OperandLayout src =
      forward || to_weights ? side(node.src[0], implementation.src[0]) : side(node.dst[0], implementation.dst[0]);
  OperandLayout dst = forward      ? side(node.dst[0], implementation.dst[0])
                      : to_weights ? side(node.src[1], implementation.src[1])
                                   : side(node.src[0], implementation.src[0]);
  const OperandLayout &made = forward || to_weights ? dst : src, &read = forward || to_weights ? src : dst;
  const ConvolutionSides sides = node.kind == Kind::deconvolution
                                     ? ConvolutionSides{dst, src, graph.tensor(weights).dims, made, read}
                                     : ConvolutionSides{src, dst, graph.tensor(weights).dims, made, read};
  return f(sides);
}

/// The number of pairs of a position along one dim of the destination and a tap of the kernel there that meets the
/// source rather than padding.
double taps(int64_t src, int64_t dst, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad) {
  int64_t out = 0;
  for (int64_t k = 0; k < kernel; ++k) {
    // 0 <= o * stride - pad + k * dilation < src
    const int64_t shift = pad - k * dilation;
    const int64_t first = shift > 0 ? ceil_div(shift, stride) : 0;
    const int64_t last = src - 1 + shift < 0 ? -1 : (src - 1 + shift) / stride;
    out += std::max<int64_t>(0, std::min(last, dst - 1) - first + 1);
  }
  return static_cast<double>(out);
}

/// Winograd's F(m, r): a tile makes m elements along each spatial dim of m + r - 1 products, each of which is a sum
/// over the channels. Tiles at the end are computed whole.
void add_transforming(const Performance& performance, const ConvolutionSides& c, double element, Work& work) {
  double tiles = static_cast<double>(c.src.dims[0]), products = 1;
  for (int d = 2; d < c.dst.dims.size(); ++d) {
    tiles *= static_cast<double>(ceil_div(c.dst.dims[d], int64_t{performance.tile}));
    products *= static_cast<double>(performance.tile + c.weights[c.weights.size() - c.dst.dims.size() + d] - 1);
  }
  const double read = fraction_up(static_cast<double>(c.read.dims[1]), performance.lanes),
               made = fraction_up(static_cast<double>(c.made.dims[1]), performance.lanes);
  work.flops = 2 * tiles * products * read * made;
  work.transformed_bytes = element * products * (2 * tiles * (read + made) + read * made);
}

void add_convolution(const Graph& graph, const Node& node, const Implementation& implementation,
                     const Performance& performance, Work& work) {
  const double element = bits(graph.tensor(node.src[0]).dtype) / 8.0;
  with_sides(graph, node, implementation, [&](const ConvolutionSides& c) {
    const int spatial = c.src.dims.size() - 2;
    if (performance.algorithm == ConvolutionAlgorithm::transforming)
      return add_transforming(performance, c, element, work);
    const ConvolutionAttributes a = filled(node.as<ConvolutionAttributes>(), spatial);
    const auto groups = static_cast<double>(a.groups);
    double met = static_cast<double>(c.src.dims[0]), all = met;
    bool as_it_is = true;
    for (int d = 0; d < spatial; ++d) {
      const int64_t kernel = c.weights[c.weights.size() - spatial + d], dst = c.dst.dims[2 + d];
      met *= taps(c.src.dims[2 + d], dst, kernel, a.strides[d], a.dilations[d], a.pads_begin[d]);
      all *= static_cast<double>(dst * kernel);
      as_it_is = as_it_is && kernel == 1 && a.strides[d] == 1;
    }
    double made = static_cast<double>(c.made.dims[1]) / groups, read = static_cast<double>(c.read.dims[1]) / groups;
    work.steps = all * groups * made * read;
    if (performance.algorithm == ConvolutionAlgorithm::unfolding) {
      work.flops = 2 * all * groups * made * read;
      if (!as_it_is) work.unfolded_bytes = 2 * all * groups * element * static_cast<double>(c.src.dims[1]) / groups;
      return;
    }
    const double lanes = performance.lanes;
    const auto block = [](const OperandLayout& side) { return static_cast<double>(side.layout.block(1)); };
    if (performance.algorithm == ConvolutionAlgorithm::depthwise) {
      work.flops = 2 * met * fraction_up(groups, lanes);
      return;
    }
    // Vectors hold channels of the result. Blocks that are narrower than a vector leave the rest of it unused.
    made = fraction_up(made, lanes) * (block(c.made) > 1 ? std::max(1.0, lanes / block(c.made)) : 1);
    work.flops = 2 * met * groups * made * fraction_up(read, block(c.read));
  });
}

double product(const Graph& graph, const Node& node) {
  const double batch = static_cast<double>(graph.tensor(node.src[0]).dims[0]);
  return 2 * batch * elements(graph, node.pass == Pass::backward_weights ? node.dst[0] : node.src[1]);
}

double rnn_operations(const Graph& graph, const Node& node) {
  const Dims& src = graph.tensor(node.src[0]).dims;  // T N C
  const double steps = static_cast<double>(src[0]) * static_cast<double>(src[1]);
  const double projection = node.src.size() > 6 && node.src[6] != kNone ? elements(graph, node.src[6]) : 0;
  const double once = 2 * steps * (elements(graph, node.src[3]) + elements(graph, node.src[4]) + projection);
  // A backward pass takes one product for the gradient of the data and one for the gradient of the weights.
  return node.forward() ? once : 2 * once;
}

void add_repeated(const Graph& graph, const Node& node, Work& work) {
  const TensorId recurrent = node.src[4];
  work.repeated_bytes = elements(graph, recurrent) * bits(graph.tensor(recurrent).dtype) / 8;
  work.repeats = std::max(0.0, static_cast<double>(graph.tensor(node.src[0]).dims[0]) - 1);
}

double window(const Graph& graph, const Node& node) {
  const PoolingAttributes& attributes = node.as<PoolingAttributes>();
  const TensorId whole = node.forward() ? node.src[0] : node.dst[0],
                 reduced = node.forward() ? node.dst[0] : node.src[0];
  const Dims kernel = filled(attributes, graph.tensor(whole).dims).kernel;
  return elements(graph, reduced) * static_cast<double>(checked_product(kernel).value_or(0));
}

/// Operations for each element, roughly: functions such as exp take several, and processors divide at a fraction of the
/// rate at which they multiply.
constexpr double kPlain = 1, kQuotient = 4, kExponential = 12;
/// A linear resampling takes so many times as long as one to the nearest element.
constexpr double kLinear = 2.5;

double operations(EltwiseAlgorithm algorithm) {
  switch (algorithm) {
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
    case EltwiseAlgorithm::hardsigmoid:
    case EltwiseAlgorithm::sign:
    case EltwiseAlgorithm::floor:
    case EltwiseAlgorithm::ceil:
    case EltwiseAlgorithm::trunc:
    case EltwiseAlgorithm::is_nan:
    case EltwiseAlgorithm::is_infinite:
    case EltwiseAlgorithm::logical_not:
    case EltwiseAlgorithm::bitwise_not: return kPlain;
    default: return kExponential;
  }
}

double operations(const BinaryAttributes& binary) {
  return binary.algorithm == BinaryAlgorithm::div ? kQuotient : kPlain;
}

double operations(const PostOp& op) {
  if (const auto* eltwise = std::get_if<EltwiseAttributes>(&op.function)) return operations(eltwise->algorithm);
  if (const auto* binary = std::get_if<BinaryAttributes>(&op.function)) return operations(*binary);
  return static_cast<double>(op.src.size()) - 1;
}

double operations(const Node& node) {
  if (node.kind == Kind::resampling) {
    return node.as<ResamplingAttributes>().algorithm == ResamplingAlgorithm::linear ? kLinear : kPlain;
  }
  if (node.kind == Kind::lrn) return static_cast<double>(node.as<LrnAttributes>().size) + kExponential;
  if (node.kind == Kind::softmax) return kExponential;
  if (node.kind == Kind::binary) return operations(node.as<BinaryAttributes>());
  return node.kind == Kind::eltwise ? operations(node.as<EltwiseAttributes>().algorithm) : kPlain;
}

double flops_of(const Graph& graph, const Node& node, const Implementation& implementation) {
  switch (node.kind) {
    case Kind::inner_product: return product(graph, node);
    case Kind::matmul:
      return 2 * elements(graph, node.dst[0]) * static_cast<double>(graph.tensor(node.src[0]).dims.back());
    case Kind::rnn: return rnn_operations(graph, node);
    case Kind::pooling: return window(graph, node);
    case Kind::gather: return elements(graph, node.dst[0]);
    default: return operations(node) * std::max(padded(implementation.src[0]), padded(implementation.dst[0]));
  }
}

/// The elements or products of a node that is no convolution, in its logical dims.
double steps_of(const Graph& graph, const Node& node) {
  double most = 0;
  for (const auto* operands : {&node.src, &node.dst}) {
    for (const TensorId t : *operands) most = std::max(most, t == kNone ? 0 : elements(graph, t));
  }
  switch (node.kind) {
    case Kind::inner_product: return product(graph, node) / 2;
    case Kind::matmul: return elements(graph, node.dst[0]) * static_cast<double>(graph.tensor(node.src[0]).dims.back());
    case Kind::rnn: return rnn_operations(graph, node) / 2;
    case Kind::pooling: return window(graph, node);
    case Kind::lrn: return most * static_cast<double>(node.as<LrnAttributes>().size);
    case Kind::eltwise: return most * (operations(node) > 1 ? 3 : 1);
    case Kind::resampling: {
      const bool linear = node.as<ResamplingAttributes>().algorithm == ResamplingAlgorithm::linear;
      return most * (linear ? std::exp2(graph.tensor(node.src[0]).dims.size() - 2) : 1);
    }
    default: return most;
  }
}

/// What a function of f32 takes behind a product of bytes, in operations on bytes. Measured; see
/// docs/lab/planning-cost-model.md.
constexpr double kFunctionBehindBytes = 22;
/// And in a pass of its own, over the result or over what the cache holds of it, which reaches a third of the machine's
/// arithmetic: each operation takes so many.
constexpr double kFunctionApart = 3;

double operand_bytes(const Graph& graph, TensorId tensor, const std::optional<Layout>& layout) {
  return tensor == kNone ? 0 : padded(layout) * bits(graph.tensor(tensor).dtype) / 8;
}

void add_bytes(const Graph& graph, const Node& node, const Implementation& implementation, Work& work) {
  for (std::size_t i = 0; i < node.src.size(); ++i) {
    // A tensor that is a source twice is read once.
    const auto at = node.src.begin() + static_cast<std::ptrdiff_t>(i);
    const bool is_new = std::find(node.src.begin(), at, *at) == at;
    work.source_bytes.push_back(is_new ? operand_bytes(graph, *at, implementation.src[i]) : 0);
  }
  for (std::size_t i = 0; i < node.dst.size(); ++i)
    work.bytes += operand_bytes(graph, node.dst[i], implementation.dst[i]);
  if (node.kind == Kind::gather) work.source_bytes[0] = std::min(work.source_bytes[0], work.bytes);
  work.bytes += std::accumulate(work.source_bytes.begin(), work.source_bytes.end(), 0.0);
}

}  // namespace

Work work_of(const Graph& graph, NodeId id, const Implementation& implementation, const Performance& performance) {
  const Node& node = graph.node(id);
  Work out;
  if (node.kind == Kind::convolution || node.kind == Kind::deconvolution) {
    add_convolution(graph, node, implementation, performance, out);
  } else {
    out.flops = flops_of(graph, node, implementation);
    out.steps = steps_of(graph, node);
  }
  if (node.kind == Kind::rnn) add_repeated(graph, node, out);
  const bool elementwise = is_elementwise(node.kind), apart = elementwise || performance.post_ops_apart;
  const bool behind_bytes = !elementwise && is_byte(graph.tensor(node.src[0]).dtype) && !performance.widens;
  for (const PostOp& op : node.post_ops) {
    const double each = behind_bytes ? kFunctionBehindBytes : apart ? kFunctionApart * operations(op) : operations(op);
    out.flops += each * padded(implementation.dst[0]);
  }
  if (node.dst[0] != kNone) out.results = elements(graph, node.dst[0]);
  add_bytes(graph, node, implementation, out);
  // What was computed, f32 or wider, is written and read again by a pass of its own.
  if (performance.post_ops_apart) {
    out.bytes += 2 * padded(implementation.dst[0]) * std::max(bits(graph.tensor(node.dst[0]).dtype), 32) / 8;
  }
  // And so is the source as f32.
  if (performance.widens) out.bytes += 2 * padded(implementation.src[0]) * 32 / 8;
  return out;
}

}  // namespace relayout::graph
