// The choices of graphs, run: whatever assignment of them is planned computes what the reference does, with padding
// checked after every step.
#include "relayout/graph/optimize/optimize.h"

#include <gtest/gtest.h>

#include <bit>
#include <iostream>
#include <numeric>

#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/passes/backward.h"
#include "relayout/graph/passes/simplify.h"
#include "tests/support/random_graph.h"
#include "tests/support/run_model.h"
#include "tests/support/simple_costs.h"

namespace relayout::execute {
namespace {

using graph::ChoiceSpace;
using graph::Graph;
using graph::kNone;
using graph::LayoutPlan;
using graph::TensorId;
using graph::Values;
using solve::Assignment;
using solve::PlacementSet;

/// What plans have of the ways in which a tensor shares memory.
struct Counts {
  int graphs = 0, nodes = 0, reorders = 0, in_place = 0, concats = 0, concats_in_place = 0, part_reorders = 0,
      views = 0;

  void add(const Graph& graph, const LayoutPlan& plan) {
    ++graphs;
    nodes += static_cast<int>(graph.nodes.size());
    reorders += static_cast<int>(plan.reorders(graph).size());
    for (graph::CopyId id : plan.reorders(graph)) part_reorders += plan.copy(id).view_of != kNone;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const graph::PlannedNode& node = plan.nodes[n];
      const bool view = node.implementation == "view", concat = graph.nodes[n].kind == graph::Kind::concat;
      concats += concat;
      concats_in_place += concat && view;
      views += view && !concat;
      in_place += !view && node.dst[0] != kNone && plan.copy(node.dst[0]).view_of != kNone &&
                  plan.copy(node.dst[0]).view_of == node.src[0];
    }
  }
};

std::ostream& operator<<(std::ostream& out, const Counts& c) {
  return out << c.graphs << " plans of " << c.nodes << " nodes: " << c.reorders << " reorders (" << c.part_reorders
             << " into parts), " << c.in_place << " in place, " << c.concats_in_place << " of " << c.concats
             << " concats move nothing, " << c.views << " views";
}

/// Any choice of each operation that can read its sources, where a reorder can make what is missing.
Assignment random_assignment(const solve::LayoutProblem& problem, std::mt19937& rng) {
  Assignment out;
  out.reorders.resize(problem.tensors.size());
  std::vector<PlacementSet> made(problem.tensors.size());
  const auto pick = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(rng); };
  /// The reorder from a placement that there is to one of `placements`, or nothing.
  const auto reorder_to = [&](std::size_t t, PlacementSet placements) -> std::optional<solve::PlacementReorder> {
    const solve::ProblemTensor& tensor = problem.tensors[t];
    std::vector<solve::PlacementReorder> all;
    for (int i = 0; i < tensor.placements; ++i) {
      for (int j = 0; j < tensor.placements; ++j) {
        if ((made[t] >> i & 1) != 0 && (placements >> j & 1) != 0 && tensor.reorder_cost(i, j) < graph::kImpossible) {
          all.push_back({i, j});
        }
      }
    }
    return all.empty() ? std::nullopt : std::optional(all[pick(all.size())]);
  };
  for (const solve::ProblemOperation& op : problem.operations) {
    std::vector<int> possible;
    for (std::size_t c = 0; c < op.choices.size(); ++c) {
      const solve::ProblemChoice& choice = op.choices[c];
      const int hint = op.hint < 0 ? 0 : out.choice[static_cast<std::size_t>(op.hint)];
      bool fits = choice.with_hint.empty() || std::ranges::find(choice.with_hint, hint) != choice.with_hint.end();
      for (std::size_t i = 0; i < op.src.size() && fits; ++i) {
        const auto t = static_cast<std::size_t>(op.src[i]);
        fits = (made[t] & choice.src[i]) != 0 || reorder_to(t, choice.src[i]);
      }
      if (fits) possible.push_back(static_cast<int>(c));
    }
    if (possible.empty()) throw Error(ErrorCode::unsupported, "no choice of this assignment goes on");
    out.choice.push_back(possible[pick(possible.size())]);
    const solve::ProblemChoice& choice = op.choices[static_cast<std::size_t>(out.choice.back())];
    for (std::size_t i = 0; i < op.src.size(); ++i) {
      const auto t = static_cast<std::size_t>(op.src[i]);
      if ((made[t] & choice.src[i]) != 0) continue;
      const solve::PlacementReorder reorder = reorder_to(t, choice.src[i]).value();
      out.reorders[t].push_back(reorder);
      made[t] |= PlacementSet{1} << reorder.to;
    }
    for (std::size_t i = 0; i < op.dst.size(); ++i)
      made[static_cast<std::size_t>(op.dst[i])] = PlacementSet{1} << choice.dst[i];
  }
  return out;
}

