// Models of f16, bf16 and f64: what the backend lacks in these types is computed in f32, and the outputs are those of
// the reference.
#include <gtest/gtest.h>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/passes/widen.h"
#include "tests/support/run_model.h"
#include "tests/support/simple_costs.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::Kind;
using graph::NodeId;

/// The graph with all its tensors of f32 in another type.
Graph in_type(Graph graph, DType dtype) {
  for (graph::Tensor& tensor : graph.tensors) {
    if (tensor.dtype != DType::f32) continue;
    if (tensor.constant()) {
      tensor.data = std::make_shared<const std::vector<std::byte>>(graph::store(graph::values_of(tensor), dtype));
    }
    tensor.dtype = dtype;
  }
  return graph;
}

const graph::ModelBuilder& model_called(std::string_view name) {
  return *std::ranges::find(graph::models(), name, &graph::ModelBuilder::name);
}

class ModelTypes : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
  }

  graph::Widened widen(Graph& graph) {
    return graph::widen(graph, [&](const Graph& g, NodeId n) { return graph::has_implementation(*backend_, g, n); });
  }

  std::unique_ptr<graph::Backend> backend_;
  test::ByteCosts costs_;
};

/// Of the largest value: what rounding to the type between nodes may change.
double tolerance_of(DType dtype) { return dtype == DType::bf16 ? 0.1 : dtype == DType::f16 ? 0.01 : 1e-4; }

TEST_P(ModelTypes, ModelsRun) {
  for (const std::string_view name : {"small_cnn", "densenet", "shufflenet"}) {
    SCOPED_TRACE(name);
    const Graph given = in_type(model_called(name).build({.batch = 2, .image = 32, .channels = 8}), GetParam());
    const std::vector<graph::Values> inputs = test::random_inputs(given, 3);
    const std::vector<graph::Values> expected = graph::evaluate(given, inputs);
    Graph graph = given;
    graph::simplify(graph);
    const graph::Widened changed = widen(graph);
    graph::simplify(graph);
    if (GetParam() != DType::bf16) {
      EXPECT_GT(changed.nodes, 0);
      EXPECT_EQ(changed.types, std::vector{GetParam()});
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) EXPECT_EQ(graph.tensor(graph.outputs[i]).dtype, GetParam());
    EXPECT_EQ(graph.tensor(graph.inputs[0]).dtype, GetParam());
    Model model(graph, graph::optimize(graph, *backend_, costs_).plan, *backend_, {.check_padding = true});
    const std::vector<graph::Values> got = test::run_model(model, inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      test::expect_outputs_near(got[i], expected[i], tolerance_of(GetParam()));
  }
}

TEST_P(ModelTypes, ParametersOfNormalizationsInTheTypeOfTheDataAreRefused) {
  // The library reads them as f32, whatever they are.
  for (const Kind kind : {Kind::batch_normalization, Kind::layer_normalization}) {
    SCOPED_TRACE(name(kind));
    Graph graph;
    std::vector<graph::TensorId> src{graph.input("x", {2, 8, 4, 8}, GetParam())};
    for (const char* name : {"scale", "shift", "mean", "variance"}) {
      if (kind == Kind::layer_normalization && src.size() == 3) break;
      const graph::Values values{1, 2, 3, 4, 5, 6, 7, 8};
      src.push_back(graph.constant(name, {8}, GetParam(),
                                   std::make_shared<const std::vector<std::byte>>(graph::store(values, GetParam()))));
    }
    graph.output(graph.add(kind, graph::NormalizationAttributes{.axis = 3}, src)[0]);
    EXPECT_FALSE(graph::has_implementation(*backend_, graph, 0));
    const std::vector<graph::Values> inputs = test::random_inputs(graph, 3);
    const std::vector<graph::Values> expected = graph::evaluate(graph, inputs);
    widen(graph);
    Model model(graph, graph::optimize(graph, *backend_, costs_).plan, *backend_);
    test::expect_outputs_near(test::run_model(model, inputs)[0], expected[0], tolerance_of(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ModelTypes, testing::Values(DType::f16, DType::bf16, DType::f64),
                         [](const auto& of) { return std::string(name(of.param)); });

}  // namespace
}  // namespace relayout::execute
