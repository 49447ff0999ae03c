// What tests of measured costs share: a folder for their files, stated run times, and a small graph.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/measured_costs.h"
#include "relayout/execute/measure/step.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/ir/graph.h"
#include "tests/support/fake_stopwatch.h"

namespace relayout::execute {

class MeasuredCostsTest : public testing::Test {
 protected:
  /// Microseconds that each run takes by the stopwatch, and that a step takes in addition after keep_step().
  static constexpr double kRunUs = 100, kStepUs = 1;
  /// With runs this long, the time of a step is measured in one attempt only.
  static constexpr double kLongRunUs = 1e5;

  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
    runs_take(kRunUs);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static graph::Graph relu(const Dims& dims) {
    graph::Graph graph;
    graph.output(graph.eltwise(graph.input("x", dims), {.algorithm = graph::EltwiseAlgorithm::relu}));
    return graph;
  }
  /// All runs take this long from now on.
  void runs_take(double us) {
    stopwatch_.takes = [us](int64_t) { return us; };
  }
  MeasuredOptions options(bool remeasure = false) {
    return {.file = file_, .remeasure = remeasure, .stopwatch = &stopwatch_};
  }
  /// Writes a file with the time of a step and nothing else, so that this time is not measured.
  void keep_step(const graph::Backend& backend, double us = kStepUs) const {
    std::filesystem::remove(file_);
    CostCache cache;
    cache.insert(step_key(environment_key(backend)), us);
    cache.save(file_);
  }

  std::unique_ptr<graph::Backend> backend_;
  test::FakeStopwatch stopwatch_;
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("measured-costs-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::path file_ = folder_ / "costs.txt";
};

}  // namespace relayout::execute
