// PyTorch on a graph: each node by the operator that a PyTorch user would call, one after the other.
#include <ATen/ATen.h>
#include <omp.h>

#include <memory>

#include "bench/compare/graphs.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::bench {
namespace {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

[[noreturn]] void refuse(const Node& node) {
  throw Error(ErrorCode::unsupported,
              "torch: no operator for " + std::string(name(node.kind)) + " " + escaped(node.name));
}

std::vector<int64_t> list(const Dims& dims) { return {dims.begin(), dims.end()}; }
at::ScalarType type(DType dtype) {
  switch (dtype) {
    case DType::f32: return at::kFloat;
    case DType::s64: return at::kLong;
    case DType::s32: return at::kInt;
    default: throw Error(ErrorCode::unsupported, "torch: type " + std::string(name(dtype)));
  }
}

/// Tensors of one run, by id.
using State = std::vector<at::Tensor>;
using Operation = std::function<at::Tensor(const State&)>;

/// A node, and the tensors that nobody reads after it.
struct Step {
  Operation operation;
  std::size_t dst = 0;
  std::vector<std::size_t> last_read;
};

class Translation {
 public:
  Translation(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  Operation operation() const {
    switch (node_.kind) {
      case Kind::convolution: return convolution();
      case Kind::deconvolution: return deconvolution();
      case Kind::inner_product: return inner_product();
      case Kind::matmul: return matmul();
      case Kind::pooling: return pooling();
      case Kind::eltwise: return eltwise();
      case Kind::binary: return binary();
      case Kind::sum: return sum();
      case Kind::concat: return concat();
      case Kind::softmax: return softmax();
      case Kind::batch_normalization: return batch_normalization();
      case Kind::lrn: return lrn();
      case Kind::shuffle: return shuffle();
      case Kind::reduction: return reduction();
      default: return movement();
    }
  }

 private:
  template <typename F>
  Operation unary(F f) const {
    return [f, x = src(0)](const State& s) { return f(s[x]); };
  }
  std::size_t src(std::size_t i) const { return static_cast<std::size_t>(node_.src[i]); }
  bool has(std::size_t i) const { return i < node_.src.size() && node_.src[i] != kNone; }
  /// A source, or nothing.
  std::function<c10::optional<at::Tensor>(const State&)> optional(std::size_t i) const {
    if (!has(i)) return [](const State&) { return c10::optional<at::Tensor>(); };
    return [t = src(i)](const State& s) { return c10::optional<at::Tensor>(s[t]); };
  }
  int spatial() const { return graph_.tensor(node_.src[0]).dims.size() - 2; }

  Operation convolution() const {
    const auto a = filled(node_.as<graph::ConvolutionAttributes>(), spatial());
    // Pads that differ need a pad of their own, as in PyTorch.
    std::vector<int64_t> pad, none(static_cast<std::size_t>(spatial()), 0);
    for (int d = spatial() - 1; d >= 0; --d) pad.insert(pad.end(), {a.pads_begin[d], a.pads_end[d]});
    const bool even = a.pads_begin == a.pads_end;
    return [=, x = src(0), w = src(1), bias = optional(2)](const State& s) {
      const at::Tensor in = even ? s[x] : at::constant_pad_nd(s[x], pad, 0);
      return at::convolution(in, s[w], bias(s), list(a.strides), even ? list(a.pads_begin) : none, list(a.dilations),
                             false, none, a.groups);
    };
  }

  Operation deconvolution() const {
    const auto a = filled(node_.as<graph::ConvolutionAttributes>(), spatial());
    if (a.pads_begin != a.pads_end) refuse(node_);
    const std::vector<int64_t> added = a.output_padding.empty()
                                           ? std::vector<int64_t>(static_cast<std::size_t>(spatial()), 0)
                                           : list(a.output_padding);
    return [=, x = src(0), w = src(1), bias = optional(2)](const State& s) {
      return at::convolution(s[x], s[w], bias(s), list(a.strides), list(a.pads_begin), list(a.dilations), true, added,
                             a.groups);
    };
  }

  Operation inner_product() const {
    return [x = src(0), w = src(1), bias = optional(2)](const State& s) {
      return at::linear(s[x].flatten(1), s[w].flatten(1), bias(s));
    };
  }

  Operation matmul() const {
    return [a = src(0), b = src(1), bias = optional(2)](const State& s) {
      const at::Tensor out = at::matmul(s[a], s[b]);
      const auto add = bias(s);
      return add ? out + *add : out;
    };
  }

  Operation pooling() const {
    const Dims& dims = graph_.tensor(node_.src[0]).dims;
    const auto a = filled(node_.as<graph::PoolingAttributes>(), dims);
    if (spatial() != 2) refuse(node_);
    const Dims& out = graph_.tensor(node_.dst[0]).dims;
    const bool even = a.pads_begin == a.pads_end;
    const bool max = a.algorithm == graph::PoolingAlgorithm::max;
    const bool include = a.algorithm == graph::PoolingAlgorithm::average_include_padding;
    std::vector<int64_t> pad;
    for (int d = 1; d >= 0; --d) pad.insert(pad.end(), {a.pads_begin[d], a.pads_end[d]});
    const double fill = max ? -std::numeric_limits<double>::infinity() : 0;
    const std::vector<int64_t> none = {0, 0};
    if (!even && !max && !include) refuse(node_);
    if (!max && a.dilations != Dims{1, 1}) refuse(node_);
    return [=, x = src(0), height = out[2], width = out[3]](const State& s) {
      const at::Tensor in = even ? s[x] : at::constant_pad_nd(s[x], pad, fill);
      const std::vector<int64_t> pads = even ? list(a.pads_begin) : none;
      const at::Tensor y = max ? at::max_pool2d(in, list(a.kernel), list(a.strides), pads, list(a.dilations))
                               : at::avg_pool2d(in, list(a.kernel), list(a.strides), pads, false, include);
      TORCH_CHECK(y.size(2) == height && y.size(3) == width, "pooling sizes");
      return y;
    };
  }

  Operation eltwise() const {
    const auto a = node_.as<graph::EltwiseAttributes>();
    const double alpha = a.alpha, beta = a.beta;
    using E = graph::EltwiseAlgorithm;
    switch (a.algorithm) {
      case E::relu:
        if (alpha == 0) return unary([](const at::Tensor& x) { return at::relu(x); });
        return unary([=](const at::Tensor& x) { return at::leaky_relu(x, alpha); });
      case E::tanh: return unary([](const at::Tensor& x) { return at::tanh(x); });
      case E::elu: return unary([=](const at::Tensor& x) { return at::elu(x, alpha); });
      case E::logistic: return unary([](const at::Tensor& x) { return at::sigmoid(x); });
      case E::linear: return unary([=](const at::Tensor& x) { return x * alpha + beta; });
      case E::sqrt: return unary([](const at::Tensor& x) { return at::sqrt(x); });
      case E::exp: return unary([](const at::Tensor& x) { return at::exp(x); });
      case E::abs: return unary([](const at::Tensor& x) { return at::abs(x); });
      case E::clip:
      case E::clip_v2: return unary([=](const at::Tensor& x) { return at::clamp(x, alpha, beta); });
      case E::bounded_relu: return unary([=](const at::Tensor& x) { return at::clamp(x, 0, alpha); });
      case E::hardswish:
        if (alpha != 1. / 6 || beta != 0.5) refuse(node_);
        return unary([](const at::Tensor& x) { return at::hardswish(x); });
      case E::hardsigmoid: return unary([=](const at::Tensor& x) { return at::clamp(x * alpha + beta, 0, 1); });
      case E::gelu_erf: return unary([](const at::Tensor& x) { return at::gelu(x); });
      case E::gelu_tanh: return unary([](const at::Tensor& x) { return at::gelu(x, "tanh"); });
      case E::square: return unary([](const at::Tensor& x) { return at::square(x); });
      case E::log: return unary([](const at::Tensor& x) { return at::log(x); });
      case E::pow: return unary([=](const at::Tensor& x) { return at::pow(x, beta) * alpha; });
      case E::round: return unary([](const at::Tensor& x) { return at::round(x); });
      case E::mish: return unary([](const at::Tensor& x) { return at::mish(x); });
      case E::erf: return unary([](const at::Tensor& x) { return at::erf(x); });
      case E::sign: return unary([](const at::Tensor& x) { return at::sign(x); });
      case E::swish: return unary([=](const at::Tensor& x) { return x * at::sigmoid(x * alpha); });
      default: refuse(node_);
    }
  }

  Operation binary() const {
    using B = graph::BinaryAlgorithm;
    const auto with = [&](auto f) -> Operation {
      return [f, a = src(0), b = src(1)](const State& s) { return f(s[a], s[b]); };
    };
    switch (node_.as<graph::BinaryAttributes>().algorithm) {
      case B::add: return with([](const at::Tensor& a, const at::Tensor& b) { return a + b; });
      case B::sub: return with([](const at::Tensor& a, const at::Tensor& b) { return a - b; });
      case B::mul: return with([](const at::Tensor& a, const at::Tensor& b) { return a * b; });
      case B::div: return with([](const at::Tensor& a, const at::Tensor& b) { return a / b; });
      case B::max: return with([](const at::Tensor& a, const at::Tensor& b) { return at::maximum(a, b); });
      case B::min: return with([](const at::Tensor& a, const at::Tensor& b) { return at::minimum(a, b); });
      case B::pow: return with([](const at::Tensor& a, const at::Tensor& b) { return at::pow(a, b); });
      default: refuse(node_);
    }
  }

  std::vector<std::size_t> sources() const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < node_.src.size(); ++i) out.push_back(src(i));
    return out;
  }

