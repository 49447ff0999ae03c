// Measured costs: near what a run takes, remembered in a file, and good without one.
#include "relayout/execute/measure/measured_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "relayout/cpu/machine.h"
#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/step.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/passes/backward.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/plan/propagate.h"
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
  double first = 0;
  bool doubtful = false;
  int64_t measured = 0;
  {
    const auto costs = measured_costs(*backend_, {.file = file_});
    first = predict(graph, plan, *costs).total();
    doubtful = costs->step_doubtful();
    measured = costs->measured();
    EXPECT_GT(measured, 10);
  }
  const auto costs = measured_costs(*backend_, {.file = file_});
  EXPECT_EQ(costs->file_error(), std::nullopt);
  // A step that other work has drowned is not remembered, but measured again.
  const double again = predict(graph, plan, *costs).total();
  if (!doubtful) {
    EXPECT_EQ(again, first);
  }
  EXPECT_EQ(costs->measured(), 0);
  EXPECT_GE(costs->remembered(), measured);
}

TEST_F(MeasuredCostsTest, AreGoodWithoutTheFile) {
  std::ofstream(file_) << "something else";
  const Graph graph = relu({1, 16, 8, 8});
  const LayoutPlan plan = propagate(graph, *backend_);
  {
    const auto costs = measured_costs(*backend_, {.file = file_});
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
  const auto costs = measured_costs(*backend_, {.file = file_});
  const Layout far = Layout::strided({1, 16, 8, 8}, {9999, 77, 1, 3000});
  const Implementation none{.name = "relayout:nothing", .src = {layout}, .dst = {far}};
  EXPECT_TRUE(std::isinf(costs->primitive(graph::CostContext(graph), 0, none, nullptr, false)));
  EXPECT_EQ(costs->measured(), 1);
  EXPECT_TRUE(std::isinf(costs->primitive(graph::CostContext(graph), 0, none, nullptr, false)));
  EXPECT_EQ(costs->measured(), 1);
}

TEST_F(MeasuredCostsTest, GrowWithTheWork) {
  const auto costs = measured_costs(*backend_);
  const auto us = [&](const Dims& dims, bool in_place) {
    const Graph graph = relu(dims);
    const Layout layout = Layout::contiguous(dims);
    return costs->primitive(graph::CostContext(graph), 0, {.name = "jit", .src = {layout}, .dst = {layout}}, nullptr,
                            in_place);
  };
  for (const bool in_place : {false, true})
    EXPECT_GT(us({1, 64, 112, 112}, in_place), 5 * us({1, 16, 28, 28}, in_place));
  const auto reorder = [&](int64_t side) {
    return costs->reorder({}, test::desc("nchw", {1, 64, side, side}), test::desc("nhwc", {1, 64, side, side}));
  };
  EXPECT_GT(reorder(112), 4 * reorder(28));
}

TEST_F(MeasuredCostsTest, OfConcatsOfOneTensorAndOfIndices) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 16, 8, 8});
  graph.concat({x, x});
  graph.add(graph::Kind::gather, graph::GatherAttributes{.axis = 1}, {x, graph.input("i", {5}, DType::s32)});
  const auto costs = measured_costs(*backend_);
  for (graph::NodeId n = 0; n < 2; ++n) {
    const auto ways = backend_->implementations(graph, n, {}, {}, nullptr);
    ASSERT_FALSE(ways.empty());
    for (const Implementation& way : ways) {
      const double us = costs->primitive(graph::CostContext(graph), n, way, nullptr, false);
      EXPECT_TRUE(us > 0 && us < 1e5) << way.name << " " << us;
    }
  }
}

// A training step: backward nodes run with what their forward ones left.
TEST_F(MeasuredCostsTest, OfBackwardNodes) {
  test::SmallNet net;
  const Graph graph = net.graph;
  const LayoutPlan forward = propagate(graph, *backend_);
  const auto costs = measured_costs(*backend_);
  Graph training = graph;
  graph::append_backward(training, graph.inputs);
  const LayoutPlan plan = propagate(training, *backend_);
  const double both = predict(training, plan, *costs).total(), one = predict(graph, forward, *costs).total();
  EXPECT_TRUE(std::isfinite(both));
  EXPECT_GT(both, one);
}

