// Measured costs: what they consist of, that they are remembered in a file, and that they are good without one. The
// tests state the run times; no clock is read.
#include "relayout/execute/measure/measured_costs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>

#include "relayout/graph/models/models.h"
#include "relayout/graph/passes/backward.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/plan/propagate.h"
#include "tests/support/altered_backend.h"
#include "tests/support/measured_costs_fixture.h"
#include "tests/support/small_net.h"
#include "tests/support/testing.h"

namespace relayout::execute {
namespace {

namespace fs = std::filesystem;
using graph::Graph;
using graph::Implementation;
using graph::LayoutPlan;
using graph::TensorId;

TEST_F(MeasuredCostsTest, AreRememberedInAFile) {
  Graph graph = graph::mobilenet_v2({.image = 64});
  graph::simplify(graph);
  const LayoutPlan plan = propagate(graph, *backend_);
  keep_step(*backend_);
  double first = 0;
  int64_t measured = 0;
  {
    const auto costs = measured_costs(*backend_, options());
    first = predict(graph, plan, *costs).total();
    measured = costs->measured();
    EXPECT_GT(measured, 10);
  }
  const auto costs = measured_costs(*backend_, options());
  EXPECT_EQ(costs->file_error(), std::nullopt);
  EXPECT_EQ(predict(graph, plan, *costs).total(), first);
  EXPECT_EQ(costs->measured(), 0);
  EXPECT_GE(costs->remembered(), measured);
}

TEST_F(MeasuredCostsTest, AreGoodWithoutTheFile) {
  std::ofstream(file_) << "something else";
  runs_take(kLongRunUs);
  const Graph graph = relu({1, 16, 8, 8});
  const LayoutPlan plan = propagate(graph, *backend_);
  {
    const auto costs = measured_costs(*backend_, options());
    ASSERT_TRUE(costs->file_error());
    EXPECT_EQ(costs->file_error()->code(), ErrorCode::unsupported);
    EXPECT_GT(predict(graph, plan, *costs).total(), 0);
    EXPECT_EQ(predict(graph, plan, *costs).total(), predict(graph, plan, *costs).total());
    EXPECT_EQ(costs->measured(), 1);
  }
  std::string text;
  std::getline(std::ifstream(file_), text);
  EXPECT_EQ(text, "something else");
}

TEST_F(MeasuredCostsTest, WhatCannotBeMadeIsImpossible) {
  const Graph graph = relu({1, 16, 8, 8});
  const Layout layout = Format::parse("nhwc").bind({1, 16, 8, 8});
  keep_step(*backend_);
  const auto costs = measured_costs(*backend_, options());
  const Layout far = Layout::strided({1, 16, 8, 8}, {9999, 77, 1, 3000});
  const Implementation none{.name = "relayout:nothing", .src = {layout}, .dst = {far}};
  EXPECT_TRUE(std::isinf(costs->primitive(graph::CostContext(graph), 0, none, nullptr, false)));
  EXPECT_EQ(costs->measured(), 1);
  EXPECT_TRUE(std::isinf(costs->primitive(graph::CostContext(graph), 0, none, nullptr, false)));
  EXPECT_EQ(costs->measured(), 1);
}

// After each run the destinations are read twice. If the step wrote past the caches, the first reading takes longer.
TEST_F(MeasuredCostsTest, AreTheShortestRunAndWhatTheNextStepFetches) {
  const Graph graph = relu({1, 16, 8, 8});
  const Implementation implementation = implementation_of(propagate(graph, *backend_), 0);
  const auto cost = [&](const std::function<double(int64_t run, int64_t part)>& us) {
    stopwatch_.takes = [&us, first = stopwatch_.calls()](int64_t call) {
      return us((call - first) / 3, (call - first) % 3);
    };
    keep_step(*backend_);
    return measured_costs(*backend_, options())
        ->primitive(graph::CostContext(graph), 0, implementation, nullptr, false);
  };
  const auto run_us = [](int64_t run) {
    return run == 0 ? 900.0 : 400.0 - static_cast<double>(std::min<int64_t>(run, 3));
  };
  EXPECT_EQ(cost([&](int64_t run, int64_t part) { return part == 0   ? run_us(run)
                                                         : part == 1 ? 52.0
                                                                     : 30.0; }),
            397 + 22 + kStepUs);
  // If the second reading takes longer than the first, nothing is subtracted.
  EXPECT_EQ(cost([&](int64_t run, int64_t part) { return part == 0   ? run_us(run)
                                                         : part == 1 ? 30.0
                                                                     : 52.0; }),
            397 + kStepUs);
}

TEST_F(MeasuredCostsTest, OfConcatsOfOneTensorAndOfIndices) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 16, 8, 8});
  graph.concat({x, x});
  graph.add(graph::Kind::gather, graph::GatherAttributes{.axis = 1}, {x, graph.input("i", {5}, DType::s32)});
  keep_step(*backend_);
  const auto costs = measured_costs(*backend_, options());
  for (graph::NodeId n = 0; n < 2; ++n) {
    const auto implementations = backend_->implementations(graph, n, {}, {}, nullptr);
    ASSERT_FALSE(implementations.empty());
    for (const Implementation& implementation : implementations) {
      EXPECT_EQ(costs->primitive(graph::CostContext(graph), n, implementation, nullptr, false), kRunUs + kStepUs)
          << implementation.name;
    }
  }
}

