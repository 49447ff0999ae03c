// Texts of the command line as one primitive: see primitive.h.
#include "tools/planning/primitive.h"

#include <fmt/format.h>

#include <algorithm>

#include "relayout/graph/passes/backward.h"
#include "tools/planning/primitive_attributes.h"

namespace relayout::tools {
namespace {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::TensorId;

/// The kinds that are primitives: views move nothing, and the others have no layouts to choose from.
constexpr int kKinds = static_cast<int>(Kind::reorder) + 1;

Kind kind_of(const std::string& text) {
  std::vector<std::string_view> names;
  for (int k = 0; k < kKinds; ++k) names.push_back(name(static_cast<Kind>(k)));
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<Kind>(found - names.begin());
  const std::string_view near = nearest_name(text, names);
  usage_error(
      fmt::format("KIND {}: {}", escaped(text),
                  near.empty() ? "it must be one of " + kind_names() : "did you mean " + std::string(near) + "?"),
      "KIND", escaped(text), kind_names());
}

void fix_layout(graph::Tensor& tensor, const std::string& text) {
  const Format format = layout_argument(text);
  tensor.layout = from_command_line([&] { return bind_tensor(format, tensor.dims, tensor.dtype).layout; });
}

/// Adds the inputs of the node that belong to a kind beside its sources and weights.
class PrimitiveInputs {
 public:
  PrimitiveInputs(Graph& graph, const PrimitiveFlags& flags, Kind kind, DType dtype)
      : graph_(graph), flags_(flags), kind_(kind), dtype_(dtype), weights_dtype_(dtype) {}

  std::vector<TensorId> make() {
    const bool many = kind_ == Kind::concat || kind_ == Kind::sum || kind_ == Kind::binary;
    if (flags_.src.empty() || (!many && flags_.src.size() > 1)) {
      usage_error(fmt::format("--src: {} has {}, but {} given", name(kind_), many ? "one source or more" : "one source",
                              flags_.src.empty() ? "none is" : fmt::format("{} are", flags_.src.size())),
                  "--src", std::to_string(flags_.src.size()), many ? "1 or more" : "1");
    }
    const bool weighted = (compute_bound(kind_) || kind_ == Kind::prelu);
    if (weighted != flags_.weights.has_value()) {
      usage_error(
          fmt::format("--weights: {} has {}", name(kind_), weighted ? "weights, whose dims are missing" : "none"),
          "--weights", flags_.weights.value_or(""), weighted ? "dims" : "nothing");
    }
    if (flags_.weights_dtype && !weighted)
      usage_error(fmt::format("--weights-dtype: {} has no weights", name(kind_)), "--weights-dtype");
    if (flags_.weights_dtype) weights_dtype_ = dtype_argument(*flags_.weights_dtype, "--weights-dtype");
    std::vector<TensorId> out;
    for (const std::string& text : flags_.src) {
      const bool first = out.empty();
      out.push_back(
          add(flags_.src.size() == 1 ? "src" : fmt::format("src{}", out.size()), checked_dims(text, "--src")));
      if (first && flags_.src_layout) fix_layout(graph_.tensor(out[0]), *flags_.src_layout);
    }
    if (weighted) add_weights(out);
    if (kind_ == Kind::batch_normalization) add_statistics(out);
    return out;
  }

 private:
  static Dims checked_dims(const std::string& text, const std::string& flag) {
    const Dims dims = dims_argument(text, flag);
    if (dims.empty())
      usage_error(fmt::format("{} \"\": an operand of a primitive has 1 to {} dims", flag, kMaxDims), flag, "",
                  "1 dim");
    return dims;
  }

  TensorId add(const std::string& name, const Dims& dims) { return graph_.input(name, dims, dtype_); }

  /// The type of a bias: sums of products of bytes are no bytes.
  DType bias_dtype() const { return bits(dtype_) == 8 && is_integer(dtype_) ? DType::f32 : dtype_; }

