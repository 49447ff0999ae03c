// Texts of the command line as one primitive: see primitive.h.
#include "tools/primitive.h"

#include <fmt/format.h>

#include <algorithm>

#include "relayout/graph/passes/backward.h"

namespace relayout::tools {
namespace {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::TensorId;

/// The kinds that are primitives: views move nothing, and the others have no layouts to choose from.
constexpr int kKinds = static_cast<int>(Kind::reorder) + 1;

std::string kind_names() {
  std::string out;
  for (int k = 0; k < kKinds; ++k) out += (k > 0 ? ", " : "") + std::string(name(static_cast<Kind>(k)));
  return out;
}

Kind kind_of(const std::string& text) {
  std::vector<std::string_view> names;
  for (int k = 0; k < kKinds; ++k) names.push_back(name(static_cast<Kind>(k)));
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<Kind>(found - names.begin());
  const std::string_view near = nearest(text, names);
  usage_error(
      fmt::format("KIND {}: {}", escaped(text),
                  near.empty() ? "it must be one of " + kind_names() : "did you mean " + std::string(near) + "?"),
      "KIND", escaped(text), kind_names());
}

/// The values of --attr KEY=VALUE. Every key that a kind knows is asked for; what is left over is a usage error.
class AttributeTexts {
 public:
  AttributeTexts(const std::vector<std::string>& texts, int spatial_dims) : spatial_dims_(spatial_dims) {
    for (const std::string& text : texts) {
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0) {
        usage_error(fmt::format("--attr {}: it must be KEY=VALUE", escaped(text)), "--attr", escaped(text),
                    "KEY=VALUE");
      }
      const std::string key = text.substr(0, equals);
      if (std::ranges::find(given_, key, &Given::key) != given_.end()) {
        usage_error(fmt::format("--attr {}: {} is given twice", escaped(text), escaped(key)), "--attr", escaped(text),
                    "each key once");
      }
      given_.push_back({key, text.substr(equals + 1), false});
    }
  }