  Operation sum() const {
    if (!node_.as<graph::SumAttributes>().scales.empty()) refuse(node_);
    return [ids = sources()](const State& s) {
      at::Tensor out = s[ids[0]];
      for (std::size_t i = 1; i < ids.size(); ++i) out = out + s[ids[i]];
      return out;
    };
  }

  Operation concat() const {
    return [ids = sources(), axis = node_.as<graph::ConcatAttributes>().axis](const State& s) {
      std::vector<at::Tensor> parts;
      for (std::size_t id : ids) parts.push_back(s[id]);
      return at::cat(parts, axis);
    };
  }

  Operation softmax() const {
    const auto a = node_.as<graph::SoftmaxAttributes>();
    return unary([a](const at::Tensor& x) { return a.log ? at::log_softmax(x, a.axis) : at::softmax(x, a.axis); });
  }

  Operation batch_normalization() const {
    const double epsilon = node_.as<graph::NormalizationAttributes>().epsilon;
    return [=, x = src(0), scale = optional(1), shift = optional(2), mean = optional(3),
            variance = optional(4)](const State& s) {
      return at::batch_norm(s[x], scale(s), shift(s), mean(s), variance(s), false, 0, epsilon, false);
    };
  }

  Operation lrn() const {
    const auto a = node_.as<graph::LrnAttributes>();
    if (a.within_channel) refuse(node_);
    return unary([a](const at::Tensor& x) {
      const at::Tensor squares = at::constant_pad_nd((x * x).unsqueeze(1), {0, 0, 0, 0, a.size / 2, (a.size - 1) / 2});
      const at::Tensor sums = at::avg_pool3d(squares, {a.size, 1, 1}, {1, 1, 1}).squeeze(1);
      return x / (sums * a.alpha + a.k).pow(a.beta);
    });
  }

