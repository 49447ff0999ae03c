// Building graphs: tensors, and nodes whose destinations get the dims and types that ops.h infers.
#include "relayout/core/overflow.h"
#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

/// Bytes of a tensor. Errors: invalid_argument for a negative dim, overflow.
int64_t bytes_of(const std::string& name, const Dims& dims, DType dtype) {
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] < 0) {
      throw Error(ErrorCode::invalid_argument,
                  "tensor '" + escaped(name) + "': dim " + std::to_string(d) + " is " + std::to_string(dims[d]),
                  "dims[" + std::to_string(d) + "]", std::to_string(dims[d]), "0 or more");
    }
  }
  const std::optional<int64_t> elements = checked_product(dims);
  const std::optional<int64_t> bytes = elements ? bytes_for(dtype, *elements) : std::nullopt;
  if (!bytes) {
    throw_too_many("tensor '" + escaped(name) + "': ", dims, dims,
                   "elements of " + std::string(relayout::name(dtype)) + " overflow 64 bits of bytes");
  }
  return *bytes;
}

std::optional<Layout> fixed_layout(const std::optional<Format>& format, const Dims& dims) {
  if (!format || format->kind() == Format::Kind::any) return std::nullopt;
  // A tensor's dims are those behind the views, which must lead back to the dims of the buffer.
  const Layout layout = format->bind(format->dims_before_views(dims).value_or(dims));
  if (layout.dims() == dims) return layout;
  throw Error(ErrorCode::invalid_argument,
              "graph: the views of layout " + escaped(format->text()) + " do not show what buffer a tensor of dims " +
                  join(dims) + " is a part of",
              "layout", escaped(format->text()), "a layout without such views");
}

TensorId append(Graph& graph, Tensor tensor) {
  graph.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph.tensors.size() - 1);
}

/// Rewrites axes that count from the end to count from the front, so that no reader of attributes has to.
void normalize_axes(Node& node, int ndims) {
  const auto from_front = [&](int& axis) { axis = checked_axis(node, "axis", axis, ndims); };
  if (node.kind == Kind::layer_normalization) from_front(std::get<NormalizationAttributes>(node.attributes).axis);
  if (auto* a = std::get_if<ShuffleAttributes>(&node.attributes)) from_front(a->axis);
  if (auto* a = std::get_if<SoftmaxAttributes>(&node.attributes)) from_front(a->axis);
  if (auto* a = std::get_if<ConcatAttributes>(&node.attributes)) from_front(a->axis);
  if (auto* a = std::get_if<GatherAttributes>(&node.attributes)) from_front(a->axis);
  if (auto* a = std::get_if<ArrayAttributes>(&node.attributes); a != nullptr && ndims > 0) from_front(a->axis);
  if (auto* a = std::get_if<ReductionAttributes>(&node.attributes)) {
    for (int& axis : a->axes) from_front(axis);
  }
}

}  // namespace

TensorId Graph::input(std::string name, const Dims& dims, DType dtype, const std::optional<Format>& format) {
  bytes_of(name, dims, dtype);
  inputs.push_back(
      append(*this, {.name = std::move(name), .dims = dims, .dtype = dtype, .layout = fixed_layout(format, dims)}));
  return inputs.back();
}

TensorId Graph::constant(std::string name, const Dims& dims, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return constant(std::move(name), dims, DType::f32,
                  std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()));
}

TensorId Graph::constant(std::string name, const Dims& dims, DType dtype, ConstantData data) {
  const int64_t bytes = bytes_of(name, dims, dtype);
  if (data == nullptr || static_cast<int64_t>(data->size()) != bytes) {
    const std::string have = data == nullptr ? "no" : std::to_string(data->size());
    throw Error(ErrorCode::invalid_argument,
                "constant '" + escaped(name) + "': " + have + " bytes for dims " + join(dims) + " of " +
                    std::string(relayout::name(dtype)) + ", which take " + std::to_string(bytes),
                "data", have, std::to_string(bytes));
  }
  return append(*this, {.name = std::move(name), .dims = dims, .dtype = dtype, .data = std::move(data)});
}

TensorId Graph::constant(std::string name, const Dims& dims, DType dtype, const ConstElements& values) {
  const auto bytes =
      checked_bytes(values, dtype, bytes_of(name, dims, dtype), "constant '" + escaped(name) + "'", "data");
  return constant(std::move(name), dims, dtype,
                  std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()));
}