  /// A list of numbers.
  Dims list(const std::string& key, const Dims& otherwise = {}) {
    const std::optional<std::string> text = take(key);
    return text ? from_command_line([&] { return parse_dims(*text, "--attr " + key); }) : otherwise;
  }
  /// One number a spatial dim; one alone stands for all of them.
  Dims spatial(const std::string& key) {
    const Dims out = list(key);
    return out.size() == 1 ? Dims(spatial_dims_, out[0]) : out;
  }
  int64_t number(const std::string& key, int64_t otherwise) {
    const std::optional<std::string> text = take(key);
    return text ? from_command_line([&] { return parse_int(*text, "--attr " + key); }) : otherwise;
  }
  double real(const std::string& key, double otherwise) {
    const std::optional<std::string> text = take(key);
    return text ? number_argument(*text, "--attr " + key) : otherwise;
  }
  bool flag(const std::string& key) { return word(key, {"false", "true"}) == 1; }
  DType dtype(const std::string& key, DType otherwise) {
    const std::optional<std::string> text = take(key);
    return text ? dtype_argument(*text, "--attr " + key) : otherwise;
  }
  /// The number of the word that is given, 0 where none is.
  int word(const std::string& key, const std::vector<std::string_view>& words) {
    const std::optional<std::string> text = take(key);
    if (!text) return 0;
    const auto found = std::ranges::find(words, *text);
    if (found != words.end()) return static_cast<int>(found - words.begin());
    std::string all;
    for (std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
    usage_error(fmt::format("--attr {}={}: it must be one of {}", key, escaped(*text), all), "--attr", escaped(*text),
                all);
  }

  void check_all_taken(Kind kind) const {
    for (const Given& one : given_) {
      if (one.taken) continue;
      usage_error(fmt::format("--attr {}: {} has {}", escaped(one.key), name(kind),
                              known_.empty() ? "no attributes" : "the attributes " + known_),
                  "--attr", escaped(one.key), known_);
    }
  }

 private:
  struct Given {
    std::string key, value;
    bool taken;
  };

  /// The value that is given for a key.
  std::optional<std::string> take(const std::string& key) {
    known_ += (known_.empty() ? "" : ", ") + key;
    const auto found = std::ranges::find(given_, key, &Given::key);
    if (found == given_.end()) return std::nullopt;
    found->taken = true;
    return found->value;
  }

  std::vector<Given> given_{};
  std::string known_{};
  int spatial_dims_;
};

/// Words of an enumeration whose values are named by name().
template <typename Enum>
std::vector<std::string_view> names_of(int count) {
  std::vector<std::string_view> out;
  for (int i = 0; i < count; ++i) out.push_back(name(static_cast<Enum>(i)));
  return out;
}

/// "pads" are the pads of both ends, where they are not given apart.
template <typename T>
void read_window(AttributeTexts& a, T& out) {
  out.strides = a.spatial("strides");
  out.dilations = a.spatial("dilations");
  const Dims pads = a.spatial("pads");
  out.pads_begin = a.spatial("pads_begin");
  out.pads_end = a.spatial("pads_end");
  if (out.pads_begin.empty()) out.pads_begin = pads;
  if (out.pads_end.empty()) out.pads_end = pads;
}

graph::ConvolutionAttributes convolution_of(AttributeTexts& a, Kind kind) {
  graph::ConvolutionAttributes out;
  read_window(a, out);
  out.groups = a.number("groups", 1);
  if (kind == Kind::deconvolution) out.output_padding = a.spatial("output_padding");
  return out;
}

graph::PoolingAttributes pooling_of(AttributeTexts& a) {
  graph::PoolingAttributes out;
  out.algorithm = static_cast<graph::PoolingAlgorithm>(
      a.word("algorithm", {"max", "average_include_padding", "average_exclude_padding"}));
  out.kernel = a.spatial("kernel");
  read_window(a, out);
  return out;
}

graph::RnnAttributes rnn_of(AttributeTexts& a) {
  using Cell = graph::RnnCell;
  // LSTM comes first, as it is what is meant where no cell is given.
  constexpr Cell kCells[] = {Cell::lstm, Cell::vanilla_relu, Cell::vanilla_tanh, Cell::vanilla_sigmoid,
                             Cell::gru,  Cell::lbr_gru};
  graph::RnnAttributes out;
  out.cell = kCells[a.word("cell", {"lstm", "vanilla_relu", "vanilla_tanh", "vanilla_sigmoid", "gru", "lbr_gru"})];
  out.direction = static_cast<graph::RnnDirection>(
      a.word("direction", {"left_to_right", "right_to_left", "bidirectional_concat", "bidirectional_sum"}));
  return out;
}

graph::ResamplingAttributes resampling_of(AttributeTexts& a, const Dims& dst) {
  graph::ResamplingAttributes out;
  out.algorithm = static_cast<graph::ResamplingAlgorithm>(a.word("algorithm", {"nearest", "linear"}));
  Dims sizes;
  for (int d = 2; d < dst.size(); ++d) sizes.push_back(dst[d]);
  out.sizes = a.list("sizes", sizes);
  return out;
}

graph::ReductionAttributes reduction_of(AttributeTexts& a) {
  graph::ReductionAttributes out;
  constexpr int kMean = 4;
  const int word = a.word("algorithm", {"mean", "max", "min", "sum", "mul", "norm_l1", "norm_l2"});
  out.algorithm = static_cast<graph::ReductionAlgorithm>(word == 0 ? kMean : word <= kMean ? word - 1 : word);
  for (int64_t axis : a.list("axes")) out.axes.push_back(static_cast<int>(axis));
  return out;
}

graph::NodeAttributes attributes_of(AttributeTexts& a, Kind kind, const Dims& dst, DType dtype) {
  const auto axis = [&](int otherwise) { return static_cast<int>(a.number("axis", otherwise)); };
  switch (kind) {
    case Kind::convolution:
    case Kind::deconvolution: return convolution_of(a, kind);
    case Kind::matmul: return graph::MatmulAttributes{};
    case Kind::inner_product: return graph::InnerProductAttributes{};
    case Kind::rnn: return rnn_of(a);
    case Kind::pooling: return pooling_of(a);
    case Kind::batch_normalization: return graph::NormalizationAttributes{a.real("epsilon", 1e-5), -1};
    case Kind::layer_normalization: return graph::NormalizationAttributes{a.real("epsilon", 1e-5), axis(-1)};
    case Kind::lrn:
      return graph::LrnAttributes{a.flag("within_channel"), a.number("size", 5), a.real("alpha", 1e-4),
                                  a.real("beta", 0.75), a.real("k", 1)};
    case Kind::eltwise:
      return graph::EltwiseAttributes{static_cast<graph::EltwiseAlgorithm>(
                                          a.word("algorithm", names_of<graph::EltwiseAlgorithm>(graph::kEltwiseCount))),
                                      a.real("alpha", 0), a.real("beta", 0)};
    case Kind::shuffle: return graph::ShuffleAttributes{axis(1), a.number("groups", 1)};
    case Kind::softmax: return graph::SoftmaxAttributes{axis(1), a.flag("log")};
    case Kind::resampling: return resampling_of(a, dst);
    case Kind::reduction: return reduction_of(a);
    case Kind::concat: return graph::ConcatAttributes{axis(1)};
    case Kind::sum: return graph::SumAttributes{};
    case Kind::binary:
      return graph::BinaryAttributes{static_cast<graph::BinaryAlgorithm>(
          a.word("algorithm", {"add", "sub", "mul", "div", "max", "min", "ge", "gt", "le", "lt", "eq", "ne", "pow"}))};
    case Kind::reorder:
      return graph::ReorderAttributes{a.dtype("dtype", dtype), a.real("scale", 1), a.real("shift", 0)};
    default: return graph::PreluAttributes{};
  }
}

/// Adds the inputs of the node that belong to a kind beside its sources and weights.
class PrimitiveInputs {
 public:
  PrimitiveInputs(Graph& graph, const PrimitiveFlags& flags, Kind kind, DType dtype)
      : graph_(graph), flags_(flags), kind_(kind), dtype_(dtype) {}

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
    std::vector<TensorId> out;
    for (const std::string& text : flags_.src) {
      const bool first = out.empty();
      out.push_back(
          add(flags_.src.size() == 1 ? "src" : fmt::format("src{}", out.size()), dims_argument(text, "--src")));
      if (first && flags_.src_layout) set_layout(out[0], *flags_.src_layout);
    }
    if (weighted) add_weights(out);
    if (kind_ == Kind::batch_normalization) add_statistics(out);
    return out;
  }

