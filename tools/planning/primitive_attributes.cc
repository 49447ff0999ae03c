// The attributes of each kind from texts: see primitive_attributes.h.
#include "tools/planning/primitive_attributes.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/command/common.h"

namespace relayout::tools {
namespace {

using graph::Kind;

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
          a.word("algorithm", names_of<graph::BinaryAlgorithm>(graph::kBinaryCount)))};
    case Kind::reorder:
      return graph::ReorderAttributes{a.dtype("dtype", dtype), a.real("scale", 1), a.real("shift", 0)};
    default: return graph::PreluAttributes{};
  }
}

}  // namespace

graph::NodeAttributes primitive_attributes(const std::vector<std::string>& texts, Kind kind, int spatial_dims,
                                           const Dims& dst, DType dtype) {
  AttributeTexts attributes(texts, spatial_dims);
  graph::NodeAttributes out = attributes_of(attributes, kind, dst, dtype);
  attributes.check_all_taken(kind);
  return out;
}

}  // namespace relayout::tools
