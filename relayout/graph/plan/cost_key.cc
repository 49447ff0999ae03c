// Keys are hashes: each number is mixed into two words by multiplications of 64 by 64 bits.
#include "relayout/graph/plan/cost_key.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace relayout::graph {
namespace {

static_assert(kDTypeCount <= 32, "keys give an element type 5 bits");

uint64_t folded_product(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/// Adds the fields of attributes to a key, one after the other.
struct Fields {
  KeyMaker& maker;

  void add(double value) const { maker.add(std::bit_cast<uint64_t>(value)); }
  void add(int64_t value) const { maker.add(static_cast<uint64_t>(value)); }
  void add(int value) const { maker.add(static_cast<uint64_t>(value)); }
  void add(bool value) const { maker.add(uint64_t{value}); }
  void add(const Dims& value) const { maker.add(value); }
  void add(const std::string& value) const { maker.add(std::string_view(value)); }
  template <typename T>
  void add(const std::vector<T>& values) const {
    maker.add(uint64_t{values.size()});
    for (const T& value : values) add(value);
  }
  template <typename T>
  requires std::is_enum_v<T>
  void add(T value) const { maker.add(static_cast<uint64_t>(value)); }

  template <typename... T>
  void all(const T&... values) const {
    (add(values), ...);
  }

  // A structured binding must name every field, so that a field that is added later does not compile without being
  // added here.
  void operator()(const ConvolutionAttributes& x) const {
    const auto& [strides, dilations, begin, end, groups, output_padding, src_zero_point] = x;
    all(strides, dilations, begin, end, groups, output_padding, src_zero_point);
  }
  void operator()(const MatmulAttributes&) const {}
  void operator()(const InnerProductAttributes&) const {}
  void operator()(const RnnAttributes& x) const {
    const auto& [cell, direction] = x;
    all(cell, direction);
  }
  void operator()(const PoolingAttributes& x) const {
    const auto& [algorithm, kernel, strides, dilations, begin, end] = x;
    all(algorithm, kernel, strides, dilations, begin, end);
  }
  void operator()(const NormalizationAttributes& x) const {
    const auto& [epsilon, axis] = x;
    all(epsilon, axis);
  }
  void operator()(const LrnAttributes& x) const {
    const auto& [within_channel, size, alpha, beta, k] = x;
    all(within_channel, size, alpha, beta, k);
  }
  void operator()(const EltwiseAttributes& x) const {
    const auto& [algorithm, alpha, beta] = x;
    all(algorithm, alpha, beta);
  }
  void operator()(const PreluAttributes&) const {}
  void operator()(const ShuffleAttributes& x) const {
    const auto& [axis, groups] = x;
    all(axis, groups);
  }
  void operator()(const SoftmaxAttributes& x) const {
    const auto& [axis, log, masked_rows_give_zero] = x;
    all(axis, log, masked_rows_give_zero);
  }
  void operator()(const ResamplingAttributes& x) const {
    const auto& [algorithm, sizes, coordinates, rounding] = x;
    all(algorithm, sizes, coordinates, rounding);
  }
  void operator()(const ReductionAttributes& x) const {
    const auto& [algorithm, axes] = x;
    all(algorithm, axes);
  }
  void operator()(const ConcatAttributes& x) const {
    const auto& [axis] = x;
    all(axis);
  }
  void operator()(const SumAttributes& x) const {
    const auto& [scales] = x;
    all(scales);
  }
  void operator()(const BinaryAttributes& x) const {
    const auto& [algorithm] = x;
    all(algorithm);
  }
  void operator()(const ReorderAttributes& x) const {
    const auto& [dtype, scale, shift] = x;
    all(dtype, scale, shift);
  }
  void operator()(const ReshapeAttributes& x) const {
    const auto& [dims] = x;
    all(dims);
  }
  void operator()(const TransposeAttributes& x) const {
    const auto& [order] = x;
    all(order);
  }
  void operator()(const SliceAttributes& x) const {
    const auto& [starts, stops, steps] = x;
    all(starts, stops, steps);
  }
  void operator()(const BroadcastAttributes& x) const {
    const auto& [dims] = x;
    all(dims);
  }
  void operator()(const PadAttributes& x) const {
    const auto& [begin, end, mode, value] = x;
    all(begin, end, mode, value);
  }
  void operator()(const GatherAttributes& x) const {
    const auto& [axis] = x;
    all(axis);
  }
  void operator()(const ArrayAttributes& x) const {
    const auto& [operation, axis, count, reverse, exclusive, scatter, dtype, interpolation, padding, corners] = x;
    all(operation, axis, count, reverse, exclusive, scatter, dtype, interpolation, padding, corners);
  }
  void operator()(const BarrierAttributes& x) const {
    const auto& [operation, dims] = x;
    all(operation, dims);
  }
};

/// What a backend may ask of the values of an f32 constant that post-ops read, to know whether results can be NaN:
/// whether all are finite, and whether there is a 0.
uint64_t kind_of_values(const Tensor& tensor) {
  if (!tensor.constant() || tensor.dtype != DType::f32) return 0;
  std::vector<float> values(tensor.data->size() / sizeof(float));
  std::memcpy(values.data(), tensor.data->data(), values.size() * sizeof(float));
  const bool finite = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  return 1 + uint64_t{finite} + 2 * uint64_t{std::ranges::find(values, 0.0f) != values.end()};
}

/// The node's post-ops; their names do not matter.
void add_post_ops(KeyMaker& maker, const Graph& graph, const Node& node) {
  if (node.post_ops.empty()) return;
  maker.add(uint64_t{node.post_sources});
  for (std::size_t i = node.own_sources(); i < node.src.size(); ++i)
    maker.add(node.src[i] == kNone ? 0 : kind_of_values(graph.tensor(node.src[i])));
  for (const PostOp& op : node.post_ops) {
    const auto& [function, src, name] = op;
    static_cast<void>(name);
    maker.add(uint64_t{function.index()});
    std::visit(Fields{maker}, function);
    Fields{maker}.add(src);
  }
}

/// `context` is null if nothing but the node and its operands may matter.
void add_operands(KeyMaker& maker, const Graph& graph, const CostContext* context,
                  const std::vector<TensorId>& operands) {
  maker.add(uint64_t{operands.size()});
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == kNone) {
      maker.add(uint64_t{0});
      continue;
    }
    const Tensor& tensor = graph.tensor(operands[i]);
    const auto first = static_cast<uint64_t>(std::ranges::find(operands, operands[i]) - operands.begin());
    maker.add(1 + uint64_t{tensor.constant()} + 2 * uint64_t{context != nullptr && context->is_given(operands[i])} +
              4 * (static_cast<uint64_t>(tensor.dtype) + 32 * first));
    maker.add(tensor.dims);
  }
}

