// Plans for a backend that refuses layouts that parts of concats have.
#include <gtest/gtest.h>

#include <iostream>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/simplify.h"
#include "tests/support/random_graph.h"
#include "tests/support/run_model.h"
#include "tests/support/simple_costs.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::Implementation;
using graph::NodeId;
using graph::TensorId;
using graph::Values;

/// Another backend's implementations, except those with a destination that does not begin at offset 0.
class WritesFromZero : public graph::Backend {
 public:
  explicit WritesFromZero(const graph::Backend& backend) : backend_(backend) {}
  std::string name() const override { return "from zero"; }
  int threads() const override { return backend_.threads(); }
  std::vector<Implementation> implementations(const Graph& graph, NodeId node,
                                              std::span<const graph::LayoutRequest> src,
                                              std::span<const graph::LayoutRequest> dst,
                                              const Implementation* forward) const override {
    if (std::ranges::any_of(dst, begins_within)) return {};
    return backend_.implementations(graph, node, src, dst, forward);
  }
  std::unique_ptr<graph::Executable> make(const Graph& graph, NodeId node, const Implementation& implementation,
                                          const Implementation* forward_implementation,
                                          graph::Executable* forward) const override {
    if (std::ranges::any_of(implementation.dst, begins_within)) {
      throw Error(ErrorCode::unsupported, "a destination begins within memory");
    }
    return backend_.make(graph, node, implementation, forward_implementation, forward);
  }
  void reorder_into(const Graph& graph, NodeId node, const Implementation& implementation, std::size_t operand,
                    const void* src, void* dst) const override {
    backend_.reorder_into(graph, node, implementation, operand, src, dst);
  }

 private:
  static bool begins_within(const graph::LayoutRequest& request) {
    return request && !request->empty() && request->offset_range().first != 0;
  }
  const graph::Backend& backend_;
};

class OptimizeRefused : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
  }

  void check(const Graph& graph, const std::vector<Values>& inputs, const std::vector<Values>& want,
             graph::Costs& costs) {
    const WritesFromZero refusing(*backend_);
    const double least = graph::optimize(graph, *backend_, costs).cost_us;
    const graph::OptimalPlan best = graph::optimize(graph, refusing, costs);
    EXPECT_GE(best.cost_us, least - 1e-9);
    EXPECT_NEAR(graph::predict(graph, best.plan, costs).total(), best.cost_us, 1e-3);
    dearer_ += best.cost_us > least + 1e-9;
    ++plans_;
    Model model(graph, best.plan, refusing, {.check_padding = true});
    const std::vector<Values> got = test::run_model(model, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) test::expect_outputs_near(got[i], want[i], 1e-3);
  }

  std::unique_ptr<graph::Backend> backend_;
  int plans_ = 0, dearer_ = 0;
};

TEST_F(OptimizeRefused, PlansAreMakeable) {
  for (const graph::ModelBuilder& each : graph::models()) {
    SCOPED_TRACE(std::string(each.name));
    Graph graph = each.build({.batch = 1, .image = 32, .channels = 16});
    std::mt19937 rng(5);
    std::vector<Values> inputs;
    for (TensorId t : graph.inputs) inputs.push_back(test::random_values(test::elements(graph, t), rng));
    const std::vector<Values> want = graph::evaluate(graph, inputs);
    graph::simplify(graph);
    for (TensorId t : graph.inputs) graph.tensor(t).layout = Layout::contiguous(graph.tensor(t).dims);
    for (unsigned seed = 0; seed < 4 && !HasFailure(); ++seed) {
      test::RandomCosts costs(seed, 0.3);
      check(graph, inputs, want, costs);
    }
  }
  for (unsigned seed = 0; seed < 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::RandomGraph random(seed, 6, DType::f32);
    test::RandomCosts costs(seed, 2);
    check(random.graph, random.values, graph::evaluate(random.graph, random.values), costs);
  }
  std::cout << plans_ << " plans, " << dearer_ << " dearer than where nothing is refused\n";
  EXPECT_GT(dearer_, 5);
}

}  // namespace
}  // namespace relayout::execute