  TensorId add_weight(const std::string& name, const Dims& dims, DType dtype) {
    if (!flags_.constant_weights) return graph_.input(name, dims, dtype);
    const int64_t elements = from_command_line([&] { return Layout::contiguous(dims).elements(); });
    const std::optional<int64_t> bytes = bytes_for(dtype, elements);
    if (!bytes)
      usage_error("--weights " + join(dims) + ": they take more bytes than fit in 63 bits", "--weights", join(dims),
                  "");
    std::vector<std::byte> zeros(static_cast<std::size_t>(*bytes));
    return graph_.constant(name, dims, dtype, std::make_shared<const std::vector<std::byte>>(std::move(zeros)));
  }

  void add_weights(std::vector<TensorId>& out) {
    const Dims dims = checked_dims(*flags_.weights, "--weights");
    if (kind_ == Kind::rnn) return add_rnn(out, dims);
    out.push_back(add_weight("weights", dims, weights_dtype_));
    if (!flags_.bias) return;
    if (dims.size() < 2 || kind_ == Kind::prelu) {
      usage_error(fmt::format("--bias: {} with weights of dims {} has none", name(kind_), join(dims)), "--bias", "",
                  "");
    }
    const bool groups = dims.size() > graph_.tensor(out[0]).dims.size();
    const int64_t channels = kind_ == Kind::matmul ? dims[dims.size() - 1] : groups ? dims[0] * dims[1] : dims[0];
    out.push_back(add_weight("bias", {channels}, bias_dtype()));
  }

  /// The weights that are given are those of the layer, L D I G O; those of the state follow from them.
  void add_rnn(std::vector<TensorId>& out, const Dims& layer) {
    if (layer.size() != 5) {
      usage_error(
          fmt::format("--weights {}: those of a recurrent layer are its five dims L,D,I,G,O (layers, directions, "
                      "input channels, gates, channels)",
                      join(layer)),
          "--weights", join(layer), "L,D,I,G,O");
    }
    Dims iter = layer, bias{layer[0], layer[1], layer[3], layer[4]};
    iter[2] = flags_.projection > 0 ? flags_.projection : layer[4];
    for (int missing = 0; missing < 2; ++missing) out.push_back(kNone);  // the states before the first step are 0
    out.push_back(add_weight("weights_layer", layer, weights_dtype_));
    out.push_back(add_weight("weights_iter", iter, weights_dtype_));
    if (flags_.bias || flags_.projection > 0) {
      out.push_back(flags_.bias ? add_weight("bias", bias, bias_dtype()) : kNone);
    }
    if (flags_.projection > 0) {
      const Dims projection{layer[0], layer[1], layer[4], flags_.projection};
      out.push_back(add_weight("weights_projection", projection, weights_dtype_));
    }
  }

  /// Scale and shift, and for inference the statistics, one number a channel.
  void add_statistics(std::vector<TensorId>& out) {
    const Dims& src = graph_.tensor(out[0]).dims;
    if (src.size() < 2) return;  // the node is refused
    const Dims channels{src[1]};
    out.push_back(add("scale", channels));
    out.push_back(add("shift", channels));
    if (flags_.training) return;
    out.push_back(add("mean", channels));
    out.push_back(add("variance", channels));
  }

