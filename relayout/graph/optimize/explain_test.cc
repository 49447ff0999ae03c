// Plans in words: a line for each primitive and each reorder, and what is predicted. And row-major ends, for which the
// reorders are there.
#include "relayout/graph/optimize/explain.h"

#include <gtest/gtest.h>

#include "relayout/graph/optimize/plan_scene.h"
#include "relayout/graph/passes/prepare.h"
#include "tests/support/simple_costs.h"

namespace relayout::graph {
namespace {

/// Multiplies matrices whose activations are column-major.
class ColumnMajor : public Backend {
 public:
  std::string name() const override { return "columns"; }
  int threads() const override { return 1; }
  std::vector<Implementation> implementations(const Graph& graph, NodeId node, std::span<const LayoutRequest> src,
                                              std::span<const LayoutRequest> dst,
                                              const Implementation*) const override {
    const Node& product = graph.node(node);
    const auto columns = [&](TensorId t) { return Format::parse("ba").bind(graph.tensor(t).dims); };
    Implementation out{.name = "by_columns", .src = {columns(product.src[0])}, .dst = {columns(product.dst[0])}};
    out.src.emplace_back(Layout::contiguous(graph.tensor(product.src[1]).dims));
    out.src.resize(product.src.size());
    if ((src[0] && src[0] != out.src[0]) || (dst[0] && dst[0] != out.dst[0])) return {};
    return {out};
  }
  std::unique_ptr<Executable> make(const Graph&, NodeId, const Implementation&, const Implementation*,
                                   Executable*) const override {
    throw Error(ErrorCode::unsupported, "nothing is run");
  }
};

Graph product() {
  Graph graph;
  graph.output(graph.matmul(graph.input("x", {3, 4}), graph.constant("w", {4, 4}, std::vector<float>(16, 1))));
  graph.nodes[0].name = "product";
  return graph;
}

std::string explained(const Graph& graph) {
  test::ByteCosts costs;
  const OptimalPlan best = optimize(graph, ColumnMajor(), costs);
  return explain(graph, best, predict(graph, best.plan, costs), costs.name());
}

TEST(Explain, SaysPrimitivesReordersAndTimes) {
  Graph graph = product();
  EXPECT_EQ(explained(graph),
            "product by by_columns: ba, ab -> ba\n"
            "predicted by bytes prices: primitives 160.0 us, reorders 0.0 us; no plan costs less by these prices");
  make_ends_row_major(graph);
  const std::string text = explained(graph);
  EXPECT_EQ(text.find("product by by_columns: ba, ab -> ba\nreorder: "), 0u) << text;
  EXPECT_NE(text.find("\nreorder: ", 40), std::string::npos) << text;
  EXPECT_NE(text.find("reorders 192.0 us"), std::string::npos) << text;
}

TEST(PlanScene, HasTheGraphThePlansAndTheirPrices) {
  Graph graph = product();
  make_ends_row_major(graph);
  test::ByteCosts costs;
  const OptimalPlan best = optimize(graph, ColumnMajor(), costs);
  const PredictedCost cost = predict(graph, best.plan, costs);
  const std::vector<PlanToShow> plans = {
      {.policy = "no such", .problem = "why"},
      {.policy = "optimal", .plan = &best.plan, .predicted = &cost, .cost_us = best.cost_us, .measured_us = 7}};
  const show::PlanScene scene = plan_scene(graph, "a model", plans, "bytes");
  EXPECT_NO_THROW(check(scene));
  EXPECT_EQ(scene.title, "a model");
  EXPECT_EQ(scene.chosen, 1);
  ASSERT_EQ(scene.nodes.size(), 1U);
  EXPECT_EQ(scene.nodes[0].name, "product");
  EXPECT_EQ(scene.nodes[0].kind, "matmul");
  EXPECT_EQ(scene.plans[0].problem, "why");
  EXPECT_FALSE(scene.plans[0].has_plan());
  const show::ShownPlan& shown = scene.plans[1];
  EXPECT_EQ(shown.predicted_us, cost.time());
  EXPECT_EQ(shown.cost_us, best.cost_us);
  EXPECT_EQ(shown.steps[0].us, cost.nodes[0]);
  EXPECT_EQ(shown.steps[0].implementation, "by_columns");
  ASSERT_EQ(shown.copies.size(), best.plan.copies.size());
  const show::PlanFacts facts(scene, 1);
  EXPECT_EQ(std::ssize(facts.reorders()), *shown.reorders);
  ASSERT_FALSE(facts.reorders().empty());
  double reorders = 0;
  int64_t bytes = 0;
  for (const int copy : facts.reorders()) {
    reorders += shown.copies[static_cast<std::size_t>(copy)].us.value();
    bytes += shown.copies[static_cast<std::size_t>(copy)].bytes.value();
    EXPECT_EQ(shown.copies[static_cast<std::size_t>(copy)].reason, best.plan.copy(copy).reason);
  }
  EXPECT_DOUBLE_EQ(reorders, cost.reorders);
  EXPECT_EQ(bytes, *shown.reorder_bytes);
  EXPECT_THROW(plan_scene(graph, "", std::span(plans).first(1)), Error);
}

TEST(Explain, RowMajorEndsKeepOtherLayouts) {
  Graph graph = product();
  const Layout columns = Format::parse("ba").bind({3, 4});
  graph.tensor(graph.inputs[0]).layout = columns;
  make_ends_row_major(graph);
  EXPECT_EQ(graph.tensor(graph.inputs[0]).layout, columns);
  EXPECT_EQ(graph.tensor(graph.outputs[0]).layout, Layout::contiguous({3, 4}));
}

}  // namespace
}  // namespace relayout::graph
