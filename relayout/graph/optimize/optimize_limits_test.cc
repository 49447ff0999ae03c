// Limits and errors of the planner: required layouts are never left out, layouts that are left out are counted, long
// searches can be stopped, and errors of the solver reach the caller.
#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/graph/optimize/alternatives.h"
#include "relayout/graph/optimize/optimize.h"
#include "tests/support/simple_costs.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

const Dims kDims{4, 8};

/// Column-major, with a gap after each column.
Layout columns(int64_t gap) { return Layout::strided(kDims, {1, 4 + gap}); }

/// Runs a matmul whose source and destination have the same layout, which may be any one of several.
class ManyImplementations : public Backend {
 public:
  /// Layouts columns(first) to columns(first + count - 1).
  explicit ManyImplementations(int count, int first = 0) : count_(count), first_(first) {}
  std::string name() const override { return "many"; }
  int threads() const override { return 3; }
  std::vector<Implementation> implementations(const Graph& graph, NodeId node, std::span<const LayoutRequest> src,
                                              std::span<const LayoutRequest> dst,
                                              const Implementation*) const override {
    const Layout weights = Layout::contiguous(graph.tensor(graph.node(node).src[1]).dims);
    const auto agrees = [](std::span<const LayoutRequest> requests, const std::vector<std::optional<Layout>>& layouts) {
      for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i] && requests[i] != layouts[i]) return false;
      }
      return true;
    };
    std::vector<Implementation> out;
    for (int i = first_; i < first_ + count_; ++i) {
      Implementation implementation{.name = "many", .src = {columns(i), weights}, .dst = {columns(i)}};
      implementation.src.resize(graph.node(node).src.size());
      if (agrees(src, implementation.src) && agrees(dst, implementation.dst)) out.push_back(std::move(implementation));
    }
    return out;
  }
  std::unique_ptr<Executable> make(const Graph&, NodeId, const Implementation&, const Implementation*,
                                   Executable*) const override {
    throw Error(ErrorCode::unsupported, "nothing is run");
  }

 private:
  int count_, first_;
};

/// Offers everything a second time, as something that rounds more.
class RoundingImplementations : public ManyImplementations {
 public:
  using ManyImplementations::ManyImplementations;
  std::vector<Implementation> implementations(const Graph& graph, NodeId node, std::span<const LayoutRequest> src,
                                              std::span<const LayoutRequest> dst,
                                              const Implementation* forward) const override {
    std::vector<Implementation> out = ManyImplementations::implementations(graph, node, src, dst, forward);
    const std::size_t count = out.size();
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(out[i]);
      out.back().name = "rounding";
      out.back().rounds_more = true;
    }
    return out;
  }
};

/// What reads one of the layouts is a slow reference.
class SlowImplementation : public ManyImplementations {
 public:
  SlowImplementation(int count, int slow) : ManyImplementations(count), slow_(columns(slow)) {}
  std::vector<Implementation> implementations(const Graph& graph, NodeId node, std::span<const LayoutRequest> src,
                                              std::span<const LayoutRequest> dst,
                                              const Implementation* forward) const override {
    std::vector<Implementation> out = ManyImplementations::implementations(graph, node, src, dst, forward);
    for (Implementation& each : out) each.reference = each.src[0] == slow_;
    return out;
  }

 private:
  const Layout slow_;
};

/// What rounds more takes half of the time.
class RoundingCosts : public test::ByteCosts {
 public:
  double primitive(const CostContext& context, NodeId node, const Implementation& implementation,
                   const Implementation* forward, bool in_place) override {
    return ByteCosts::primitive(context, node, implementation, forward, in_place) /
           (implementation.rounds_more ? 2 : 1);
  }
};

/// Two products one after the other. Input and output are row-major.
Graph two_products() {
  Graph graph;
  TensorId x = graph.input("x", kDims);
  graph.tensor(x).layout = Layout::contiguous(kDims);
  const std::vector<float> weights(64, 1.0f);
  for (const char* name : {"a", "b"}) x = graph.matmul(x, graph.constant(name, {8, 8}, weights));
  graph.output(x);
  graph.tensor(x).layout = Layout::contiguous(kDims);
  return graph;
}

TEST(OptimizeLimits, FewLayoutsAreAllConsidered) {
  test::ByteCosts costs;
  const OptimalPlan plan = optimize(two_products(), ManyImplementations(10), costs);
  EXPECT_TRUE(plan.optimal);
  EXPECT_EQ(plan.space.left_out, 0u);
  EXPECT_EQ(plan.plan.threads, 3);
}

