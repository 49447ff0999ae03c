// Predicted costs are the sum over all that a plan runs; reorders are priced by when their memory was last touched.
#include "relayout/graph/plan/cost.h"

#include <gtest/gtest.h>

#include <map>

#include "relayout/graph/passes/backward.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::bound;

const Dims kCostDims{1, 32, 14, 14};

/// A convolution, whose result a relu (in place) and a pooling read, and a concat of both without a copy; its input and
/// its weights are reordered.
struct Planned {
  Graph graph;
  LayoutPlan plan;

  Planned() {
    const TensorId x = graph.input("x", kCostDims);
    const TensorId w = graph.constant("w", {32, 32, 1, 1}, std::vector<float>(1024, 1));
    const TensorId y = graph.convolution(x, w);
    const TensorId r = graph.eltwise(y, {.algorithm = EltwiseAlgorithm::relu});
    const TensorId p = graph.pooling(y, {.kernel = {3, 3}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
    const TensorId c = graph.concat({r, p});
    graph.output(c);
    const Layout whole = bound("nchw", graph.tensor(c).dims);
    const Layout first = Layout::strided(kCostDims, {2 * 32 * 196, 196, 14, 1});
    const Layout second = Layout::strided(kCostDims, {2 * 32 * 196, 196, 14, 1}, 32 * 196);
    plan.copies = {{.tensor = x, .layout = bound("nchw", kCostDims)},
                   {.tensor = x, .layout = bound("nhwc", kCostDims), .from = 0},
                   {.tensor = w, .layout = bound("abcd", {32, 32, 1, 1})},
                   {.tensor = w, .layout = bound("cdba", {32, 32, 1, 1}), .from = 2},
                   {.tensor = c, .layout = whole},
                   {.tensor = y, .layout = first, .view_of = 4},
                   {.tensor = r, .layout = first, .view_of = 5},
                   {.tensor = p, .layout = second, .view_of = 4},
                   // Nothing reads it.
                   {.tensor = y, .layout = bound("nhwc", kCostDims), .from = 5}};
    plan.nodes = {{"conv", false, {1, 3, kNone}, {5}},
                  {"relu", false, {5}, {6}},
                  {"pool", false, {5}, {7}},
                  {"view", false, {6, 7}, {4}}};
    plan.inputs = {0};
    plan.outputs = {4};
  }
};

/// Fixed costs; records what it was asked for.
class Table : public Costs {
 public:
  std::string name() const override { return "table"; }
  double primitive(const CostContext& context, NodeId node, const Implementation& implementation, const Implementation*,
                   bool in_place) override {
    EXPECT_EQ(implementation.src.size(), context.graph().node(node).src.size());
    asked[implementation.name] = in_place;
    return 100;
  }
  double reorder(const ReorderSetting&, const TensorDesc& from, const TensorDesc& to) override {
    reorders.push_back({from, to});
    return 10;
  }
  std::map<std::string, bool> asked;
  std::vector<std::pair<TensorDesc, TensorDesc>> reorders;
};

TEST(Predict, AddsUpWhatRuns) {
  const Planned planned;
  Table costs;
  const PredictedCost cost = predict(planned.graph, planned.plan, costs);
  EXPECT_EQ(cost.primitives, 300);
  EXPECT_EQ(cost.reorders, 10);
  EXPECT_EQ(cost.time(), 310);
  EXPECT_EQ(cost.margin, 10 * kMoveMargin);
  EXPECT_EQ(cost.total(), 310 + 10 * kMoveMargin);
  EXPECT_EQ(costs.asked, (std::map<std::string, bool>{{"conv", false}, {"relu", true}, {"pool", false}}));
  ASSERT_EQ(costs.reorders.size(), 1u);
  EXPECT_EQ(costs.reorders[0].first.layout, bound("nchw", kCostDims));
  EXPECT_EQ(costs.reorders[0].second.layout, bound("nhwc", kCostDims));
}

TEST(Predict, AConcatThatMovesIsRun) {
  Planned planned;
  planned.plan.copies[7] = {.tensor = planned.plan.copies[7].tensor, .layout = bound("nchw", kCostDims)};
  planned.plan.nodes[3].implementation = "concat";
  Table costs;
  const PredictedCost cost = predict(planned.graph, planned.plan, costs);
  EXPECT_EQ(cost.primitives, 400);
  EXPECT_EQ(cost.margin, 110 * kMoveMargin);
}

TEST(ReorderSetting, SaysWhatHasLeftTheCaches) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 8}), w = graph.constant("w", {8, 8}, std::vector<float>(64, 1.0f));
  const TensorId y = graph.inner_product(x, w), z = graph.eltwise(y, {.algorithm = EltwiseAlgorithm::relu});
  graph.output(z);
  const CostContext inference(graph);
  for (TensorId given : {x, w}) EXPECT_EQ(inference.reorder_setting(given), (ReorderSetting{.far_source = true}));
  for (TensorId made : {y, z}) EXPECT_EQ(inference.reorder_setting(made), ReorderSetting{});
  // In a training step, what a backward node reads of the forward pass was written long before; gradients were just
  // written.
  Graph step;
  step.pass = Pass::forward_training;
  const TensorId image = step.input("x", {1, 8}), weights = step.input("w", {8, 8});
  const TensorId product = step.inner_product(image, weights);
  const TensorId positive = step.eltwise(product, {.algorithm = EltwiseAlgorithm::relu});
  step.output(positive);
  const std::size_t forward = step.nodes.size();
  append_backward(step, std::span(&weights, 1));
  const CostContext training(step);
  EXPECT_EQ(training.reorder_setting(image), (ReorderSetting{true, true}));
  EXPECT_EQ(training.reorder_setting(product), (ReorderSetting{true, true}));
  EXPECT_EQ(training.reorder_setting(positive), (ReorderSetting{false, true}));
  ASSERT_GT(step.nodes.size(), forward);
  for (std::size_t n = forward; n < step.nodes.size(); ++n)
    EXPECT_EQ(training.reorder_setting(step.nodes[n].dst[0]), (ReorderSetting{false, true}));
}

}  // namespace
}  // namespace relayout::graph