class Optimize : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
  }
  void expect_equal(const Graph& graph, const LayoutPlan& plan, const std::vector<Values>& inputs,
                    const std::vector<Values>& want, double tolerance, int threads = 1) {
    const auto backend = onednn_backend(threads);
    Model model(graph, plan, *backend, {.check_padding = true});
    const std::vector<Values> got = test::run_model(model, inputs);
    ASSERT_EQ(got.size(), want.size());
    // Gradients through normalizations cancel: what is small beside the others is rounding.
    double largest = 0;
    for (const Values& values : want) {
      for (double x : values) largest = std::max(largest, std::abs(x));
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      double scale = 0;
      for (double x : want[i]) scale = std::max(scale, std::abs(x));
      test::expect_outputs_near(got[i], want[i], tolerance * std::max(1., 1e-2 * largest / std::max(scale, 1e-3)));
    }
    counts_.add(graph, plan);
  }
  std::unique_ptr<graph::Backend> backend_;
  Counts counts_;
};

/// Of random graphs: some, and those in which a view of padded blocks is read where it begins within memory, a
/// destination would follow a source that repeats, resampling goes backward in its forward one's layouts, PReLU reads
/// padded blocks and a view of them, and LRN and PReLU go backward over views that begin within memory.
std::vector<unsigned> seeds() {
  std::vector<unsigned> out(60);
  std::iota(out.begin(), out.end(), 0U);
  out.insert(out.end(), {495, 662, 791, 918, 1052, 1620, 3263});
  return out;
}

/// A random graph with its gradients, and what it gives.
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
    for (unsigned round = 0; round < 4 && !HasFailure(); ++round) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
      std::mt19937 rng(round);
      const Assignment assignment = random_assignment(space.problem, rng);
      expect_equal(random.graph, plan_of(random.graph, *backend_, space, assignment), random.values, random.want, 1e-3,
                   round % 2 == 0 ? 1 : 2);
    }
  }
  std::cout << counts_ << "\n";
}

TEST_F(Optimize, AnyAssignmentOfModelsRuns) {
  for (const graph::ModelBuilder& each : graph::models()) {
    for (const graph::ModelBuildOptions& options :
         {graph::ModelBuildOptions{.batch = 1, .image = 32, .channels = 16},
          graph::ModelBuildOptions{.batch = 2, .image = 33, .channels = 12}}) {
      Graph graph = each.build(options);
      const std::vector<Values> inputs = test::random_inputs(graph, 5);
      const std::vector<Values> want = graph::evaluate(graph, inputs);
      graph::simplify(graph);
      test::ByteCosts costs;
      const ChoiceSpace space = graph::choice_space(graph, *backend_, costs);
      for (unsigned round = 0; round < 4 && !HasFailure(); ++round) {
        SCOPED_TRACE(std::string(each.name) + ", batch " + std::to_string(options.batch) + ", round " +
                     std::to_string(round));
        std::mt19937 rng(round);
        const Assignment assignment = random_assignment(space.problem, rng);
        expect_equal(graph, plan_of(graph, *backend_, space, assignment), inputs, want, 1e-4, round % 2 == 0 ? 1 : 2);
      }
    }
  }
  std::cout << counts_ << "\n";
}

/// Costs by chance drive plans into layouts that nothing else would choose.
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