TEST(OptimizeLimits, WhatRoundsMoreIsChosenUnlessItIsForbidden) {
  RoundingCosts costs;
  const Graph graph = two_products();
  const OptimalPlan with = optimize(graph, RoundingImplementations(5), costs),
                    without = optimize(graph, RoundingImplementations(5), costs, {.may_round_more = false}),
                    before = optimize(graph, ManyImplementations(5), costs);
  EXPECT_EQ(totals(graph, with.plan).rounding_more, 2);
  EXPECT_EQ(with.plan.nodes[0].implementation, "rounding");
  EXPECT_LT(with.cost_us, without.cost_us);
  EXPECT_EQ(totals(graph, without.plan).rounding_more, 0);
  EXPECT_EQ(without.plan.nodes[0].implementation, "many");
  EXPECT_EQ(without.cost_us, before.cost_us);
  EXPECT_EQ(without.space.problem.operations.size(), before.space.problem.operations.size());
}

TEST(OptimizeLimits, ASlowReferenceIsChosenOnlyForALayoutThatNothingElseMakes) {
  test::ByteCosts costs;
  const Graph graph = two_products();
  const SlowImplementation backend(5, 3);
  EXPECT_EQ(totals(graph, optimize(graph, backend, costs).plan).reference_primitives, 0);
  for (int i = 0; i < 5; ++i) {
    const OptimalPlan plan = optimize(graph, backend, costs, {.fixed = {{graph.node(0).dst[0], columns(i)}}});
    EXPECT_EQ(plan.plan.copy(plan.plan.nodes[0].dst[0]).layout, columns(i)) << i;
    EXPECT_EQ(totals(graph, plan.plan).reference_primitives, i == 3 ? 1 : 0) << i;
  }
}

TEST(OptimizeLimits, WhatIsLeftOutIsCounted) {
  test::ByteCosts costs;
  const OptimalPlan plan = optimize(two_products(), ManyImplementations(60), costs);
  EXPECT_TRUE(plan.optimal);
  // Some layouts of each of three tensors.
  EXPECT_GE(plan.space.left_out, 3 * 20u);
}

TEST(OptimizeLimits, FixedLayoutsAreNeverLeftOut) {
  test::ByteCosts costs;
  const Graph graph = two_products();
  const TensorId middle = graph.node(0).dst[0], last = graph.node(1).dst[0];
  for (int i = 0; i < 60; ++i) {
    const OptimalPlan plan = optimize(graph, ManyImplementations(60), costs, {.fixed = {{middle, columns(i)}}});
    EXPECT_EQ(plan.plan.copy(plan.plan.nodes[0].dst[0]).layout, columns(i)) << i;
    // So is the layout of the output, which the graph fixes.
    EXPECT_EQ(plan.plan.copy(plan.plan.outputs[0]).layout, Layout::contiguous(kDims)) << i;
  }
  OptimizeOptions options;
  for (int i = 0; i < 60; ++i) options.fixed.emplace_back(last, columns(i));
  const Error error = test::error_of([&] { optimize(graph, ManyImplementations(60), costs, options); });
  EXPECT_EQ(error.code(), ErrorCode::limit) << error.message();
}

/// Whether optimize() finds a plan if stop() returns true from the call number `after` on.
bool finds_plan(const Graph& graph, int implementations, int after) {
  test::ByteCosts costs;
  int left = after;
  try {
    optimize(graph, ManyImplementations(implementations), costs, {.solve = {.stop = [&] { return left-- <= 0; }}});
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::interrupted) << error.message();
    return false;
  }
}

// stop() is asked before each question to the backend and before each cost. Once the solver runs, there is a plan.
TEST(OptimizeLimits, ListingWaysStops) {
  const Graph graph = two_products();
  EXPECT_FALSE(finds_plan(graph, 5, 0));
  EXPECT_FALSE(finds_plan(graph, 5, 10));
  EXPECT_TRUE(finds_plan(graph, 5, 100000));
}

