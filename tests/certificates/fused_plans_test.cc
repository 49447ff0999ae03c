// Cheapest plans of small random graphs whose nodes have post-ops: each costs what the cheapest of all combinations of
// choices costs, all of them tried, and the checker accepts the solver's certificate of it.
#include <gtest/gtest.h>

#include <iostream>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/fuse.h"
#include "tests/certificates/listed.h"
#include "tests/support/layout_problems.h"
#include "tests/support/random_graph.h"
#include "tests/support/simple_costs.h"

namespace relayout::tools::proof {
namespace {

/// Whether all combinations of choices, and of places of each tensor, can be tried in a moment.
bool is_small(const solve::LayoutProblem& problem) {
  double combinations = 1;
  for (const solve::ProblemOperation& op : problem.operations) combinations *= static_cast<double>(op.choices.size());
  const auto few = [](const solve::ProblemTensor& tensor) { return tensor.placements <= 12; };
  return combinations <= 20000 && std::ranges::all_of(problem.tensors, few);
}

TEST(FusedPlans, CostWhatTheCheapestOfAllCombinationsCosts) {
  if (!execute::has_onednn()) GTEST_SKIP() << "built without oneDNN";
  const auto backend = execute::onednn_backend(1);
  int compared = 0, nodes = 0, with_choice = 0;
  for (unsigned seed = 0; compared < 200; ++seed) {
    ASSERT_LT(seed, 3000u) << "too few graphs are small and have nodes that are merged";
    graph::Graph graph =
        test::RandomGraph(seed, 2 + static_cast<int>(seed % 4), DType::f32, graph::Pass::forward_inference).graph;
    graph::fuse(graph);
    const auto fused = [](const graph::Node& node) { return !node.post_ops.empty(); };
    if (std::ranges::none_of(graph.nodes, fused)) continue;
    test::RandomCosts costs(seed, 0.3);
    const graph::OptimizeOptions options{.blocks = {8}};
    const graph::ChoiceSpace space = graph::choice_space(graph, *backend, costs, options);
    if (!is_small(space.problem)) continue;
    const auto all = solve::cases::BruteForce(space.problem).run();
    ASSERT_FALSE(all.empty()) << seed;
    const graph::OptimalPlan best = graph::optimize(graph, *backend, costs, options);
    EXPECT_TRUE(best.optimal) << seed;
    EXPECT_NEAR(best.cost_us, all[0].cost, 1e-9) << seed;
    const Problem listed = problem_of(space.problem);
    EXPECT_NEAR(cost(listed, chosen_of(best.solution.assignment)), all[0].cost, 1e-9) << seed;
    EXPECT_NEAR(lower_bound(listed, certificate_of(space.problem, best.solution.certificate)), all[0].cost, 1e-9)
        << seed;
    ++compared;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      nodes += fused(graph.nodes[n]);
      with_choice += fused(graph.nodes[n]) && space.choices[n].size() > 1;
    }
  }
  std::cout << compared << " graphs, " << nodes << " nodes with post-ops, " << with_choice
            << " of them with a choice\n";
  EXPECT_GT(with_choice, 150);
}

}  // namespace
}  // namespace relayout::tools::proof
