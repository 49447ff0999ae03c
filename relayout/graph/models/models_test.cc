// The project's own models: their shapes and sizes; their values neither vanish nor overflow; equal seeds give equal
// weights.
#include "relayout/graph/models/models.h"

#include <gtest/gtest.h>

#include <cmath>

#include "relayout/graph/models/random_weights.h"
#include "relayout/graph/reference/reference.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using relayout::test::code_of;

std::vector<Values> outputs_of(const Graph& graph) {
  std::vector<Values> inputs;
  for (const TensorId id : graph.inputs) {
    const Tensor& tensor = graph.tensor(id);
    const double most = std::sqrt(3.0);
    inputs.push_back(load(*random_data(tensor.dims, DType::f32, tensor.name, 9, -most, most), DType::f32,
                          *checked_product(tensor.dims)));
  }
  return evaluate(graph, inputs);
}

std::vector<Dims> dims_of(const Graph& graph) {
  std::vector<Dims> out;
  for (const TensorId id : graph.outputs) out.push_back(graph.tensor(id).dims);
  return out;
}

double mean_square(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

TEST(Models, OutputsAndTheirDims) {
  const ModelBuildOptions options{.batch = 2, .image = 64, .channels = 12, .classes = 5};
  EXPECT_EQ(dims_of(mobilenet_v2(options)), (std::vector<Dims>{{2, 5}}));
  EXPECT_EQ(dims_of(unet(options)), (std::vector<Dims>{{2, 5, 64, 64}}));
  EXPECT_EQ(dims_of(shufflenet(options)), (std::vector<Dims>{{2, 5}}));
  const int64_t places = 3 * (16 * 16 + 8 * 8 + 4 * 4);
  EXPECT_EQ(dims_of(ssd(options)), (std::vector<Dims>{{2, places, 4}, {2, places, 5}, {2, 96, 4, 4}}));
  EXPECT_EQ(dims_of(densenet(options)), (std::vector<Dims>{{2, 5}}));
  EXPECT_EQ(dims_of(inception(options)), (std::vector<Dims>{{2, 5}}));
  EXPECT_EQ(dims_of(lstm(options)), (std::vector<Dims>{{2, 5}}));
  EXPECT_EQ(dims_of(small_cnn(options)), (std::vector<Dims>{{2, 5}}));
  // Upsampling restores odd extents that were halved.
  EXPECT_EQ(dims_of(unet({.image = 45})), (std::vector<Dims>{{1, 10, 45, 45}}));
}

TEST(Models, AreBuiltForTraining) {
  for (const ModelBuilder& model : models()) {
    const Graph graph = model.build({.pass = Pass::forward_training});
    for (const Node& node : graph.nodes) {
      EXPECT_EQ(node.pass, Pass::forward_training) << model.name << " " << node.name;
      if (node.kind == Kind::batch_normalization) {
        EXPECT_EQ(node.dst.size(), 3u);
      }
    }
  }
}

TEST(Models, MobilenetHasThePapersParameters) {
  const Graph graph = mobilenet_v2({.image = 224, .channels = 32, .classes = 1000});
  int64_t count = 0;
  for (const Tensor& tensor : graph.tensors) {
    const bool statistic = tensor.name.starts_with("mean") || tensor.name.starts_with("variance");
    if (tensor.constant() && !statistic) count += *checked_product(tensor.dims);
  }
  EXPECT_EQ(count, 3504872);
}

TEST(Models, ValuesNeitherDieNorGrow) {
  for (const ModelBuilder& model : models()) {
    const Graph graph = model.build({.image = 32});
    const std::vector<Values> out = outputs_of(graph);
    for (std::size_t i = 0; i < out.size(); ++i) {
      SCOPED_TRACE(std::string(model.name) + " " + std::to_string(i));
      const Node& last = graph.node(producers(graph)[static_cast<std::size_t>(graph.outputs[i])]);
      double most = 0;
      for (const double value : out[i]) most = std::max(most, std::abs(value));
      // If one class had all the probability, errors in the layers before the softmax would not show.
      EXPECT_LT(most, last.kind == Kind::softmax ? 0.99 : 30);
      EXPECT_GT(mean_square(out[i]), 1e-3);
      EXPECT_LT(mean_square(out[i]), 10);
    }
  }
}

TEST(Models, SeedsDecide) {
  for (const ModelBuilder& model : models()) {
    const auto first = outputs_of(model.build({})), again = outputs_of(model.build({}));
    const auto other = outputs_of(model.build({.seed = 2}));
    EXPECT_EQ(first, again) << model.name;
    EXPECT_NE(first, other) << model.name;
  }
}

TEST(Models, RefuseWhatIsTooSmall) {
  for (const ModelBuilder& model : models()) {
    EXPECT_EQ(code_of([&] { model.build({.image = 16}); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of([&] { model.build({.channels = 4}); }), ErrorCode::invalid_argument);
  }
}

TEST(Models, AreFoundByTheirNames) {
  const auto dims_of_image = [](const Graph& g) { return g.tensor(g.inputs[0]).dims; };
  EXPECT_EQ(dims_of_image(named_model("model:unet", {})), (Dims{1, 3, 64, 64}));
  const Graph small = named_model("model:small_cnn,image=32,channels=8", {.batch = 3});
  EXPECT_EQ(outputs_of(small), outputs_of(small_cnn({.batch = 3, .image = 32, .channels = 8})));
  for (const char* text : {"model:", "model:net", "model:unet,", "model:unet,depth=3", "model:unet,image=16385"})
    EXPECT_EQ(code_of([&] { named_model(text, {}); }), ErrorCode::invalid_argument) << text;
  for (const char* text : {"model:unet,image", "model:unet,image=x"})
    EXPECT_EQ(code_of([&] { named_model(text, {}); }), ErrorCode::parse) << text;
}

TEST(RandomData, IsByKeyAndSeedInRange) {
  const auto draw = [](std::string_view key, uint64_t seed) {
    return load(*random_data({10000}, DType::f32, key, seed, -2, 4), DType::f32, 10000);
  };
  const Values values = draw("w", 1);
  double sum = 0;
  for (const double value : values) {
    EXPECT_TRUE(value >= -2 && value <= 4);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 1, 0.1);
  EXPECT_EQ(draw("w", 1), values);
  EXPECT_NE(draw("w", 2), values);
  EXPECT_NE(draw("v", 1), values);
  EXPECT_EQ(code_of([] { random_data({1}, DType::u8, "w", 1, 0, 1); }), ErrorCode::unsupported);
}

}  // namespace
}  // namespace relayout::graph
