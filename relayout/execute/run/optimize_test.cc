// Runs plans of random graphs. Whatever assignment of the choices is planned, the plan computes what the reference
// does, and padding is checked after every step.
#include "relayout/graph/optimize/optimize.h"

#include <gtest/gtest.h>

#include <iostream>
#include <numeric>

#include "relayout/graph/passes/backward.h"
#include "tests/support/optimize_fixture.h"
#include "tests/support/random_graph.h"
#include "tests/support/simple_costs.h"
#include "tests/support/slow_tests.h"

namespace relayout::execute {
namespace {

using graph::ChoiceSpace;
using graph::Graph;
using graph::kNone;
using graph::LayoutPlan;
using graph::TensorId;
using graph::Values;
using solve::Assignment;

/// Seeds of random graphs: the first ones, and those that once showed a fault. Their graphs have a view of padded
/// blocks that begins within memory, a destination that would follow a repeating source, resampling that goes backward
/// in its forward layouts, PReLU over padded blocks and a view of them, and LRN and PReLU backward over views that
/// begin within memory.
std::vector<unsigned> seeds() {
  std::vector<unsigned> out(60);
  std::iota(out.begin(), out.end(), 0U);
  out.insert(out.end(), {495, 662, 791, 918, 1052, 1620, 3263});
  return out;
}

/// A random graph with its gradients, and its outputs by the reference.
struct RandomCase {
  Graph graph;
  std::vector<Values> values, want;
  explicit RandomCase(unsigned seed) {
    test::RandomGraph random(seed, 6, DType::f32);
    graph = random.graph;
    values = random.values;
    const std::vector<TensorId> wrt = graph.inputs;
    std::mt19937 rng(seed);
    for (TensorId t : graph::append_backward(graph, wrt).diff_outputs) {
      values.push_back(test::random_values(test::elements(graph, t), rng, -1, 1));
    }
    for (Values& v : values) {
      for (double& x : v) x = static_cast<double>(static_cast<float>(x));
    }
    want = graph::evaluate(graph, values);
  }
};

TEST_F(Optimize, AnyAssignmentOfRandomGraphsAndTheirGradientsRuns) {
  for (const unsigned seed : seeds()) {
    if (HasFailure()) break;
    const RandomCase random(seed);
    test::ByteCosts costs;
    const ChoiceSpace space = graph::choice_space(random.graph, *backend_, costs);
    for (unsigned round = 0; round < (test::slow_tests() ? 4 : 2) && !HasFailure(); ++round) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
      std::mt19937 rng(round);
      const Assignment assignment = random_assignment(space.problem, rng);
      expect_equal(random.graph, plan_of(random.graph, *backend_, space, assignment), random.values, random.want, 1e-3,
                   round % 2 == 0 ? 1 : 2);
    }
  }
  std::cout << counts_ << "\n";
}

/// Random costs drive plans into layouts that nothing else would choose.
TEST_F(Optimize, CheapestPlansOfRandomGraphsRun) {
  for (const unsigned seed : seeds()) {
    if (HasFailure()) break;
    const RandomCase random(seed);
    for (const double reorders : {0., 0.3, 2.}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", reorders up to " + std::to_string(reorders));
      test::RandomCosts costs(seed, reorders);
      const int64_t runs = seed % 3;
      const graph::OptimalPlan best = graph::optimize(random.graph, *backend_, costs, {.runs = runs});
      EXPECT_TRUE(best.optimal);
      EXPECT_NEAR(solve::cost_of(best.space.problem, best.solution.assignment), best.cost_us, 1e-9);
      EXPECT_NEAR(graph::predict(random.graph, best.plan, costs, runs).total(), best.cost_us, 1e-3);
      std::mt19937 rng(seed);
      const Assignment other = random_assignment(best.space.problem, rng);
      EXPECT_LE(best.cost_us, solve::cost_of(best.space.problem, other) + 1e-9);
      expect_equal(random.graph, best.plan, random.values, random.want, 1e-3);
      if (HasFailure()) break;
    }
  }
  std::cout << counts_ << "\n";
}

