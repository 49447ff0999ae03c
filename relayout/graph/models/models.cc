// Models built with calls of Graph: first the layers that several models share, then one function for each model.
#include "relayout/graph/models/models.h"

#include <array>

#include "relayout/graph/models/random_weights.h"

namespace relayout::graph {
namespace {

/// A graph that is being built. Weights are zero until finish() draws random ones.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(const ModelBuildOptions& options) : options_(options) {
    constexpr int64_t kLeastImage = 32, kLeastChannels = 8;
    if (options.image < kLeastImage || options.channels < kLeastChannels || options.batch < 0 || options.classes < 1) {
      throw Error(ErrorCode::invalid_argument,
                  "model of batch " + std::to_string(options.batch) + ", image " + std::to_string(options.image) +
                      ", channels " + std::to_string(options.channels) + ", classes " +
                      std::to_string(options.classes) + ": an image of 32 and 8 channels are the least",
                  "options");
    }
    graph.pass = options.pass;
  }

  Graph graph;

  TensorId image() { return graph.input("image", {options_.batch, 3, options_.image, options_.image}); }
  int64_t channels(TensorId x) const { return graph.tensor(x).dims[1]; }
  /// Channels of a layer, in proportion to the paper's, whose first layer has `base` channels. A multiple of 4, so that
  /// groups divide it.
  int64_t scaled(int64_t paper, int64_t base) const {
    return std::max<int64_t>(4, paper * options_.channels / base / 4 * 4);
  }

  TensorId weights(const std::string& name, const Dims& dims) {
    const auto bytes = static_cast<std::size_t>(*bytes_for(DType::f32, *checked_product(dims)));
    return graph.constant(name, dims, DType::f32, std::make_shared<const std::vector<std::byte>>(bytes));
  }

  struct ConvolutionWindow {
    int64_t kernel = 3, stride = 1, groups = 1;
    bool bias = false;
  };
  /// A convolution that is padded so that stride 1 keeps the height and width.
  TensorId convolution(TensorId x, int64_t out, ConvolutionWindow window) {
    const int number = ++convolutions_;
    const int64_t in = channels(x), pad = window.kernel / 2;
    Dims dims = {out / window.groups, in / window.groups, window.kernel, window.kernel};
    if (window.groups > 1) dims.insert(0, window.groups);
    const TensorId w = weights("w" + std::to_string(number), dims);
    const TensorId b = window.bias ? weights("b" + std::to_string(number), {out}) : kNone;
    return graph.convolution(x, w, b,
                             {.strides = {window.stride, window.stride},
                              .pads_begin = {pad, pad},
                              .pads_end = {pad, pad},
                              .groups = window.groups});
  }

  /// In training, the mean and variance are those of the batch.
  TensorId normalized(TensorId x) {
    const std::string number = std::to_string(++normalizations_);
    std::vector<TensorId> src = {x, weights("scale" + number, {channels(x)}), weights("shift" + number, {channels(x)})};
    if (graph.pass == Pass::forward_inference) {
      src.push_back(weights("mean" + number, {channels(x)}));
      src.push_back(weights("variance" + number, {channels(x)}));
    }
    return graph.add(Kind::batch_normalization, NormalizationAttributes{}, src)[0];
  }

  TensorId relu(TensorId x) { return graph.eltwise(x, {}); }
  TensorId relu6(TensorId x) { return graph.eltwise(x, {.algorithm = EltwiseAlgorithm::clip, .alpha = 0, .beta = 6}); }
  TensorId conv_relu(TensorId x, int64_t out, ConvolutionWindow window) {
    window.bias = true;
    return relu(convolution(x, out, window));
  }
  TensorId conv_norm_relu(TensorId x, int64_t out, ConvolutionWindow window) {
    return relu(normalized(convolution(x, out, window)));
  }

  TensorId pool(TensorId x, PoolingAlgorithm algorithm, int64_t kernel, int64_t stride, int64_t pad = 0) {
    return graph.pooling(x, {.algorithm = algorithm,
                             .kernel = {kernel, kernel},
                             .strides = {stride, stride},
                             .pads_begin = {pad, pad},
                             .pads_end = {pad, pad}});
  }
  TensorId max_pool(TensorId x, int64_t kernel = 2, int64_t stride = 2, int64_t pad = 0) {
    return pool(x, PoolingAlgorithm::max, kernel, stride, pad);
  }

