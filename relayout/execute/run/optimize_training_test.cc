// The cheapest plans of ShuffleNet in training layouts, where greedy propagation reorders before most primitives.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/backward.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/plan/propagate.h"
#include "tests/support/run_model.h"
#include "tests/support/simple_costs.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::TensorId;

class OptimizeTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
  }

  /// The plan of the forward pass has few reorders and no slow primitive, and costs at least a tenth less than every
  /// policy's.
  void check_forward(Graph graph) {
    graph::simplify(graph);
    for (const auto* list : {&graph.inputs, &graph.outputs}) {
      for (TensorId t : *list) graph.tensor(t).layout = Layout::contiguous(graph.tensor(t).dims);
    }
    // The speeds are those of a Zen 4 core.
    const auto costs = graph::analytic_costs({.flops_per_us = 100000,
                                              .near_bytes_per_us = 90000,
                                              .cache_bytes_per_us = 45000,
                                              .memory_bytes_per_us = 20000,
                                              .call_us = 0.5,
                                              .step_us = 0.5},
                                             *backend_);
    const graph::OptimalPlan best = graph::optimize(graph, *backend_, *costs);
    EXPECT_TRUE(best.optimal);
    const graph::PlanTotals mine = totals(graph, best.plan);
    EXPECT_EQ(mine.reference_primitives, 0);
    std::cout << mine.reorders << " reorders, " << best.cost_us << " us";
    for (int p = 0; p < graph::kPolicyCount; ++p) {
      const auto policy = static_cast<graph::Policy>(p);
      const graph::LayoutPlan rival = propagate(graph, *backend_, {.policy = policy, .block = channel_block()});
      const double us = predict(graph, rival, *costs).total();
      EXPECT_LT(best.cost_us, 0.9 * us) << name(policy);
      const int64_t reorders = totals(graph, rival).reorders;
      std::cout << "; " << name(policy) << " " << reorders << ", " << us << " us";
      if (policy == graph::Policy::any) {
        EXPECT_LE(2 * mine.reorders, reorders);
      }
    }
    std::cout << "\n";
  }

  std::unique_ptr<graph::Backend> backend_;
};

TEST_F(OptimizeTraining, ForwardPass) {
  if (channel_block() != 16) GTEST_SKIP() << "the costs are of AVX-512";
  check_forward(graph::shufflenet({.image = 224, .channels = 32, .pass = graph::Pass::forward_training}));
}

TEST_F(OptimizeTraining, ForwardPassOfAFile) {
  const char* folder = std::getenv("RELAYOUT_MODELS");
  const auto file = std::filesystem::path(folder ? folder : "") / "light_shufflenet.onnx";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "set RELAYOUT_MODELS to a folder of .onnx files";
  if (channel_block() != 16) GTEST_SKIP() << "the costs are of AVX-512";
  check_forward(graph::read_onnx(file, {.batch = 1, .random_weights = 1, .pass = graph::Pass::forward_training}).graph);
}

TEST_F(OptimizeTraining, AStepNeedsNoReordersByBytes) {
  Graph graph = graph::shufflenet({.image = 64, .channels = 24, .pass = graph::Pass::forward_training});
  graph::append_training(graph);
  test::ByteCosts costs;
  const graph::OptimalPlan best = graph::optimize(graph, *backend_, costs);
  EXPECT_TRUE(best.optimal);
  EXPECT_LE(best.plan.reorders(graph).size(), 2U);
  if (totals(graph, best.plan).reference_primitives == 0) return;
  // Slow references run only where the backend has nothing else for this processor, so that every policy has them too.
  for (const graph::Policy policy : test::all_policies()) {
    const graph::LayoutPlan rival = propagate(graph, *backend_, {.policy = policy, .block = channel_block()});
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      EXPECT_TRUE(!best.plan.nodes[n].reference || rival.nodes[n].reference)
          << name(policy) << ": " << graph.nodes[n].name;
    }
  }
}

}  // namespace
}  // namespace relayout::execute