TEST_F(Optimize, BackwardShufflesStayInLayoutsOfTheirOwn) {
  for (const char* tag : {"nchw", "nhwc", "nChw8c"}) {
    SCOPED_TRACE(tag);
    Graph graph;
    graph.pass = graph::Pass::forward_training;
    const Format format = Format::parse(tag);
    const TensorId x = graph.input("x", {2, 16, 4, 4}, DType::f32, Format::parse("nchw"));
    const TensorId y = graph.add(graph::Kind::shuffle, graph::ShuffleAttributes{.groups = 4}, {x})[0];
    graph.output(y);
    const graph::Gradients gradients = graph::append_backward(graph, std::vector{x});
    for (const TensorId t : {gradients.diff_outputs[0], gradients.of[0]}) {
      graph.tensor(t).layout = format.bind(graph.tensor(t).dims);
    }
    test::ByteCosts costs;
    const graph::OptimalPlan best = graph::optimize(graph, *backend_, costs);
    EXPECT_TRUE(best.plan.reorders(graph).empty());
    const std::vector<Values> inputs = test::random_inputs(graph, 1);
    expect_equal(graph, best.plan, inputs, graph::evaluate(graph, inputs), 0);
  }
}

/// Two convolutions; the output must be nchw.
TEST_F(Optimize, ReordersAreExplainedAndTensorsFixed) {
  Graph graph;
  std::mt19937 rng(3);
  const auto weights = [&](const Dims& dims) {
    const Values values = test::random_values(*checked_product(dims), rng);
    return graph.constant("w", dims, std::vector<float>(values.begin(), values.end()));
  };
  const TensorId x = graph.input("x", {1, 16, 8, 8}, DType::f32, Format::parse("nhwc"));
  const TensorId a = graph.convolution(x, weights({32, 16, 3, 3})), b = graph.convolution(a, weights({32, 32, 3, 3}));
  graph.output(b, Format::parse("nchw"));
  test::ByteCosts costs;
  const std::vector<Values> inputs = test::random_inputs(graph, 1), want = graph::evaluate(graph, inputs);
  graph::OptimalPlan best = graph::optimize(graph, *backend_, costs);
  explain_reorders(graph, best);
  ASSERT_EQ(best.plan.reorders(graph).size(), 1U);
  const std::string& reason = best.plan.copy(best.plan.reorders(graph)[0]).reason;
  const bool cheap = reason.find("; an equally cheap plan ") != std::string::npos;
  EXPECT_TRUE(cheap || reason.find("; avoiding it would cost ") != std::string::npos) << reason;
  // What if the tensor between them were blocked?
  const Layout blocked = Format::parse("nChw8c").bind({1, 32, 6, 6});
  const graph::OptimalPlan other = graph::optimize(graph, *backend_, costs, {.fixed = {{a, blocked}}});
  EXPECT_EQ(other.plan.copy(other.plan.nodes[0].dst[0]).layout, blocked);
  EXPECT_GT(other.cost_us, best.cost_us);
  expect_equal(graph, best.plan, inputs, want, 1e-4);
  expect_equal(graph, other.plan, inputs, want, 1e-4);
}

TEST_F(Optimize, RunsShareTheReordersOfConstants) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 16, 8, 8}, DType::f32, Format::parse("nhwc"));
  graph.output(graph.convolution(x, graph.constant("w", {32, 16, 3, 3}, std::vector<float>(32 * 16 * 9, 0.1F))));
  test::ByteCosts costs;
  const double never = graph::optimize(graph, *backend_, costs).cost_us;
  double last = INFINITY;
  for (const int64_t runs : {1, 10, 1000}) {
    const graph::OptimalPlan best = graph::optimize(graph, *backend_, costs, {.runs = runs});
    EXPECT_GT(best.cost_us, never);
    EXPECT_LT(best.cost_us, last);
    last = best.cost_us;
    const graph::PredictedCost cost = graph::predict(graph, best.plan, costs, runs);
    EXPECT_NEAR(cost.total(), best.cost_us, 1e-3);
    EXPECT_NEAR(cost.load, graph::predict(graph, best.plan, costs, 1).load / static_cast<double>(runs), 1e-9);
  }
}

TEST_F(Optimize, BackwardWaysGoWithAForwardWayThatIsLeft) {
  const Dims dims{1, 32, 8, 8};
  Graph graph;
  graph.pass = graph::Pass::forward_training;
  const TensorId x = graph.input("x", dims);
  const std::vector<float> weights(32 * 32, 0.1F);
  const TensorId y = graph.convolution(x, graph.constant("w", {32, 32, 1, 1}, weights));
  graph.output(graph.pooling(y, {.kernel = {2, 2}, .strides = {2, 2}}));
  append_training(graph);
  const auto pooling = std::ranges::find(graph.nodes, graph::Kind::pooling, &graph::Node::kind);
  const std::vector<Values> inputs = test::random_inputs(graph, 1), want = graph::evaluate(graph, inputs);
  for (const char* layout : {"nchw", "nhwc", "nChw8c", "nChw16c"}) {
    for (unsigned seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(layout + std::string(", seed ") + std::to_string(seed));
      test::RandomCosts costs(seed, 0.3);
      const Layout fixed = Format::parse(layout).bind({1, 32, 4, 4});
      const graph::OptimalPlan best = graph::optimize(graph, *backend_, costs, {.fixed = {{pooling->dst[0], fixed}}});
      EXPECT_NEAR(graph::predict(graph, best.plan, costs).total(), best.cost_us, 1e-3);
      expect_equal(graph, best.plan, inputs, want, 1e-4);
    }
  }
}

