// Measured costs of kernels that fail, and of runs that other work on the machine makes longer.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/measured_costs.h"
#include "relayout/execute/measure/step.h"
#include "relayout/graph/plan/propagate.h"
#include "tests/support/measured_costs_fixture.h"
#include "tests/support/testing.h"

namespace relayout::execute {
namespace {

namespace fs = std::filesystem;
using graph::Graph;
using graph::Implementation;

/// Another backend's ways, whose kernels fail with a code of choice or have something come after each run.
class Altered : public graph::Backend {
 public:
  explicit Altered(const graph::Backend& backend) : backend_(backend) {}
  std::string name() const override { return backend_.name(); }
  std::string settings() const override { return extra + backend_.settings(); }
  int threads() const override { return backend_.threads(); }
  std::vector<Implementation> implementations(const Graph& graph, graph::NodeId node,
                                              std::span<const graph::LayoutRequest> src,
                                              std::span<const graph::LayoutRequest> dst,
                                              const Implementation* forward) const override {
    return backend_.implementations(graph, node, src, dst, forward);
  }
  std::unique_ptr<graph::Executable> make(const Graph& graph, graph::NodeId node, const Implementation& way,
                                          const Implementation* forward_way,
                                          graph::Executable* forward) const override {
    if (fails) throw Error(*fails, "failing");
    on_make();
    return std::make_unique<Late>(backend_.make(graph, node, way, forward_way, forward), after_run);
  }

  std::optional<ErrorCode> fails;
  std::string extra;
  std::function<void()> on_make = [] {}, after_run = [] {};

 private:
  class Late : public graph::Executable {
   public:
    Late(std::unique_ptr<graph::Executable> of, const std::function<void()>& after)
        : of_(std::move(of)), after_(after) {}
    void run(std::span<const void* const> src, std::span<void* const> dst) override {
      of_->run(src, dst);
      after_();
    }

   private:
    std::unique_ptr<graph::Executable> of_;
    const std::function<void()>& after_;
  };

