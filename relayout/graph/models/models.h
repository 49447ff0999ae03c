// Models: networks of the kinds people run, built with Graph calls and random weights, of any size.
//
// They serve tests, examples and measurements that should not need a file. Their structure is that of the papers that
// they are named after, with fewer layers where more layers of the same kind would show nothing new. Weights are
// random.
//
//     Graph g = mobilenet_v2({.batch = 8, .image = 224, .channels = 32, .classes = 1000});     // the paper's size
//     for (const ModelBuilder& model : models()) model.build({.image = 64});
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

struct ModelBuildOptions {
  int64_t batch = 1;
  /// Height and width of the source, or the steps of a sequence: 32 or more.
  int64_t image = 32;
  /// Channels of the first layer, 8 or more; all other layers are in proportion. Multiples of 16 need no padding in
  /// blocked layouts.
  int64_t channels = 8;
  int64_t classes = 10;
  uint64_t seed = 1;
  /// forward_inference or forward_training.
  Pass pass = Pass::forward_inference;
};

/// Sandler et al. 2018: inverted residuals, depthwise convolutions, bounded relu. Scores of classes.
Graph mobilenet_v2(const ModelBuildOptions& options = {});
/// Ronneberger et al. 2015: down and up again, with concats across. Probabilities of classes at each pixel.
Graph unet(const ModelBuildOptions& options = {});
/// Zhang et al. 2017: grouped convolutions and channel shuffles. Probabilities of classes.
Graph shufflenet(const ModelBuildOptions& options = {});
/// Liu et al. 2016: heads on three scales. Three outputs: boxes N x anchors x 4, scores N x anchors x classes, and the
/// coarsest features.
Graph ssd(const ModelBuildOptions& options = {});
/// Huang et al. 2016: each layer reads all those before it in its block. Scores of classes.
Graph densenet(const ModelBuildOptions& options = {});
/// Szegedy et al. 2014: four branches side by side, with LRN. Probabilities of classes.
Graph inception(const ModelBuildOptions& options = {});
/// A bidirectional LSTM, then a GRU, over T N C. Probabilities of classes after the last step.
Graph lstm(const ModelBuildOptions& options = {});
/// Three convolutions, small enough to train in a test. Scores of classes. Its weights are called w1 b1 w2 b2 ....
Graph small_cnn(const ModelBuildOptions& options = {});

/// A model's name, and the function that makes its graph.
struct ModelBuilder {
  std::string_view name;
  Graph (*build)(const ModelBuildOptions& options);
};
/// All models of this file.
std::span<const ModelBuilder> models();

/// How the names of these models begin where a file could stand as well.
inline constexpr std::string_view kNamedModel = "model:";
/// The model "model:NAME[,image=N][,channels=N]", with an image of 64 and 16 channels unless the text says others; the
/// rest is of the options. Errors: invalid_argument (a name or a word that is not known, more than 16384, and what the
/// model refuses), parse (a number).
///
///     Graph g = named_model("model:small_cnn,image=32", {.batch = 8});
Graph named_model(const std::string& text, ModelBuildOptions options);

}  // namespace relayout::graph