TEST_F(Optimize, ConstantsAreNotReorderedToWhereElementsShareMemory) {
  // The layout of a broadcast source is offered for the other sources of the concat, too.
  Graph graph;
  const TensorId x = graph.input("x", {1, 2});
  const TensorId wide = graph.add(graph::Kind::broadcast, graph::BroadcastAttributes{{3, 2}}, {x})[0];
  const TensorId c = graph.constant("c", {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  graph.output(graph.concat({wide, c}, 1));
  const std::vector<Values> inputs{{7, 8}}, expected = graph::evaluate(graph, inputs);
  for (unsigned seed = 0; seed < 60; ++seed) {
    test::RandomCosts costs(seed, 0.2);
    const graph::LayoutPlan plan = graph::optimize(graph, *backend_, costs).plan;
    for (const graph::CopyId id : plan.load_reorders(graph))
      EXPECT_TRUE(plan.copy(id).layout.injective_with_padding()) << "seed " << seed;
    Model model(graph, plan, *backend_);
    EXPECT_EQ(test::run_model(model, inputs), expected) << "seed " << seed;
  }
}

TEST_F(Optimize, SoftmaxOfMaskedRowsGivesZeroIfTheNodeSaysSo) {
  constexpr double kLeast = -std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f32, DType::f64}) {
    Graph graph;
    const TensorId x = graph.input("x", {1, 2, 2, 3}, dtype, Format::parse("nchw"));
    graph.output(graph.softmax(x, {.axis = 1, .masked_rows_give_zero = true}));
    graph.output(graph.softmax(x, {.axis = 3, .masked_rows_give_zero = true}));
    const std::vector<Values> inputs{{kLeast, 0, 1, kLeast, kLeast, kLeast, kLeast, kLeast, 1, kLeast, 2, 2}};
    const std::vector<Values> want = graph::evaluate(graph, inputs);
    EXPECT_EQ(want[0], (Values{0, 1, 0.5, 0, 0, 0, 0, 0, 0.5, 0, 1, 1}));
    EXPECT_EQ(Values(want[1].begin() + 3, want[1].end()), (Values{0, 0, 0, 0, 0, 1, 0, 0.5, 0.5}));
    for (const graph::Policy policy : test::all_policies()) {
      SCOPED_TRACE(name(policy));
      expect_equal(graph, graph::propagate(graph, *backend_, {.policy = policy}), inputs, want, 1e-5);
    }
  }
}

TEST_F(Optimize, ReductionsCountWhatRepeats) {
  Graph graph;
  const TensorId x = graph.input("x", {4, 4});
  const TensorId wide = graph.add(graph::Kind::broadcast, graph::BroadcastAttributes{{3, 4, 4}}, {x})[0];
  const graph::ReductionAttributes mean{graph::ReductionAlgorithm::mean, {0, 2}};
  graph.output(graph.add(graph::Kind::reduction, mean, {wide})[0]);
  const std::vector<Values> inputs = test::random_inputs(graph, 1), want = graph::evaluate(graph, inputs);
  for (const graph::Policy policy : test::all_policies()) {
    SCOPED_TRACE(name(policy));
    expect_equal(graph, graph::propagate(graph, *backend_, {.policy = policy}), inputs, want, 1e-5);
  }
}

TEST_F(Optimize, WhatCannotBeRunIsNamed) {
  Graph graph;
  const TensorId x = graph.input("x", {2, 3, 4, 4});
  graph.output(graph.add(graph::Kind::barrier, graph::BarrierAttributes{"Einsum", {{2, 3}}}, {x}, "odd")[0]);
  test::ByteCosts costs;
  EXPECT_EQ(graph::optimize(graph, *backend_, costs).plan.nodes[0].implementation, "barrier");
  const Layout strange = Format::parse("nChw4c").bind({2, 3, 4, 4});
  Graph pooled;
  const TensorId y = pooled.input("y", {2, 3, 8, 8});
  pooled.output(pooled.pooling(y, {.kernel = {2, 2}, .strides = {2, 2}}));
  EXPECT_THROW(graph::optimize(pooled, *backend_, costs, {.fixed = {{1, strange}}}), Error);
}

}  // namespace
}  // namespace relayout::execute