  const graph::Backend& backend_;
};

TEST_F(MeasuredCostsTest, OnlyWhatIsUnsupportedIsRememberedAsImpossible) {
  const Graph graph = relu({1, 16, 8, 8});
  const Implementation way = implementation_of(propagate(graph, *backend_), 0);
  for (const ErrorCode code : {ErrorCode::io, ErrorCode::internal, ErrorCode::limit, ErrorCode::overflow}) {
    fs::remove(file_);
    Altered failing(*backend_);
    const auto costs = measured_costs(failing, {.file = file_});
    costs->reorder({}, test::desc("nchw", {1, 16, 8, 8}), test::desc("nhwc", {1, 16, 8, 8}));
    failing.fails = code;
    EXPECT_EQ(test::code_of([&] { costs->primitive(graph::CostContext(graph), 0, way, nullptr, false); }), code);
    costs->save();
    failing.fails.reset();
    const double us = costs->primitive(graph::CostContext(graph), 0, way, nullptr, false);
    EXPECT_TRUE(us > 0 && std::isfinite(us)) << us;
    EXPECT_TRUE(std::isfinite(
        measured_costs(failing, {.file = file_})->primitive(graph::CostContext(graph), 0, way, nullptr, false)));
  }
}

TEST_F(MeasuredCostsTest, WhatIsNotSureIsUsedAndNotKept) {
  const Graph graph = relu({1, 16, 8, 8});
  const Implementation way = implementation_of(propagate(graph, *backend_), 0);
  const graph::CostContext context(graph);
  Altered slowing(*backend_);
  // So much longer each time that other work cannot make two runs agree.
  std::chrono::milliseconds time{};
  slowing.on_make = [&] { time = std::chrono::milliseconds(2); };
  slowing.after_run = [&] { std::this_thread::sleep_for(time *= 4); };
  CostCache cache;
  cache.insert(step_key(environment_key(slowing)), 1);
  cache.save(file_);
  {
    const auto costs = measured_costs(slowing, {.file = file_});
    const double us = costs->primitive(context, 0, way, nullptr, false);
    EXPECT_GT(us, 8000);
    EXPECT_EQ(costs->primitive(context, 0, way, nullptr, false), us);
    EXPECT_EQ(costs->measured(), 1);
    EXPECT_EQ(costs->doubtful(), 1);
  }
  const auto costs = measured_costs(*backend_, {.file = file_});
  EXPECT_LT(costs->primitive(context, 0, way, nullptr, false), 8000);
  EXPECT_EQ(costs->measured(), 1);
}

// What goes on for all runs of one measurement may be over when it is repeated; the less of both counts and is kept.
TEST_F(MeasuredCostsTest, AreMeasuredTwiceAndTheLessCounts) {
  const Graph graph = relu({1, 16, 8, 8});
  const Implementation way = implementation_of(propagate(graph, *backend_), 0);
  const graph::CostContext context(graph);
  Altered backend(*backend_);
  bool busy = true;
  backend.after_run = [&] {
    const auto start = std::chrono::steady_clock::now();
    while (busy && std::chrono::steady_clock::now() - start < std::chrono::milliseconds(1)) {
    }
  };
  CostCache cache;
  cache.insert(step_key(environment_key(backend)), 1);
  cache.save(file_);
  double quiet = 0;
  {
    const auto costs = measured_costs(backend, {.file = file_});
    const auto us = [&] { return costs->primitive(context, 0, way, nullptr, false); };
    EXPECT_FALSE(costs->again());
    EXPECT_GT(us(), 1000);
    busy = false;
    EXPECT_GT(us(), 1000);
    EXPECT_TRUE(costs->again());
    quiet = us();
    EXPECT_LT(quiet, 1000);
    busy = true;
    EXPECT_EQ(us(), quiet);
    EXPECT_FALSE(costs->again());
    EXPECT_EQ(us(), quiet);
    EXPECT_EQ(costs->measured(), 1);
    if (costs->doubtful() > 0) GTEST_SKIP() << "too much else runs here for a time that is sure";
  }
  const auto costs = measured_costs(backend, {.file = file_});
  EXPECT_EQ(costs->primitive(context, 0, way, nullptr, false), quiet);
  EXPECT_FALSE(costs->again());
}

// Parts that take longer alone than in the chain: what a step takes beside them cannot be told. The file's, which was
// to be measured anew, must not be found there next time.
TEST_F(MeasuredCostsTest, AStepThatIsNotSureIsForgottenWhereAllIsMeasuredAnew) {
  const Graph graph = relu({1, 16, 8, 8});
  const Implementation way = implementation_of(propagate(graph, *backend_), 0);
  Altered backend(*backend_);
  int slow_runs = 0;
  backend.on_make = [&] { slow_runs = 100; };
  backend.after_run = [&] {
    if (slow_runs-- <= 0) return;
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(300)) {
    }
  };
  const graph::CostKey step = step_key(environment_key(backend));
  CostCache before;
  before.insert(step, 1e7);
  before.save(file_);
  const auto price = [&](const MeasuredOptions& options) {
    const auto costs = measured_costs(backend, options);
    const double us = costs->primitive(graph::CostContext(graph), 0, way, nullptr, false);
    return std::pair(us, costs->step_doubtful());
  };
  EXPECT_GT(price({.file = file_}).first, 1e7);
  const auto [us, doubtful] = price({.file = file_, .remeasure = true});
  EXPECT_LT(us, 1e6);
  EXPECT_TRUE(doubtful);
  CostCache after;
  EXPECT_TRUE(after.load(file_));
  EXPECT_EQ(after.find(step), std::nullopt);
}

TEST_F(MeasuredCostsTest, SettingsOfTheBackendAreOthersTimes) {
  Altered one(*backend_), other(*backend_);
  EXPECT_EQ(environment_key(one), environment_key(*backend_));
  other.extra = "another instruction set ";
  EXPECT_FALSE(environment_key(one) == environment_key(other));
  EXPECT_FALSE(backend_->settings().empty());
}

}  // namespace
}  // namespace relayout::execute
