// Measured costs: near what a run takes, remembered in a file, and good without one.
#include "relayout/execute/measured_costs.h"

#include <gtest/gtest.h>

#include "relayout/execute/calibrate.h"
#include "relayout/execute/cost_cache.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/models.h"
#include "relayout/graph/propagate.h"
#include "relayout/graph/simplify.h"
#include "tests/support/testing.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::LayoutPlan;

class MeasuredCostsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
    graph_ = graph::mobilenet_v2({.image = 64});
    graph::simplify(graph_);
    plan_ = propagate(graph_, *backend_);
  }
  std::unique_ptr<graph::Backend> backend_;
  Graph graph_;
  LayoutPlan plan_;
};

TEST_F(MeasuredCostsTest, AreRememberedInAFile) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "measured-costs-remembered";
  std::filesystem::remove_all(folder);
  const std::filesystem::path file = folder / "sub" / "costs.txt";
  double first = 0;
  {
    const auto costs = measured_costs(*backend_, {.file = file});
    first = predict(graph_, plan_, *costs).total();
    EXPECT_GT(costs->measured(), 10);
  }
  const auto costs = measured_costs(*backend_, {.file = file});
  EXPECT_EQ(predict(graph_, plan_, *costs).total(), first);
  EXPECT_EQ(costs->measured(), 0);
  EXPECT_GT(costs->remembered(), 10);
}

}  // namespace
}  // namespace relayout::execute