  Graph& graph_;
  const PrimitiveFlags& flags_;
  Kind kind_;
  DType dtype_, weights_dtype_;
};

/// The destination has the type that is asked for. The graph gives sums of products of bytes as f32, and a primitive
/// may store them in another type.
void set_dst_dtype(graph::Tensor& dst, const Graph& graph, const PrimitiveFlags& flags) {
  if (!flags.dst_dtype) return;
  const DType dtype = dtype_argument(*flags.dst_dtype, "--dst-dtype");
  const Kind kind = graph.nodes[0].kind;
  const bool sums = compute_bound(kind) && kind != Kind::rnn;
  if (dtype != dst.dtype && (!sums || flags.training)) {
    usage_error(fmt::format("--dst-dtype {}: the destination of this {} is {}", name(dtype),
                            flags.training && sums ? "primitive in training" : name(kind), name(dst.dtype)),
                "--dst-dtype", std::string(name(dtype)), std::string(name(dst.dtype)));
  }
  dst.dtype = dtype;
}

void finish_primitive(Graph& graph, const PrimitiveFlags& flags) {
  const TensorId dst = graph.nodes[0].dst[0];
  const Dims dims = graph.tensor(dst).dims;
  if (flags.dst && dims_argument(*flags.dst, "--dst") != dims) {
    usage_error(fmt::format("--dst {}: from the other operands follow the dims {}", escaped(*flags.dst), join(dims)),
                "--dst", escaped(*flags.dst), join(dims));
  }
  graph.output(dst);
  set_dst_dtype(graph.tensor(dst), graph, flags);
  if (flags.dst_layout) fix_layout(graph.tensor(dst), *flags.dst_layout);
  if (!flags.training) return;
  std::vector<TensorId> inputs;
  for (TensorId t : graph.inputs) {
    if (is_floating(graph.tensor(t).dtype)) inputs.push_back(t);
  }
  from_command_line([&] { append_backward(graph, inputs); });
}

}  // namespace

std::string kind_names() {
  std::string out;
  for (int k = 0; k < kKinds; ++k) out += (k > 0 ? ", " : "") + std::string(name(static_cast<Kind>(k)));
  return out;
}

void add_primitive_flags(Command& command, PrimitiveFlags& flags) {
  command.add_option("KIND", flags.kind, "The primitive: " + kind_names()).required();
  command.add_option("--src", flags.src, "Dims of the source, as 1,3,224,224; several times where there are several")
      .one_value_each();
  command.add_option("--weights", flags.weights, "Dims of the weights (of matmul, of its second factor)");
  command.add_option("--dst", flags.dst,
                     "Dims of the destination: checked, as they follow from the others, but for a resampling");
  command.add_option("--src-layout", flags.src_layout, "The layout that the first source has; row-major by default");
  command.add_option("--dst-layout", flags.dst_layout, "The layout that the destination must have; any by default");
  command.add_option(
      "--dtype", flags.dtype,
      "The type of the sources, and of the weights and the destination unless these have their own; f32 by "
      "default. The destination and the bias of 8-bit sources are f32");
  command.add_option("--weights-dtype", flags.weights_dtype, "The type of the weights, as s8 for a source of u8");
  command.add_option("--dst-dtype", flags.dst_dtype,
                     "The type of the destination of a convolution, deconvolution, matmul or inner product");
  command
      .add_option(
          "--attr", flags.attributes,
          "An attribute, as strides=2,2, pads=3, groups=32, kernel=3 or algorithm=gelu_erf; may be given several "
          "times")
      .one_value_each();
  command.add_option("--projection", flags.projection, {1, int64_t{1} << 40},
                     "Of rnn with the cell lstm: the channels that a projection makes of the cell's");
  command.add_flag("--bias", flags.bias, "Of kinds with weights: with a bias");
  command.add_flag("--constant-weights", flags.constant_weights,
                   "The weights are constants, as those of a trained model: the backend may store them in a format of "
                   "its own, which no layout describes");
  command.add_flag("--training", flags.training, "The forward pass as training runs it, and its backward primitives");
}

Graph primitive_graph(const PrimitiveFlags& flags) {
  const Kind kind = kind_of(flags.kind);
  const DType dtype = dtype_argument(flags.dtype);
  Graph graph;
  if (flags.training) graph.pass = graph::Pass::forward_training;
  std::vector<TensorId> src = PrimitiveInputs(graph, flags, kind, dtype).make();
  const int spatial_dims = std::max(0, graph.tensor(src[0]).dims.size() - 2);
  const Dims dst = flags.dst ? dims_argument(*flags.dst, "--dst") : Dims();
  graph::NodeAttributes values = primitive_attributes(flags.attributes, kind, spatial_dims, dst, dtype);
  from_command_line([&] { graph.add(kind, std::move(values), std::move(src), std::string(name(kind))); });
  finish_primitive(graph, flags);
  return graph;
}

}  // namespace relayout::tools
