// Malformed layout problems are refused; assignments cost what their choices and reorders do; a tensor's reorders are
// the cheapest.
#include "relayout/solve/problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "relayout/solve/assign.h"
#include "tests/support/layout_problems.h"

namespace relayout::solve {
namespace {

/// An input in placement 0, a convolution that is expensive in placement 0, and an output that needs placement 0.
LayoutProblem small_problem() {
  const ProblemTensor tensor{2, {0, 2, 3, 0}};
  return {.tensors = {tensor, tensor},
          .operations = {{.dst = {0}, .choices = {{.dst = {0}}}},
                         {.src = {0},
                          .dst = {1},
                          .choices = {{.src = {1}, .dst = {0}, .cost = 10}, {.src = {2}, .dst = {1}, .cost = 4}}},
                         {.src = {1}, .choices = {{.src = {1}}}}}};
}

TEST(LayoutProblem, ReordersArePaidWhereTheyPayOff) {
  LayoutProblem problem = small_problem();
  const Solution best = solve(problem);
  EXPECT_EQ(best.cost, 9);
  EXPECT_EQ(best.assignment.choice, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(best.assignment.reorders[0], (std::vector<PlacementReorder>{{0, 1}}));
  EXPECT_EQ(best.assignment.reorders[1], (std::vector<PlacementReorder>{{1, 0}}));
  problem.tensors[0].reorder[1] = 4;
  EXPECT_EQ(solve(problem).cost, 10);
}

TEST(LayoutProblem, CopiesAreSharedAndMadeInChains) {
  // A reorder from placement 0 to placement 2 is expensive, but not by way of placement 1, which another reader needs.
  const LayoutProblem problem = {.tensors = {{3, {0, 3, 9, 1, 0, 2, 1, 1, 0}}},
                                 .operations = {{.dst = {0}, .choices = {{.dst = {0}}}},
                                                {.src = {0}, .choices = {{.src = {2}}}},
                                                {.src = {0}, .choices = {{.src = {4}}}},
                                                {.src = {0}, .choices = {{.src = {4}}}}}};
  const Solution best = solve(problem);
  EXPECT_EQ(best.cost, 5);
  EXPECT_EQ(best.assignment.reorders[0], (std::vector<PlacementReorder>{{0, 1}, {1, 2}}));
}

TEST(LayoutProblem, AnAssignmentMustMakeWhatIsRead) {
  const LayoutProblem problem = small_problem();
  EXPECT_EQ(cost_of(problem, {{0, 0, 0}, {{}, {}}}), 10);
  EXPECT_EQ(cost_of(problem, {{0, 1, 0}, {{{0, 1}}, {{1, 0}}}}), 9);
  EXPECT_EQ(cost_of(problem, {{0, 1, 0}, {{{0, 1}}, {}}}), kImpossible);
  EXPECT_EQ(cost_of(problem, {{0, 1, 0}, {{}, {{1, 0}}}}), kImpossible);
  // No reorder makes the source of this one.
  EXPECT_EQ(cost_of(problem, {{0, 0, 0}, {{{1, 0}}, {}}}), kImpossible);
  EXPECT_THROW(cost_of(problem, {{0, 2, 0}, {{}, {}}}), std::invalid_argument);
  EXPECT_THROW(cost_of(problem, {{0, 0}, {{}, {}}}), std::invalid_argument);
  EXPECT_THROW(cost_of(problem, {{0, 0, 0}, {{{0, 2}}, {}}}), std::invalid_argument);
}

TEST(LayoutProblem, WhatHoldsNoSenseIsRefused) {
  const std::vector<std::function<void(LayoutProblem&)>> changes = {
      [](LayoutProblem& p) { p.tensors[0].placements = 33; },
      [](LayoutProblem& p) { p.tensors[0].placements = -1; },
      [](LayoutProblem& p) { p.tensors[0].reorder.pop_back(); },
      [](LayoutProblem& p) { p.tensors[0].reorder[1] = -1; },
      [](LayoutProblem& p) { p.tensors[0].reorder[1] = std::nan(""); },
      [](LayoutProblem& p) { p.operations[1].choices[0].cost = -1; },
      [](LayoutProblem& p) { p.operations[1].choices[0].cost = std::nan(""); },
      [](LayoutProblem& p) { p.operations[1].choices.clear(); },
      [](LayoutProblem& p) { p.operations[1].choices[0].src = {}; },
      [](LayoutProblem& p) {
        p.operations[1].choices[0].dst = {0, 0};
      },
      [](LayoutProblem& p) { p.operations[1].choices[0].src = {4}; },
      [](LayoutProblem& p) { p.operations[1].choices[0].dst = {2}; },
      [](LayoutProblem& p) { p.operations[1].choices[0].with_hint = {0}; },
      [](LayoutProblem& p) { p.operations[1].hint = 1; },
      [](LayoutProblem& p) { p.operations[1].src = {1}; },
      [](LayoutProblem& p) { p.operations[1].src = {2}; },
      [](LayoutProblem& p) { p.operations[1].dst = {0}; },
      [](LayoutProblem& p) { std::swap(p.operations[0], p.operations[1]); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    LayoutProblem problem = small_problem();
    changes[i](problem);
    EXPECT_THROW(solve(problem), std::invalid_argument) << "change " << i;
  }
}

TEST(LayoutProblem, WhatIsImpossibleIsAnErrorOfItsOwn) {
  LayoutProblem problem = small_problem();
  problem.operations[2].choices[0].src = {0};
  EXPECT_THROW(solve(problem), Infeasible);
}

TEST(LayoutProblem, CheapestReordersAreThoseOfAnyOrderOfReorders) {
  std::mt19937_64 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  int trees = 0;
  for (int round = 0; round < 300; ++round) {
    ProblemTensor tensor{1 + below(6), {}};
    for (int i = 0; i < tensor.placements * tensor.placements; ++i) {
      const bool diagonal = i % (tensor.placements + 1) == 0;
      tensor.reorder.push_back(diagonal ? 0 : below(6) == 0 ? kImpossible : below(50));
    }
    const int from = below(tensor.placements);
    for (PlacementSet placements = 0; placements < PlacementSet{1} << tensor.placements; ++placements) {
      // The same as a problem whose operations have one choice each, so that the brute force tries reorders only.
      LayoutProblem problem{.tensors = {tensor}, .operations = {{.dst = {0}, .choices = {{.dst = {from}}}}}};
      for (int p = 0; p < tensor.placements; ++p) {
        if ((placements >> p & 1) != 0)
          problem.operations.push_back({.src = {0}, .choices = {{.src = {PlacementSet{1} << p}}}});
      }
      const std::vector<cases::Combination> best = cases::BruteForce(problem).run();
      const auto reorders = cheapest_reorders(tensor, from, placements);
      ASSERT_EQ(reorders.has_value(), !best.empty());
      if (!reorders) continue;
      ++trees;
      ASSERT_EQ(cost_of(problem, {std::vector<int>(problem.operations.size(), 0), {*reorders}}), best[0].cost);
    }
  }
  EXPECT_GT(trees, 3000);
  std::printf("cheapest reorders as by brute force: %d\n", trees);
}

}  // namespace
}  // namespace relayout::solve
