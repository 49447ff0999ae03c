// Runs the cheapest plans of models from .onnx files. They compute what the float64 reference does, and padding is
// checked after every step.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/simplify.h"
#include "tests/support/nodes.h"
#include "tests/support/run_model.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::TensorId;
using graph::Values;

/// RELAYOUT_MODELS names the folder. Weights are random, because files may have none.
TEST(OptimizeFiles, CheapestPlansEqualTheReference) {
  const char* folder = std::getenv("RELAYOUT_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "set RELAYOUT_MODELS to a folder of .onnx files";
  if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  const auto backend = onednn_backend(1);
  const auto costs = graph::analytic_costs({.flops_per_us = 50000,
                                            .near_bytes_per_us = 50000,
                                            .cache_bytes_per_us = 25000,
                                            .memory_bytes_per_us = 10000,
                                            .call_us = 1},
                                           *backend);
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".onnx") continue;
    SCOPED_TRACE(file.path().filename());
    Graph graph = graph::read_onnx(file.path(), {.batch = 1, .random_weights = 1}).graph;
    std::mt19937 rng(5);
    std::vector<Values> inputs;
    for (TensorId t : graph.inputs) {
      Values& values = inputs.emplace_back(test::random_values(*checked_product(graph.tensor(t).dims), rng));
      for (double& x : values) x = static_cast<double>(static_cast<float>(x));
    }
    const std::vector<Values> want = graph::evaluate(graph, inputs);
    graph::simplify(graph);
    for (TensorId t : graph.inputs) graph.tensor(t).layout = Layout::contiguous(graph.tensor(t).dims);
    const graph::OptimalPlan best = graph::optimize(graph, *backend, *costs);
    EXPECT_TRUE(best.optimal);
    EXPECT_NEAR(graph::predict(graph, best.plan, *costs).total(), best.cost_us, 1e-6 * best.cost_us + 1e-3);
    Model model(graph, best.plan, *backend, {.check_padding = true});
    const std::vector<Values> got = test::run_model(model, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) test::expect_outputs_near(got[i], want[i], 1e-4);
    std::cout << file.path().filename().string() << ": " << graph.nodes.size() << " nodes, "
              << best.plan.reorders(graph).size() << " reorders\n";
  }
}

}  // namespace
}  // namespace relayout::execute