// The sum of the parts against a run, roughly: other work on the machine must not fail it. Costs are those of models
// that do not stay in the caches, so other memory passes through them before each run of these small ones.
TEST_F(MeasuredCostsTest, AddUpToARun) {
  // As much as between the parts when they are measured.
  const int64_t bytes = std::min(cpu::machine().l3, int64_t{256} << 20);
  std::vector<uint32_t> others(static_cast<std::size_t>(bytes) / sizeof(uint32_t));
  for (const graph::ModelBuilder& model : graph::models()) {
    Graph graph = model.build({.image = 64, .channels = 16});
    graph::simplify(graph);
    const LayoutPlan plan = propagate(graph, *backend_);
    std::vector<std::vector<float>> memory;
    std::vector<Source> sources;
    std::vector<Destination> destinations;
    const auto tensor = [&](const Dims& dims) {
      memory.emplace_back(static_cast<std::size_t>(checked_product(dims).value()), 0.5f);
      return TensorDesc(Layout::contiguous(dims), DType::f32);
    };
    for (const TensorId t : graph.inputs) sources.push_back({tensor(graph.tensor(t).dims), memory.back().data()});
    for (const TensorId t : graph.outputs) destinations.push_back({tensor(graph.tensor(t).dims), memory.back().data()});
    Model running(graph, plan, *backend_);
    bool near = false;
    double us = 0, least = 0;
    for (int attempt = 0; attempt < 3 && !near; ++attempt) {
      const auto costs = measured_costs(*backend_);
      us = predict(graph, plan, *costs).time();
      least = std::numeric_limits<double>::infinity();
      for (int run = 0; run < 10; ++run) {
        std::ranges::fill(others, static_cast<uint32_t>(run));
        least = std::min(least, static_cast<double>(running.profile(sources, destinations).nanoseconds) / 1000);
      }
      near = us > least / 2 && us < least * 2;
    }
    EXPECT_TRUE(near) << model.name << ": predicted " << us << " us, run in " << least;
  }
}

// Of both kinds of costs, once for each primitive and reorder; none for what cannot be made.
TEST_F(MeasuredCostsTest, EachStepPaysItsPrice) {
  const Graph graph = relu({1, 16, 8, 8});
  const LayoutPlan plan = propagate(graph, *backend_);
  const Implementation way = implementation_of(plan, 0);
  const TensorDesc from = test::desc("nchw", {1, 16, 8, 8}), to = test::desc("nhwc", {1, 16, 8, 8});
  const graph::CostKey step = step_key(environment_key(*backend_));
  double primitive[2] = {}, reorder[2] = {};
  for (const int i : {0, 1}) {
    CostCache cache;
    cache.insert(step, 1 + 1000 * i);
    cache.save(file_);
    const auto costs = measured_costs(*backend_, {.file = file_});
    primitive[i] = costs->primitive(graph::CostContext(graph), 0, way, nullptr, false);
    reorder[i] = costs->reorder({}, from, to);
  }
  EXPECT_NEAR(primitive[1] - primitive[0], 1000, 1e-6);
  EXPECT_NEAR(reorder[1] - reorder[0], 1000, 1e-6);
}

TEST_F(MeasuredCostsTest, AreMeasuredAnewWhereThatIsAskedFor) {
  const Graph graph = relu({1, 16, 8, 8});
  const Implementation way = implementation_of(propagate(graph, *backend_), 0);
  const graph::CostContext context(graph);
  const auto is_far_off = [&](const MeasuredOptions& options) {
    const auto costs = measured_costs(*backend_, options);
    const double us = costs->primitive(context, 0, way, nullptr, false);
    EXPECT_EQ(costs->primitive(context, 0, way, nullptr, false), us);
    EXPECT_LE(costs->measured(), 1);
    return us > 1e6;
  };
  const graph::CostKey environment = environment_key(*backend_), of = primitive_key(context, 0, way, nullptr, false);
  CostCache wrong;
  wrong.insert(graph::KeyMaker(environment).add(of.high).add(of.low).key(), 1e7);
  wrong.save(file_);
  EXPECT_TRUE(is_far_off({.file = file_}));
  EXPECT_FALSE(is_far_off({.file = file_, .remeasure = true}));
  EXPECT_FALSE(is_far_off({.file = file_}));
}

// As a search for the cheapest plan would be stopped: what was measured stays.
TEST_F(MeasuredCostsTest, ACheckThatThrowsKeepsWhatWasMeasured) {
  Graph graph = graph::small_cnn();
  graph::simplify(graph);
  const LayoutPlan plan = propagate(graph, *backend_);
  int64_t before = 0;
  {
    int left = 4;
    const auto costs = measured_costs(*backend_, {.file = file_, .check = [&] {
                                                    if (left-- == 0) throw Error(ErrorCode::limit, "enough");
                                                  }});
    EXPECT_EQ(test::code_of([&] { predict(graph, plan, *costs); }), ErrorCode::limit);
    before = costs->measured();
    EXPECT_GE(before, 2);
    costs->save();
  }
  const auto costs = measured_costs(*backend_, {.file = file_});
  predict(graph, plan, *costs);
  EXPECT_GE(costs->remembered(), before);
}

TEST_F(MeasuredCostsTest, SayWhereTheFileCannotBeWritten) {
  const Graph graph = relu({1, 16, 8, 8});
  fs::create_directory(folder_ / ".costs.txt.lock");
  const auto costs = measured_costs(*backend_, {.file = file_});
  predict(graph, propagate(graph, *backend_), *costs);
  EXPECT_EQ(test::code_of([&] { costs->save(); }), ErrorCode::io);
  ASSERT_TRUE(costs->file_error());
  // It may be possible later.
  fs::remove(folder_ / ".costs.txt.lock");
  costs->save();
  EXPECT_FALSE(costs->file_error());
  EXPECT_TRUE(fs::exists(file_));
}

}  // namespace
}  // namespace relayout::execute