  /// The mean of each channel, then the scores of the classes.
  TensorId scores(TensorId x) {
    const TensorId mean = graph.pooling(x, {.algorithm = PoolingAlgorithm::average_include_padding});
    return dense(graph.reshape(mean, {options_.batch, channels(x)}), options_.classes);
  }
  TensorId dense(TensorId x, int64_t out) {
    Dims dims = graph.tensor(x).dims;
    dims[0] = out;
    return graph.inner_product(x, weights("w_dense", dims), weights("b_dense", {out}));
  }

  Graph finish() {
    randomize_weights(graph, options_.seed);
    return std::move(graph);
  }

 private:
  const ModelBuildOptions options_;
  int convolutions_ = 0, normalizations_ = 0;
};

TensorId inverted_residual(NetworkBuilder& b, TensorId x, int64_t expansion, int64_t out, int64_t stride) {
  const int64_t in = b.channels(x), hidden = in * expansion;
  TensorId y = x;
  if (expansion != 1) y = b.relu6(b.normalized(b.convolution(y, hidden, {.kernel = 1})));
  y = b.relu6(b.normalized(b.convolution(y, hidden, {.stride = stride, .groups = hidden})));
  y = b.normalized(b.convolution(y, out, {.kernel = 1}));
  return stride == 1 && in == out ? b.graph.binary(x, y) : y;
}

/// A unit that has more channels in its result than in its source also halves the height and width. Its shortcut is
/// then an average pooling, which is concatenated rather than added.
TensorId shuffle_unit(NetworkBuilder& b, TensorId x, int64_t out, int64_t groups) {
  const int64_t in = b.channels(x);
  const bool down = in != out;
  const int64_t branch = down ? out - in : out, middle = std::max(groups, out / 4 / groups * groups);
  TensorId y = b.conv_norm_relu(x, middle, {.kernel = 1, .groups = groups});
  y = b.graph.add(Kind::shuffle, ShuffleAttributes{.axis = 1, .groups = groups}, {y})[0];
  y = b.normalized(b.convolution(y, middle, {.stride = down ? 2 : 1, .groups = middle}));
  y = b.normalized(b.convolution(y, branch, {.kernel = 1, .groups = groups}));
  if (!down) return b.relu(b.graph.sum({x, y}));
  const TensorId shortcut = b.pool(x, PoolingAlgorithm::average_include_padding, 3, 2, 1);
  return b.relu(b.graph.concat({shortcut, y}));
}

TensorId dense_layer(NetworkBuilder& b, TensorId x, int64_t growth) {
  TensorId y = b.convolution(b.relu(b.normalized(x)), 4 * growth, {.kernel = 1});
  y = b.convolution(b.relu(b.normalized(y)), growth, {});
  return b.graph.concat({x, y});
}

TensorId inception_module(NetworkBuilder& b, TensorId x, const std::array<int64_t, 6>& out) {
  const TensorId one = b.conv_relu(x, out[0], {.kernel = 1});
  const TensorId three = b.conv_relu(b.conv_relu(x, out[1], {.kernel = 1}), out[2], {.kernel = 3});
  const TensorId five = b.conv_relu(b.conv_relu(x, out[3], {.kernel = 1}), out[4], {.kernel = 5});
  const TensorId pooled = b.conv_relu(b.max_pool(x, 3, 1, 1), out[5], {.kernel = 1});
  return b.graph.concat({one, three, five, pooled});
}

TensorId lrn(NetworkBuilder& b, TensorId x) { return b.graph.add(Kind::lrn, LrnAttributes{}, {x})[0]; }

TensorId recurrent_layer(NetworkBuilder& b, const std::string& name, TensorId x, RnnAttributes attributes,
                         int64_t channels) {
  const int64_t gates = attributes.cell == RnnCell::lstm ? 4 : 3;
  const int64_t directions = attributes.direction == RnnDirection::bidirectional_concat ? 2 : 1;
  const TensorId layer = b.weights(name + "_layer", {1, directions, b.graph.tensor(x).dims[2], gates, channels});
  const TensorId iter = b.weights(name + "_iter", {1, directions, channels, gates, channels});
  const TensorId bias = b.weights(name + "_bias", {1, directions, gates, channels});
  return b.graph.add(Kind::rnn, attributes, {x, kNone, kNone, layer, iter, bias})[0];
}

}  // namespace

