// A net of two thousand nodes: its cheapest plan is found and proven, and the backend is asked about each different
// node once. (bench/propagation says how long planning takes.)
#include <gtest/gtest.h>

#include "relayout/execute/measure/remembering_backend.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/optimize/optimize.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::kNone;
using graph::TensorId;

constexpr int kBlocks = 400;

/// Blocks of two convolutions beside a connection past them.
Graph residual_net() {
  constexpr int64_t kChannels = 64;
  constexpr graph::EltwiseAttributes kRelu{.algorithm = graph::EltwiseAlgorithm::relu};
  Graph graph;
  TensorId x = graph.input("x", {1, kChannels, 28, 28});
  const auto convolution = [&](TensorId from, int64_t kernel, int block) {
    const Dims dims{kChannels, kChannels, kernel, kernel};
    const std::vector<float> weights(static_cast<std::size_t>(kChannels * kChannels * kernel * kernel), 0.01f);
    const std::string name = std::to_string(block) + "_" + std::to_string(kernel);
    const Dims pads{kernel / 2, kernel / 2};
    return graph.convolution(from, graph.constant(name, dims, weights), kNone, {.pads_begin = pads, .pads_end = pads});
  };
  for (int block = 0; block < kBlocks; ++block) {
    const TensorId inner = graph.eltwise(convolution(x, 1, block), kRelu);
    x = graph.eltwise(graph.sum({x, convolution(inner, 3, block)}), kRelu);
  }
  graph.output(x);
  return graph;
}

TEST(OptimizeLarge, TwoThousandNodesHaveAProvenCheapestPlan) {
  if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  const auto onednn = onednn_backend(1);
  const auto backend = remembering_backend(*onednn, {});
  const auto costs = graph::analytic_costs({.flops_per_us = 100000,
                                            .near_bytes_per_us = 90000,
                                            .cache_bytes_per_us = 45000,
                                            .memory_bytes_per_us = 20000,
                                            .call_us = 0.5,
                                            .step_us = 0.5},
                                           *backend);
  const Graph graph = residual_net();
  ASSERT_EQ(graph.nodes.size(), 2000u);
  const graph::OptimalPlan best = graph::optimize(graph, *backend, *costs);
  EXPECT_TRUE(best.optimal);
  // There are 400 equal blocks of five nodes, and each node needs a few questions. They are asked once, not for every
  // block.
  EXPECT_LT(backend->asked(), 400);
  const int64_t asked = backend->asked();
  const graph::OptimalPlan again = graph::optimize(graph, *backend, *costs);
  EXPECT_EQ(backend->asked(), asked);
  EXPECT_EQ(again.cost_us, best.cost_us);
}

}  // namespace
}  // namespace relayout::execute
