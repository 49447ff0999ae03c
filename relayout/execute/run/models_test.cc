// The project's models, random graphs and a training loop under every policy, against the float64 reference, with
// padding checked after every step.
#include "relayout/graph/models/models.h"

#include <gtest/gtest.h>

#include <iostream>

#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/passes/backward.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/plan/propagate.h"
#include "tests/support/random_graph.h"
#include "tests/support/run_model.h"
#include "tests/support/slow_tests.h"
#include "tests/support/small_net.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::Policy;
using graph::TensorId;
using graph::Values;

class ModelsUnder : public testing::TestWithParam<Policy> {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  }
  static Model model(const Graph& graph, int threads) {
    const auto backend = onednn_backend(threads);
    return Model(graph, propagate(graph, *backend, {.policy = GetParam()}), *backend, {.check_padding = true});
  }
};

TEST_P(ModelsUnder, EqualTheReference) {
  for (const graph::ModelBuilder& each : graph::models()) {
    // On one thread channels do not fill blocks, on two they do.
    for (int threads : {1, 2}) {
      const int64_t channels = 8 + 4 * threads;
      SCOPED_TRACE(std::string(each.name) + ", channels " + std::to_string(channels));
      Graph graph = each.build({.batch = 2, .image = 33, .channels = channels});
      const std::vector<Values> inputs = test::random_inputs(graph, 5);
      const std::vector<Values> want = graph::evaluate(graph, inputs);
      graph::simplify(graph);
      for (TensorId t : graph.inputs) graph.tensor(t).layout = Layout::contiguous(graph.tensor(t).dims);
      Model m = model(graph, threads);
      const std::vector<Values> got = test::run_model(m, inputs);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) test::expect_outputs_near(got[i], want[i], 1e-4);
    }
  }
}

TEST_P(ModelsUnder, RandomGraphsAndTheirGradientsEqualTheReference) {
  int nodes = 0, graphs = 0;
  for (unsigned seed = 0; seed < (test::slow_tests() ? 100 : 40) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::RandomGraph random(seed, 6, DType::f32);
    Graph graph = random.graph;
    std::vector<Values> values = random.values;
    const std::vector<TensorId> wrt = graph.inputs;
    std::mt19937 rng(seed);
    for (TensorId t : graph::append_backward(graph, wrt).diff_outputs) {
      values.push_back(test::random_values(test::elements(graph, t), rng, -1, 1));
    }
    for (Values& v : values) {
      for (double& x : v) x = static_cast<double>(static_cast<float>(x));
    }
    const std::vector<Values> want = graph::evaluate(graph, values);
    Model m = model(graph, 1 + static_cast<int>(seed % 2));
    const std::vector<Values> got = test::run_model(m, values);
    for (std::size_t i = 0; i < got.size(); ++i) test::expect_outputs_near(got[i], want[i], 1e-3);
    nodes += static_cast<int>(graph.nodes.size());
    ++graphs;
  }
  std::cout << graphs << " graphs of " << nodes << " nodes\n";
}

TEST_P(ModelsUnder, ATrainingStepLowersTheLoss) {
  test::SmallNet net;
  const std::vector<TensorId> weights(net.graph.inputs.begin() + 1, net.graph.inputs.end());
  graph::append_backward(net.graph, weights);
  Model m = model(net.graph, 1);
  std::vector<Values> inputs = net.values;
  inputs.emplace_back();
  double first = 0, last = 0;
  for (int step = 0; step < 50; ++step) {
    // The gradient of the loss needs the probabilities. So the first pass runs with any gradient.
    inputs.back().assign(static_cast<std::size_t>(test::SmallNet::kBatch * test::SmallNet::kClasses), 0);
    Values diff;
    last = test::SmallNet::cross_entropy(test::run_model(m, inputs)[0], diff);
    if (step == 0) first = last;
    inputs.back() = diff;
    const std::vector<Values> out = test::run_model(m, inputs);
    for (std::size_t w = 0; w < weights.size(); ++w) {
      for (std::size_t i = 0; i < inputs[w + 1].size(); ++i) inputs[w + 1][i] -= 0.3 * out[w + 1][i];
    }
  }
  std::cout << "loss " << first << " -> " << last << "\n";
  EXPECT_LT(last, 0.2 * first);
}

INSTANTIATE_TEST_SUITE_P(Each, ModelsUnder, testing::ValuesIn(test::all_policies()),
                         [](const auto& policy) { return std::string(name(policy.param)); });

}  // namespace
}  // namespace relayout::execute