Graph mobilenet_v2(const ModelBuildOptions& options) {
  struct Row {
    int64_t expansion, channels, count, stride;
  };
  static constexpr std::array<Row, 7> kRows = {
      {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
  NetworkBuilder b(options);
  TensorId x = b.relu6(b.normalized(b.convolution(b.image(), options.channels, {.stride = 2})));
  for (const Row& row : kRows) {
    for (int64_t i = 0; i < row.count; ++i) {
      x = inverted_residual(b, x, row.expansion, b.scaled(row.channels, 32), i == 0 ? row.stride : 1);
    }
  }
  x = b.relu6(b.normalized(b.convolution(x, b.scaled(1280, 32), {.kernel = 1})));
  b.graph.output(b.scores(x));
  return b.finish();
}

Graph unet(const ModelBuildOptions& options) {
  constexpr int kLevels = 3;
  NetworkBuilder b(options);
  const auto twice = [&](TensorId x, int64_t out) { return b.conv_relu(b.conv_relu(x, out, {}), out, {}); };
  std::vector<TensorId> skips;
  TensorId x = b.image();
  int64_t channels = options.channels;
  for (int level = 0; level < kLevels; ++level, channels *= 2) {
    skips.push_back(twice(x, channels));
    x = b.max_pool(skips.back());
  }
  x = twice(x, channels);
  for (int level = kLevels - 1; level >= 0; --level) {
    channels /= 2;
    const TensorId skip = skips[static_cast<std::size_t>(level)];
    const Dims& dims = b.graph.tensor(skip).dims;
    if (level > 0 && options.image % (1 << kLevels) == 0) {
      const TensorId w = b.weights("up" + std::to_string(level), {channels, 2 * channels, 2, 2});
      x = b.graph.deconvolution(x, w, kNone, {.strides = {2, 2}});
    } else {
      // The upsampled tensor gets the extents of the same level on the way down, which may have been odd.
      x = b.graph.add(Kind::resampling,
                      ResamplingAttributes{.algorithm = ResamplingAlgorithm::linear, .sizes = {dims[2], dims[3]}},
                      {x})[0];
      x = b.conv_relu(x, channels, {.kernel = 1});
    }
    x = twice(b.graph.concat({skip, x}), channels);
  }
  b.graph.output(b.graph.softmax(b.convolution(x, options.classes, {.kernel = 1, .bias = true})));
  return b.finish();
}

Graph shufflenet(const ModelBuildOptions& options) {
  constexpr int64_t kGroups = 4;
  NetworkBuilder b(options);
  TensorId x = b.max_pool(b.conv_norm_relu(b.image(), b.scaled(24, 24), {.stride = 2}), 3, 2, 1);
  for (const auto& [channels, count] : {std::pair{272, 4}, std::pair{544, 6}, std::pair{1088, 4}}) {
    for (int i = 0; i < count; ++i) x = shuffle_unit(b, x, b.scaled(channels, 24), kGroups);
  }
  b.graph.output(b.graph.softmax(b.scores(x)));
  return b.finish();
}

Graph ssd(const ModelBuildOptions& options) {
  constexpr int64_t kAnchors = 3;
  NetworkBuilder b(options);
  const auto leaky = [&](TensorId x, int64_t out, NetworkBuilder::ConvolutionWindow window) {
    return b.graph.eltwise(b.normalized(b.convolution(x, out, window)), {.alpha = 0.1});
  };
  TensorId x = leaky(b.image(), options.channels, {.stride = 2});
  std::vector<TensorId> boxes, scores;
  for (int level = 0; level < 3; ++level) {
    x = leaky(x, 2 * b.channels(x), {.stride = 2});
    x = leaky(leaky(x, b.channels(x) / 2, {.kernel = 1}), b.channels(x), {});
    const Dims& dims = b.graph.tensor(x).dims;
    const int64_t places = dims[2] * dims[3] * kAnchors;
    // One row for each anchor: the boxes or scores of the pixels one after the other.
    const auto rows = [&](int64_t each) {
      const TensorId head = b.convolution(x, kAnchors * each, {.bias = true});
      return b.graph.reshape(b.graph.transpose(head, {0, 2, 3, 1}), {options.batch, places, each});
    };
    boxes.push_back(rows(4));
    scores.push_back(rows(options.classes));
  }
  b.graph.output(b.graph.concat(boxes, 1));
  b.graph.output(b.graph.softmax(b.graph.concat(scores, 1), {.axis = 2}));
  b.graph.output(x);
  return b.finish();
}

Graph densenet(const ModelBuildOptions& options) {
  NetworkBuilder b(options);
  const int64_t growth = b.scaled(32, 64);
  TensorId x = b.max_pool(b.conv_norm_relu(b.image(), options.channels, {.kernel = 7, .stride = 2}), 3, 2, 1);
  for (const int layers : {3, 4, 4}) {
    for (int i = 0; i < layers; ++i) x = dense_layer(b, x, growth);
    if (b.graph.tensor(x).dims[2] < 4) continue;
    x = b.convolution(b.relu(b.normalized(x)), b.channels(x) / 2, {.kernel = 1});
    x = b.pool(x, PoolingAlgorithm::average_include_padding, 2, 2);
  }
  b.graph.output(b.scores(b.relu(b.normalized(x))));
  return b.finish();
}

Graph inception(const ModelBuildOptions& options) {
  NetworkBuilder b(options);
  const auto module = [&](TensorId x, std::array<int64_t, 6> out) {
    for (int64_t& channels : out) channels = b.scaled(channels, 64);
    return inception_module(b, x, out);
  };
  TensorId x = b.conv_relu(b.image(), options.channels, {.kernel = 7, .stride = 2});
  x = b.conv_relu(lrn(b, b.max_pool(x, 3, 2, 1)), b.scaled(192, 64), {});
  x = b.max_pool(lrn(b, x), 3, 2, 1);
  x = module(x, {64, 96, 128, 16, 32, 32});
  x = b.max_pool(module(x, {128, 128, 192, 32, 96, 64}), 3, 2, 1);
  x = module(x, {192, 96, 208, 16, 48, 64});
  b.graph.output(b.graph.softmax(b.scores(x)));
  return b.finish();
}

Graph lstm(const ModelBuildOptions& options) {
  NetworkBuilder b(options);
  const TensorId x = b.graph.input("sequence", {options.image, options.batch, options.channels});
  const TensorId both =
      recurrent_layer(b, "lstm", x, {RnnCell::lstm, RnnDirection::bidirectional_concat}, 2 * options.channels);
  const TensorId y = recurrent_layer(b, "gru", both, {RnnCell::gru}, options.channels);
  const Dims& dims = b.graph.tensor(y).dims;
  const SliceAttributes last{{dims[0] - 1, 0, 0}, dims, {1, 1, 1}};
  const TensorId state = b.graph.reshape(b.graph.add(Kind::slice, last, {y})[0], {options.batch, options.channels});
  b.graph.output(b.graph.softmax(b.dense(state, options.classes)));
  return b.finish();
}

Graph small_cnn(const ModelBuildOptions& options) {
  NetworkBuilder b(options);
  TensorId x = b.max_pool(b.conv_relu(b.image(), options.channels, {}));
  x = b.relu(b.normalized(b.convolution(x, 2 * options.channels, {.stride = 2, .bias = true})));
  x = b.conv_relu(x, 2 * options.channels, {});
  b.graph.output(b.scores(x));
  return b.finish();
}

std::span<const ModelBuilder> models() {
  static constexpr std::array<ModelBuilder, 8> kModels = {{{"mobilenet_v2", mobilenet_v2},
                                                           {"unet", unet},
                                                           {"shufflenet", shufflenet},
                                                           {"ssd", ssd},
                                                           {"densenet", densenet},
                                                           {"inception", inception},
                                                           {"lstm", lstm},
                                                           {"small_cnn", small_cnn}}};
  return kModels;
}

}  // namespace relayout::graph