const std::string& Graph::output_name(std::size_t i) const {
  return i < output_names.size() && !output_names[i].empty() ? output_names[i] : tensor(outputs[i]).name;
}

void Graph::output(TensorId id, const std::optional<Format>& format, std::string name) {
  if (id < 0 || static_cast<std::size_t>(id) >= tensors.size()) {
    throw Error(ErrorCode::invalid_argument,
                "output: tensor " + std::to_string(id) + " of " + std::to_string(tensors.size()), "tensor",
                std::to_string(id), std::to_string(static_cast<int64_t>(tensors.size()) - 1));
  }
  Tensor& out = tensor(id);
  const std::optional<Layout> layout = fixed_layout(format, out.dims);
  if (layout && out.layout && !(*layout == *out.layout)) {
    throw Error(ErrorCode::invalid_argument,
                "output '" + escaped(out.name) + "': " + format->text() + ", but its layout is fixed already", "format",
                format->text(), "the layout it has");
  }
  if (layout) out.layout = layout;
  outputs.push_back(id);
  output_names.resize(outputs.size());
  output_names.back() = std::move(name);
}

std::vector<TensorId> Graph::add(Kind kind, NodeAttributes attributes, std::vector<TensorId> src, std::string name) {
  return add(
      {.name = std::move(name), .kind = kind, .pass = pass, .attributes = std::move(attributes), .src = std::move(src)},
      0);
}

std::vector<TensorId> Graph::add(Node node, int dsts) {
  if (node.name.empty()) {
    node.name = std::string(relayout::graph::name(node.kind)) + "_" + std::to_string(nodes.size());
  }
  const std::vector<std::optional<OperandSpec>> specs = infer(*this, node, dsts);
  if (node.forward() && node.src.size() > 0 && node.src[0] != kNone) {
    normalize_axes(node, tensor(node.src[0]).dims.size());
  }
  node.dst.clear();
  for (const std::optional<OperandSpec>& spec : specs) {
    const std::string tensor_name = node.name + (node.dst.empty() ? "" : ":" + std::to_string(node.dst.size()));
    node.dst.push_back(spec ? append(*this, {.name = tensor_name, .dims = spec->dims, .dtype = spec->dtype}) : kNone);
  }
  nodes.push_back(std::move(node));
  return nodes.back().dst;
}

TensorId Graph::convolution(TensorId src, TensorId weights, TensorId bias, ConvolutionAttributes attributes) {
  return add(Kind::convolution, std::move(attributes), {src, weights, bias})[0];
}

TensorId Graph::deconvolution(TensorId src, TensorId weights, TensorId bias, ConvolutionAttributes attributes) {
  return add(Kind::deconvolution, std::move(attributes), {src, weights, bias})[0];
}

TensorId Graph::matmul(TensorId a, TensorId b, TensorId bias) {
  return add(Kind::matmul, MatmulAttributes{}, {a, b, bias})[0];
}

TensorId Graph::inner_product(TensorId src, TensorId weights, TensorId bias) {
  return add(Kind::inner_product, InnerProductAttributes{}, {src, weights, bias})[0];
}

TensorId Graph::pooling(TensorId src, PoolingAttributes attributes) {
  return add(Kind::pooling, std::move(attributes), {src})[0];
}

TensorId Graph::eltwise(TensorId src, EltwiseAttributes attributes) { return add(Kind::eltwise, attributes, {src})[0]; }

TensorId Graph::softmax(TensorId src, SoftmaxAttributes attributes) { return add(Kind::softmax, attributes, {src})[0]; }

TensorId Graph::binary(TensorId a, TensorId b, BinaryAlgorithm algorithm) {
  return add(Kind::binary, BinaryAttributes{algorithm}, {a, b})[0];
}

TensorId Graph::sum(std::vector<TensorId> src) { return add(Kind::sum, SumAttributes{}, std::move(src))[0]; }

TensorId Graph::concat(std::vector<TensorId> src, int axis) {
  return add(Kind::concat, ConcatAttributes{axis}, std::move(src))[0];
}

TensorId Graph::reshape(TensorId src, const Dims& dims) {
  return add(Kind::reshape, ReshapeAttributes{dims}, {src})[0];
}

TensorId Graph::transpose(TensorId src, std::vector<int> order) {
  return add(Kind::transpose, TransposeAttributes{std::move(order)}, {src})[0];
}

}  // namespace relayout::graph