TEST(OptimizeLimits, ExplainingStops) {
  test::ByteCosts costs;
  const Graph graph = two_products();
  OptimalPlan plan = optimize(graph, ManyImplementations(5), costs);
  const std::vector<CopyId> reorders = plan.plan.reorders(graph);
  ASSERT_EQ(reorders.size(), 2u);
  const auto explained = [&](CopyId id) {
    const std::string& reason = plan.plan.copy(id).reason;
    return reason.find("avoiding it") != std::string::npos || reason.find("no plan is without") != std::string::npos ||
           reason.find("an equally cheap plan") != std::string::npos;
  };
  explain_reorders(graph, plan, {.stop = [] { return true; }});
  EXPECT_FALSE(explained(reorders[0]));
  explain_reorders(graph, plan, {.time_limit = std::chrono::milliseconds(0)});
  EXPECT_FALSE(explained(reorders[0]));
  explain_reorders(graph, plan, {.time_limit = std::chrono::seconds(100)});
  EXPECT_TRUE(explained(reorders[0]));
  EXPECT_TRUE(explained(reorders[1]));
}

/// Costs by bytes, in which all costs of one kind may be replaced by a number.
class OddCosts : public test::ByteCosts {
 public:
  OddCosts(std::optional<double> primitive, std::optional<double> reorder) : primitive_(primitive), reorder_(reorder) {}
  double primitive(const CostContext& context, NodeId node, const Implementation& implementation,
                   const Implementation* forward, bool in_place) override {
    return primitive_ ? *primitive_ : ByteCosts::primitive(context, node, implementation, forward, in_place);
  }
  double reorder(const ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to) override {
    return reorder_ ? *reorder_ : ByteCosts::reorder(setting, from, to);
  }

 private:
  std::optional<double> primitive_, reorder_;
};

/// A reorder takes as many microseconds as the columns of what it writes lie apart.
class DistanceCosts : public test::ByteCosts {
 public:
  double reorder(const ReorderSetting&, const TensorDesc&, const TensorDesc& to) override {
    return static_cast<double>(to.layout.outer_stride(1));
  }
};

TEST(OptimizeLimits, AnEquallyCheapPlanIsSaid) {
  const Graph graph = two_products();
  const auto reason = [&](Costs& costs) {
    OptimalPlan plan = optimize(graph, ManyImplementations(5), costs);
    explain_reorders(graph, plan);
    return plan.plan.copy(plan.plan.reorders(graph).at(0)).reason;
  };
  // All layouts of the products have equally many bytes, so any other would do as well.
  test::ByteCosts equal;
  EXPECT_NE(reason(equal).find("; an equally cheap plan reorders \"x\" from ab to strides:"), std::string::npos)
      << reason(equal);
  // The next layout's columns lie one element further apart, and reorders count twice.
  DistanceCosts distances;
  EXPECT_TRUE(reason(distances).ends_with("; avoiding it would cost 2 us more")) << reason(distances);
}

// The solver throws the standard library's exceptions; those who call the planner get an Error.
TEST(OptimizeErrors, APlanThatIsNotPossibleIsUnsupported) {
  // The input is row-major, no product can read that, and no reorder is possible.
  OddCosts costs({}, kImpossible);
  const Error error = test::error_of([&] { optimize(two_products(), ManyImplementations(3, 1), costs); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.message();
}

TEST(OptimizeErrors, CostsThatAreNoneAreInvalidArguments) {
  OddCosts costs(-1, {});
  const Error error = test::error_of([&] { optimize(two_products(), ManyImplementations(3), costs); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.message();
}

TEST(OptimizeErrors, TooManyCombinationsOfLayoutsAreALimit) {
  // Eighteen readers of one tensor, each in one of eighteen layouts: its readers can need 2^18 sets of layouts.
  Graph graph;
  const TensorId x = graph.input("x", kDims);
  const std::vector<float> weights(64, 1.0f);
  for (int i = 0; i < 18; ++i) graph.output(graph.matmul(x, graph.constant("w" + std::to_string(i), {8, 8}, weights)));
  test::ByteCosts costs;
  const Error error = test::error_of([&] { optimize(graph, ManyImplementations(18), costs); });
  EXPECT_EQ(error.code(), ErrorCode::limit) << error.message();
}

TEST(OptimizeErrors, ExplainingHandsThemOn) {
  test::ByteCosts costs;
  const Graph graph = two_products();
  OptimalPlan plan = optimize(graph, ManyImplementations(5), costs);
  plan.space.problem.operations[0].choices[0].cost = -1;
  const Error error = test::error_of([&] { explain_reorders(graph, plan); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.message();
}

}  // namespace
}  // namespace relayout::graph
