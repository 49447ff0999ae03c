// Runs plans of random graphs of inference whose nodes have post-ops: by any assignment of the choices, and the
// cheapest ones by random costs. They compute what the float64 reference makes of the graphs before nodes were merged,
// and padding, which is poisoned before every step, is zero after it.
#include <gtest/gtest.h>

#include <iostream>

#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/fuse.h"
#include "tests/support/optimize_fixture.h"
#include "tests/support/random_graph.h"
#include "tests/support/simple_costs.h"
#include "tests/support/slow_tests.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::Values;

/// The nodes of plans that have post-ops, by who computes these.
struct FusedCounts {
  int elementwise = 0, by_library = 0, behind = 0;

  int nodes() const { return elementwise + by_library + behind; }
  void add(const Graph& graph, const graph::LayoutPlan& plan) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].post_ops.empty()) continue;
      const std::string& name = plan.nodes[n].implementation;
      (name == "relayout:fused" ? elementwise : name.ends_with("+relayout:fused") ? behind : by_library) += 1;
    }
  }
};

bool has_post_ops(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const graph::Node& node) { return !node.post_ops.empty(); });
}

TEST_F(Optimize, PoliciesReorderNothingToWhereElementsShareMemory) {
  // The layout of the largest source, whose heads share elements, is requested of the constant that is added, too.
  Graph graph;
  const graph::TensorId x = graph.input("x", {1, 3, 1, 1, 6}, DType::f32, Format::parse("acdeb"));
  const graph::TensorId shared = graph.add(graph::Kind::broadcast, graph::BroadcastAttributes{{1, 3, 2, 1, 6}}, {x})[0];
  const graph::TensorId keys = graph.add(graph::Kind::reshape, graph::ReshapeAttributes{{1, 6, 1, 6}}, {shared})[0];
  const graph::TensorId queries = graph.input("q", {1, 6, 1, 1}, DType::f32, Format::parse("nchw"));
  const graph::TensorId c = graph.constant("c", {1, 6, 1, 6}, std::vector<float>(36, 0.5f));
  const graph::TensorId scores = graph.add(graph::Kind::matmul, graph::MatmulAttributes{}, {queries, keys})[0];
  graph.output(graph.binary(graph.eltwise(scores, {graph::EltwiseAlgorithm::tanh}), c));
  const std::vector<Values> inputs = test::random_inputs(graph, 1), want = graph::evaluate(graph, inputs);
  graph::fuse(graph);
  ASSERT_TRUE(has_post_ops(graph));
  for (const graph::Policy policy : test::all_policies()) {
    SCOPED_TRACE(name(policy));
    expect_equal(graph, graph::propagate(graph, *backend_, {.policy = policy}), inputs, want, 1e-5);
  }
}

TEST_F(Optimize, PlansOfRandomGraphsWithPostOpsRun) {
  const int plans = test::slow_tests() ? 3000 : 600;
  FusedCounts fused;
  for (unsigned seed = 0; counts_.graphs < plans && !HasFailure(); ++seed) {
    ASSERT_LT(seed, static_cast<unsigned>(plans)) << "too few of the graphs have nodes that are merged";
    SCOPED_TRACE("seed " + std::to_string(seed));
    const test::RandomGraph random(seed, 8, DType::f32, graph::Pass::forward_inference);
    std::vector<Values> values = random.values;
    for (Values& v : values) {
      for (double& x : v) x = static_cast<double>(static_cast<float>(x));
    }
    const std::vector<Values> want = graph::evaluate(random.graph, values);
    Graph graph = random.graph;
    graph::fuse(graph);
    if (!has_post_ops(graph)) continue;
    const auto run = [&](const graph::LayoutPlan& plan, int threads) {
      fused.add(graph, plan);
      // Where all results are 0, such as logarithms of a softmax of one element, the library's are up to 1.5e-6.
      expect_equal(graph, plan, values, want, 2e-3, threads);
    };
    test::RandomCosts costs(seed, 0.3);
    const graph::OptimalPlan best = graph::optimize(graph, *backend_, costs);
    EXPECT_TRUE(best.optimal);
    EXPECT_NEAR(graph::predict(graph, best.plan, costs).total(), best.cost_us, 1e-3);
    run(best.plan, 1);
    for (unsigned round = 0; round < 2 && !HasFailure(); ++round) {
      std::mt19937 rng(seed + round);
      const solve::Assignment assignment = random_assignment(best.space.problem, rng);
      EXPECT_LE(best.cost_us, solve::cost_of(best.space.problem, assignment) + 1e-9);
      run(plan_of(graph, *backend_, best.space, assignment), 1 + static_cast<int>(round));
    }
  }
  std::cout << counts_ << "\n"
            << fused.nodes() << " nodes with post-ops: " << fused.elementwise << " elementwise, " << fused.by_library
            << " products by the library, " << fused.behind << " with a pass behind\n";
  EXPECT_GE(counts_.graphs, plans);
  EXPECT_GE(fused.nodes(), plans);
  for (const int each : {fused.elementwise, fused.by_library, fused.behind}) EXPECT_GT(each, plans / 50);
}

}  // namespace
}  // namespace relayout::execute