  Operation shuffle() const {
    const auto a = node_.as<graph::ShuffleAttributes>();
    if (a.axis != 1 || spatial() != 2) refuse(node_);
    return unary([a](const at::Tensor& x) { return at::channel_shuffle(x, a.groups); });
  }

  Operation reduction() const {
    const auto a = node_.as<graph::ReductionAttributes>();
    const std::vector<int64_t> axes(a.axes.begin(), a.axes.end());
    switch (a.algorithm) {
      case graph::ReductionAlgorithm::mean: return unary([=](const at::Tensor& x) { return at::mean(x, axes, true); });
      case graph::ReductionAlgorithm::sum: return unary([=](const at::Tensor& x) { return at::sum(x, axes, true); });
      case graph::ReductionAlgorithm::max: return unary([=](const at::Tensor& x) { return at::amax(x, axes, true); });
      default: refuse(node_);
    }
  }

  Operation movement() const {
    const std::vector<int64_t> dims = list(graph_.tensor(node_.dst[0]).dims);
    switch (node_.kind) {
      case Kind::reshape: return unary([dims](const at::Tensor& x) { return x.reshape(dims); });
      case Kind::broadcast: return unary([dims](const at::Tensor& x) { return x.expand(dims); });
      case Kind::transpose: {
        const auto& order = node_.as<graph::TransposeAttributes>().order;
        return unary(
            [axes = std::vector<int64_t>(order.begin(), order.end())](const at::Tensor& x) { return x.permute(axes); });
      }
      case Kind::slice: {
        const auto a = node_.as<graph::SliceAttributes>();
        for (int64_t step : a.steps) {
          if (step < 1) refuse(node_);
        }
        return unary([a](const at::Tensor& x) {
          at::Tensor out = x;
          for (int d = 0; d < a.starts.size(); ++d) {
            out = out.slice(d, a.starts[d], a.stops[d], a.steps.empty() ? 1 : a.steps[d]);
          }
          return out;
        });
      }
      case Kind::pad: {
        const auto a = node_.as<graph::PadAttributes>();
        if (a.mode != graph::PadMode::constant) refuse(node_);
        std::vector<int64_t> pad;
        for (int d = a.begin.size() - 1; d >= 0; --d) pad.insert(pad.end(), {a.begin[d], a.end[d]});
        return unary([pad, value = a.value](const at::Tensor& x) { return at::constant_pad_nd(x, pad, value); });
      }
      case Kind::resampling: return resampling();
      default: refuse(node_);
    }
  }