TEST_F(Optimize, CheapestPlansOfModelsRun) {
  for (const graph::ModelBuilder& each : graph::models()) {
    for (const graph::ModelBuildOptions& options :
         {graph::ModelBuildOptions{.batch = 1, .image = 32, .channels = 16},
          graph::ModelBuildOptions{.batch = 2, .image = 33, .channels = 12}}) {
      SCOPED_TRACE(std::string(each.name) + ", batch " + std::to_string(options.batch));
      Graph graph = each.build(options);
      const std::vector<Values> inputs = test::random_inputs(graph, 5);
      const std::vector<Values> want = graph::evaluate(graph, inputs);
      graph::simplify(graph);
      for (TensorId t : graph.inputs) graph.tensor(t).layout = Layout::contiguous(graph.tensor(t).dims);
      for (unsigned seed = 0; seed < 5 && !HasFailure(); ++seed) {
        test::ByteCosts bytes;
        test::RandomCosts random(seed, 0.3);
        graph::Costs& costs = seed == 0 ? static_cast<graph::Costs&>(bytes) : random;
        const graph::OptimalPlan best = graph::optimize(graph, *backend_, costs);
        EXPECT_TRUE(best.optimal);
        // What the problem says is what the plan costs, but for the little that keeps needless reorders of constants
        // out.
        EXPECT_NEAR(graph::predict(graph, best.plan, costs).total(), best.cost_us, 1e-3);
        expect_equal(graph, best.plan, inputs, want, 1e-4, seed % 2 == 0 ? 2 : 1);
        if (seed != 0) continue;
        Counts counts;
        counts.add(graph, best.plan);
        // By bytes nothing is moved that need not be.
        if (options.batch == 1) {
          EXPECT_EQ(counts.concats, counts.concats_in_place);
          if (each.name == "inception" || each.name == "densenet" || each.name == "mobilenet_v2") {
            EXPECT_GT(counts.in_place, 5);
            EXPECT_EQ(counts.reorders, 0);
          }
        }
      }
    }
  }
  std::cout << counts_ << "\n";
  EXPECT_GT(counts_.concats_in_place, 50);
  EXPECT_GT(counts_.part_reorders, 10);
}

TEST_F(Optimize, CheapestPlansOfTrainingRun) {
  for (const graph::ModelBuilder& each : graph::models()) {
    // Recurrent cells' gradients are in the random graphs. Of DenseNet some value is so near zero that f32 takes it for
    // the other side of a relu than f64, in any layout.
    if (each.name == "lstm" || each.name == "densenet") continue;
    SCOPED_TRACE(std::string(each.name));
    // Of 32, the last stage of ShuffleNet has one place: to normalize two values takes their rounding for a sign.
    const int64_t image = each.name == "shufflenet" ? 64 : 32;
    Graph graph = each.build({.batch = 2, .image = image, .channels = 8, .pass = graph::Pass::forward_training});
    std::vector<Values> inputs = test::random_inputs(graph, 5);
    std::vector<TensorId> wrt = graph.inputs;
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].constant()) wrt.push_back(static_cast<TensorId>(t));
    }
    graph::append_backward(graph, wrt);
    for (std::size_t i = inputs.size(); i < graph.inputs.size(); ++i) {
      std::mt19937 rng(static_cast<unsigned>(i));
      inputs.push_back(test::random_values(test::elements(graph, graph.inputs[i]), rng));
      for (double& x : inputs.back()) x = static_cast<double>(static_cast<float>(x));
    }
    const std::vector<Values> want = graph::evaluate(graph, inputs);
    for (unsigned seed = 0; seed < 3 && !HasFailure(); ++seed) {
      test::ByteCosts bytes;
      test::RandomCosts random(seed, 0.3);
      graph::Costs& costs = seed == 0 ? static_cast<graph::Costs&>(bytes) : random;
      const graph::OptimalPlan best = graph::optimize(graph, *backend_, costs);
      EXPECT_TRUE(best.optimal);
      expect_equal(graph, best.plan, inputs, want, 2e-3);
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

/// conv -> conv in nhwc at will, whose result must be nchw.
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
  EXPECT_NE(reason.find("avoiding it would cost"), std::string::npos) << reason;
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