void add_node(KeyMaker& maker, const Graph& graph, const CostContext* context, const Node& node) {
  maker.add(static_cast<uint64_t>(node.kind) +
            256 * (static_cast<uint64_t>(node.pass) + 16 * uint64_t{context != nullptr && context->is_step()}));
  std::visit(Fields{maker}, node.attributes);
  add_post_ops(maker, graph, node);
  add_operands(maker, graph, context, node.src);
  add_operands(maker, graph, context, node.dst);
}

void add_layouts(KeyMaker& maker, std::span<const std::optional<Layout>> layouts) {
  maker.add(uint64_t{layouts.size()});
  for (const std::optional<Layout>& layout : layouts) {
    maker.add(uint64_t{layout.has_value()});
    if (layout) maker.add(*layout);
  }
}

void add_implementation(KeyMaker& maker, const Implementation& implementation) {
  maker.add(std::string_view(implementation.name));
  add_layouts(maker, implementation.src);
  add_layouts(maker, implementation.dst);
  for (std::size_t i = 0; i < implementation.opaque.size(); ++i) {
    if (implementation.opaque[i]) maker.add(uint64_t{i}).add(*implementation.opaque[i]);
  }
}

}  // namespace

KeyMaker& KeyMaker::add(uint64_t value) {
  high_ = folded_product(high_ ^ value, 0x9e3779b97f4a7c15) + std::rotl(low_, 29);
  low_ = folded_product(low_ ^ std::rotl(value, 32) ^ 0xa4093822299f31d0, 0xd6e8feb86659fd93) ^ high_;
  return *this;
}