  Operation resampling() const {
    const auto a = node_.as<graph::ResamplingAttributes>();
    const bool linear = a.algorithm == graph::ResamplingAlgorithm::linear;
    const bool halves = a.coordinates == graph::ResamplingCoordinates::half_pixel;
    if (spatial() != 2 || (linear ? !halves : a.coordinates != graph::ResamplingCoordinates::asymmetric)) refuse(node_);
    return unary([sizes = list(a.sizes), linear](const at::Tensor& x) {
      return linear ? at::upsample_bilinear2d(x, sizes, false) : at::upsample_nearest2d(x, sizes);
    });
  }

  const Graph& graph_;
  const Node& node_;
};

/// Weights in PyTorch's own order of dims: G O I ... as (G O) I ..., and of transposed ones (G I) O.
void order_weights(const Graph& graph, const Node& node, State& state) {
  if (node.kind != Kind::convolution && node.kind != Kind::deconvolution) return;
  at::Tensor& w = state[static_cast<std::size_t>(node.src[1])];
  if (!w.defined()) throw Error(ErrorCode::unsupported, "torch: weights that are computed");
  at::Tensor out = w;
  const bool grouped = w.dim() > graph.tensor(node.src[0]).dims.size();
  if (node.kind == Kind::deconvolution) out = grouped ? out.transpose(1, 2) : out.transpose(0, 1);
  if (grouped) out = out.flatten(0, 1);
  w = out.contiguous();
}

}  // namespace

GraphCompetitor torch_graph(const Graph& graph, bool channels_last, int threads) {
  auto constants = std::make_shared<State>(graph.tensors.size());
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const graph::Tensor& tensor = graph.tensors[t];
    if (!tensor.constant()) continue;
    auto* data = const_cast<std::byte*>(tensor.data->data());
    (*constants)[t] = at::from_blob(data, list(tensor.dims), at::TensorOptions().dtype(type(tensor.dtype)));
  }
  auto operations = std::make_shared<std::vector<Step>>();
  const auto readers = graph::consumers(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    Step& step = operations->emplace_back();
    step.operation = Translation(graph, node).operation();
    step.dst = static_cast<std::size_t>(node.dst[0]);
    for (TensorId t : node.src) {
      if (t == kNone || graph.tensor(t).constant()) continue;
      const auto id = static_cast<std::size_t>(t);
      const bool output = std::ranges::find(graph.outputs, t) != graph.outputs.end();
      if (!output && readers[id].back() == static_cast<NodeId>(n)) step.last_read.push_back(id);
    }
    order_weights(graph, node, *constants);
  }
  const auto format = [channels_last](const at::Tensor& x) {
    return channels_last && x.dim() == 4 ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
  };
  for (at::Tensor& constant : *constants) {
    if (constant.defined()) constant = format(constant);
  }
  return {channels_last ? "torch channels_last" : "torch contiguous",
          [=, &graph](std::span<const execute::Source> sources, std::span<const execute::Destination> destinations) {
            const at::NoGradGuard no_grad;
            omp_set_num_threads(threads);
            State state = *constants;
            for (std::size_t i = 0; i < sources.size(); ++i) {
              const graph::Tensor& tensor = graph.tensor(graph.inputs[i]);
              state[static_cast<std::size_t>(graph.inputs[i])] =
                  format(at::from_blob(const_cast<void*>(sources[i].data), list(tensor.dims),
                                       at::TensorOptions().dtype(type(tensor.dtype))));
            }
            for (const Step& step : *operations) {
              state[step.dst] = step.operation(state);
              for (std::size_t id : step.last_read) state[id] = at::Tensor();
            }
            for (std::size_t i = 0; i < destinations.size(); ++i) {
              const graph::Tensor& tensor = graph.tensor(graph.outputs[i]);
              at::from_blob(destinations[i].data, list(tensor.dims), at::TensorOptions().dtype(type(tensor.dtype)))
                  .copy_(state[static_cast<std::size_t>(graph.outputs[i])]);
            }
          }};
}

}  // namespace relayout::bench