// In a training step, backward nodes run with what their forward nodes left.
TEST_F(MeasuredCostsTest, OfBackwardNodes) {
  test::SmallNet net;
  const Graph graph = net.graph;
  const LayoutPlan forward = propagate(graph, *backend_);
  keep_step(*backend_);
  const auto costs = measured_costs(*backend_, options());
  Graph training = graph;
  graph::append_backward(training, graph.inputs);
  const LayoutPlan plan = propagate(training, *backend_);
  const double both = predict(training, plan, *costs).total(), one = predict(graph, forward, *costs).total();
  EXPECT_TRUE(std::isfinite(both));
  EXPECT_GT(both, one);
}

// A plan's time is the sum of its primitives and reorders, with a step's time added to each.
TEST_F(MeasuredCostsTest, OfAPlanAreTheSumOfItsSteps) {
  Graph graph;
  const Dims dims{1, 16, 8, 8};
  TensorId x = graph.input("x", dims, DType::f32, Format::parse("nhwc"));
  for (int i = 0; i < 3; ++i) x = graph.eltwise(x, {.algorithm = graph::EltwiseAlgorithm::relu});
  graph.output(x, Format::parse("nchw"));
  test::AlteredBackend backend(*backend_);
  backend.after_run = [&](int) { stopwatch_.pass(7); };
  keep_step(backend);
  const LayoutPlan plan = propagate(graph, backend);
  ASSERT_EQ(plan.reorders(graph).size(), 1u);
  const auto costs = measured_costs(backend, options());
  EXPECT_DOUBLE_EQ(predict(graph, plan, *costs).time(), 3 * (7 + kRunUs + kStepUs) + kRunUs + kStepUs);
}

TEST_F(MeasuredCostsTest, ReplaceTheFilesTimesWhereThatIsAskedFor) {
  const Graph graph = relu({1, 16, 8, 8});
  const Implementation implementation = implementation_of(propagate(graph, *backend_), 0);
  const graph::CostContext context(graph);
  const auto cost = [&](bool remeasure) {
    const auto costs = measured_costs(*backend_, options(remeasure));
    const double us = costs->primitive(context, 0, implementation, nullptr, false);
    EXPECT_EQ(costs->primitive(context, 0, implementation, nullptr, false), us);
    EXPECT_EQ(costs->measured(), remeasure ? 1 : 0);
    return us;
  };
  const graph::CostKey environment = environment_key(*backend_);
  const graph::CostKey of = primitive_key(context, 0, implementation, nullptr, false);
  keep_step(*backend_);
  CostCache wrong;
  wrong.insert(graph::KeyMaker(environment).add(of.high).add(of.low).key(), 1e7);
  wrong.save(file_);
  EXPECT_EQ(cost(false), 1e7 + kStepUs);
  // All runs take equally long, so that no time is left for a step.
  runs_take(kLongRunUs);
  EXPECT_EQ(cost(true), kLongRunUs);
  CostCache step;
  step.insert(step_key(environment), kStepUs);
  step.save(file_);
  EXPECT_EQ(cost(false), kLongRunUs + kStepUs);
}

// A search for the cheapest plan may be stopped while it measures: what was measured before stays.
TEST_F(MeasuredCostsTest, ACheckThatThrowsKeepsWhatWasMeasured) {
  Graph graph = graph::small_cnn();
  graph::simplify(graph);
  const LayoutPlan plan = propagate(graph, *backend_);
  keep_step(*backend_);
  {
    int left = 4;
    MeasuredOptions stopping = options();
    stopping.check = [&] {
      if (left-- == 0) throw Error(ErrorCode::limit, "enough");
    };
    const auto costs = measured_costs(*backend_, stopping);
    EXPECT_EQ(test::code_of([&] { predict(graph, plan, *costs); }), ErrorCode::limit);
    EXPECT_EQ(costs->measured(), 4);
    costs->save();
  }
  const auto costs = measured_costs(*backend_, options());
  predict(graph, plan, *costs);
  EXPECT_GE(costs->remembered(), 4);
}

TEST_F(MeasuredCostsTest, SayWhereTheFileCannotBeWritten) {
  const Graph graph = relu({1, 16, 8, 8});
  fs::create_directory(folder_ / ".costs.txt.lock");
  runs_take(kLongRunUs);
  const auto costs = measured_costs(*backend_, options());
  predict(graph, propagate(graph, *backend_), *costs);
  EXPECT_EQ(test::code_of([&] { costs->save(); }), ErrorCode::io);
  ASSERT_TRUE(costs->file_error());
  // Once the lock is removed, saving may succeed.
  fs::remove(folder_ / ".costs.txt.lock");
  costs->save();
  EXPECT_FALSE(costs->file_error());
  EXPECT_TRUE(fs::exists(file_));
}

}  // namespace
}  // namespace relayout::execute