KeyMaker& KeyMaker::add(std::string_view text) {
  add(uint64_t{text.size()});
  for (std::size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    for (std::size_t i = at; i < std::min(text.size(), at + 8); ++i)
      word |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i - at));
    add(word);
  }
  return *this;
}

KeyMaker& KeyMaker::add(const Dims& dims) {
  add(static_cast<uint64_t>(dims.size()));
  for (int64_t dim : dims) add(static_cast<uint64_t>(dim));
  return *this;
}

KeyMaker& KeyMaker::add(const Opaque& opaque) {
  return add(std::string_view(opaque.backend))
      .add(std::string_view(opaque.name))
      .add(static_cast<uint64_t>(opaque.bytes))
      .add(opaque.hash);
}

KeyMaker& KeyMaker::add(const Layout& layout) {
  const Layout simple = layout.canonical();
  add(simple.dims());
  add(static_cast<uint64_t>(simple.offset0()));
  for (int d = 0; d < simple.ndims(); ++d) {
    add(uint64_t{simple.digits(d).size()});
    for (const Digit& digit : simple.digits(d)) {
      add(static_cast<uint64_t>(digit.extent));
      add(static_cast<uint64_t>(digit.stride));
    }
  }
  return *this;
}

namespace {

/// By tensor: whether a forward node writes it and a backward node reads it.
std::vector<bool> kept_by_forward_pass(const Graph& graph) {
  std::vector<bool> made(graph.tensors.size()), out(graph.tensors.size());
  for (const Node& node : graph.nodes) {
    for (TensorId t : node.dst) {
      if (t != kNone) made[static_cast<std::size_t>(t)] = node.forward();
    }
  }
  for (const Node& node : graph.nodes) {
    if (node.forward()) continue;
    for (TensorId t : node.src) {
      if (t != kNone) out[static_cast<std::size_t>(t)] = made[static_cast<std::size_t>(t)];
    }
  }
  return out;
}

}  // namespace

CostContext::CostContext(const Graph& graph)
    : graph_(&graph), is_step_(std::ranges::any_of(graph.nodes, [](const Node& node) { return !node.forward(); })) {
  for (const Tensor& tensor : graph.tensors) is_given_.push_back(tensor.constant());
  for (TensorId t : graph.inputs) is_given_[static_cast<std::size_t>(t)] = true;
  is_kept_ = kept_by_forward_pass(graph);
  for (const Node& node : graph.nodes) {
    KeyMaker maker;
    add_node(maker, graph, this, node);
    node_keys_.push_back(maker.key());
  }
}

bool follows_forward(Kind kind) {
  return kind == Kind::pooling || kind == Kind::lrn || kind == Kind::rnn || kind == Kind::shuffle ||
         kind == Kind::resampling;
}

CostKey primitive_key(const CostContext& context, NodeId node, const Implementation& implementation,
                      const Implementation* forward, bool in_place) {
  KeyMaker maker(context.node_key(node));
  add_implementation(maker, implementation);
  const NodeId hint = context.graph().node(node).hint;
  if (hint != kNone) maker.add(context.node_key(hint).high).add(context.node_key(hint).low);
  if (forward && hint != kNone && follows_forward(context.graph().node(node).kind)) add_implementation(maker, *forward);
  return maker.add(1 + uint64_t{in_place}).key();
}

CostKey question_key(const Graph& graph, NodeId node, std::span<const LayoutRequest> src,
                     std::span<const LayoutRequest> dst, const Implementation* forward) {
  KeyMaker maker;
  add_node(maker, graph, nullptr, graph.node(node));
  add_layouts(maker, src);
  add_layouts(maker, dst);
  const NodeId hint = graph.node(node).hint;
  if (forward && hint != kNone) {
    add_node(maker, graph, nullptr, graph.node(hint));
    add_implementation(maker, *forward);
  }
  return maker.key();
}

CostKey reorder_key(const ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) {
  KeyMaker maker;
  maker.add(uint64_t{setting.far_source} + 2 * uint64_t{setting.far_destination});
  maker.add(static_cast<uint64_t>(from.dtype) + 32 * static_cast<uint64_t>(to.dtype));
  return maker.add(from.layout).add(to.layout).key();
}

}  // namespace relayout::graph