 private:
  TensorId add(const std::string& name, const Dims& dims) { return graph_.input(name, dims, dtype_); }

  TensorId add_weight(const std::string& name, const Dims& dims) {
    if (!flags_.constant_weights) return add(name, dims);
    const int64_t elements = from_command_line([&] { return Layout::contiguous(dims).elements(); });
    const std::optional<int64_t> bytes = bytes_for(dtype_, elements);
    if (!bytes)
      usage_error("--weights " + join(dims) + ": they take more bytes than fit in 63 bits", "--weights", join(dims),
                  "");
    std::vector<std::byte> zeros(static_cast<std::size_t>(*bytes));
    return graph_.constant(name, dims, dtype_, std::make_shared<const std::vector<std::byte>>(std::move(zeros)));
  }

  void set_layout(TensorId tensor, const std::string& text) {
    graph_.tensor(tensor).layout = bind_argument(layout_argument(text), graph_.tensor(tensor).dims);
  }

  void add_weights(std::vector<TensorId>& out) {
    const Dims dims = dims_argument(*flags_.weights, "--weights");
    if (kind_ == Kind::rnn) return add_rnn(out, dims);
    out.push_back(add_weight("weights", dims));
    if (!flags_.bias) return;
    if (dims.size() < 2 || kind_ == Kind::prelu) {
      usage_error(fmt::format("--bias: {} with weights of dims {} has none", name(kind_), join(dims)), "--bias", "",
                  "");
    }
    const bool groups = dims.size() > graph_.tensor(out[0]).dims.size();
    const int64_t channels = kind_ == Kind::matmul ? dims[dims.size() - 1] : groups ? dims[0] * dims[1] : dims[0];
    out.push_back(add_weight("bias", {channels}));
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
    out.push_back(add_weight("weights_layer", layer));
    out.push_back(add_weight("weights_iter", iter));
    if (flags_.bias || flags_.projection > 0) out.push_back(flags_.bias ? add_weight("bias", bias) : kNone);
    if (flags_.projection > 0)
      out.push_back(add_weight("weights_projection", {layer[0], layer[1], layer[4], flags_.projection}));
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
  DType dtype_;
};

void finish_primitive(Graph& graph, const PrimitiveFlags& flags) {
  const TensorId dst = graph.nodes[0].dst[0];
  const Dims dims = graph.tensor(dst).dims;
  if (flags.dst && dims_argument(*flags.dst, "--dst") != dims) {
    usage_error(fmt::format("--dst {}: from the other operands follow the dims {}", escaped(*flags.dst), join(dims)),
                "--dst", escaped(*flags.dst), join(dims));
  }
  graph.output(dst);
  if (flags.dst_layout) graph.tensor(dst).layout = bind_argument(layout_argument(*flags.dst_layout), dims);
  if (!flags.training) return;
  std::vector<TensorId> inputs;
  for (TensorId t : graph.inputs) {
    if (is_floating(graph.tensor(t).dtype)) inputs.push_back(t);
  }
  from_command_line([&] { append_backward(graph, inputs); });
}

}  // namespace

void add_primitive_flags(Command& command, PrimitiveFlags& flags) {
  command.add_option("KIND", flags.kind, "The primitive: " + kind_names()).required();
  command.add_option("--src", flags.src, "Dims of the source, as 1,3,224,224; several times where there are several")
      .one_value_each();
  command.add_option("--weights", flags.weights, "Dims of the weights (of matmul, of its second factor)");
  command.add_option("--dst", flags.dst,
                     "Dims of the destination: checked, as they follow from the others, but for a resampling");
  command.add_option("--src-layout", flags.src_layout, "The layout that the first source has; row-major by default");
  command.add_option("--dst-layout", flags.dst_layout, "The layout that the destination must have; any by default");
  command.add_option("--dtype", flags.dtype, "The type of all operands; f32 by default");
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
  AttributeTexts attributes(flags.attributes, std::max(0, graph.tensor(src[0]).dims.size() - 2));
  const Dims dst = flags.dst ? dims_argument(*flags.dst, "--dst") : Dims();
  graph::NodeAttributes values = attributes_of(attributes, kind, dst, dtype);
  attributes.check_all_taken(kind);
  from_command_line([&] { graph.add(kind, std::move(values), std::move(src), std::string(name(kind))); });
  finish_primitive(graph, flags);
  return graph;
}

}  // namespace relayout::tools
