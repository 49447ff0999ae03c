// The speeds of the machine: measured once, kept where they can be.
#include "relayout/execute/measure/calibrate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/measured_costs.h"
#include "relayout/execute/measure/step.h"
#include "relayout/graph/plan/propagate.h"
#include "tests/support/measured_costs_fixture.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using CalibrateTest = MeasuredCostsTest;

// Other work on the machine may leave nothing of a step, which then must not be kept.
TEST_F(CalibrateTest, SpeedsThatCannotBeAreMeasuredAnew) {
  const graph::Calibration good = {.flops_per_us = 1e5,
                                   .near_bytes_per_us = 1e5,
                                   .cache_bytes_per_us = 5e4,
                                   .memory_bytes_per_us = 1e4,
                                   .call_us = 0.5,
                                   .step_us = 2};
  EXPECT_TRUE(plausible(good));
  for (double graph::Calibration::*speed :
       {&graph::Calibration::flops_per_us, &graph::Calibration::near_bytes_per_us,
        &graph::Calibration::cache_bytes_per_us, &graph::Calibration::memory_bytes_per_us, &graph::Calibration::call_us,
        &graph::Calibration::step_us}) {
    for (const double value :
         {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      graph::Calibration bad = good;
      bad.*speed = value;
      EXPECT_FALSE(plausible(bad));
    }
  }
  graph::Calibration slow = good;
  slow.near_bytes_per_us = 5e3;
  EXPECT_FALSE(plausible(slow));

  const graph::CostKey step = step_key(environment_key(*backend_));
  calibrate(*backend_, {.file = file_});
  CostCache cache;
  cache.insert(step, 0);
  cache.save(file_);
  EXPECT_FALSE(calibrate(*backend_, {.file = file_}).remembered);
  // Measured costs pay a step, too, and do not keep one of nothing.
  cache.save(file_);
  const Graph graph = relu({1, 16, 8, 8});
  const auto costs = measured_costs(*backend_, {.file = file_});
  EXPECT_GT(predict(graph, propagate(graph, *backend_), *costs).total(), 0);
  costs->save();
  if (costs->step_doubtful()) GTEST_SKIP() << "too much else runs here to measure a step";
  CostCache after;
  after.load(file_);
  ASSERT_TRUE(after.find(step));
  EXPECT_GT(*after.find(step), 0);
}

TEST_F(CalibrateTest, SpeedsAreMeasuredOnce) {
  const Calibrated first = calibrate(*backend_, {.file = file_});
  EXPECT_FALSE(first.remembered);
  EXPECT_EQ(first.file_error, std::nullopt);
  EXPECT_EQ(first.speeds.threads, 1);
  EXPECT_GT(first.speeds.flops_per_us, 0);
  EXPECT_GT(first.speeds.near_bytes_per_us, first.speeds.memory_bytes_per_us / 2);
  EXPECT_GT(first.speeds.memory_bytes_per_us, 0);
  EXPECT_GT(first.speeds.call_us, 0);
  EXPECT_EQ(first.doubtful, !plausible(first.speeds));
  // Measured as a difference: none where other work on the machine hides it, in all attempts.
  EXPECT_GE(first.speeds.step_us, 0);
  EXPECT_LT(first.speeds.step_us, 1000);
  if (first.doubtful) GTEST_SKIP() << "other work on the machine";
  const Calibrated second = calibrate(*backend_, {.file = file_});
  EXPECT_TRUE(second.remembered);
  EXPECT_EQ(second.speeds.flops_per_us, first.speeds.flops_per_us);
  EXPECT_EQ(second.speeds.call_us, first.speeds.call_us);
  EXPECT_EQ(second.speeds.step_us, first.speeds.step_us);
  // What is measured in its place is found next time, or nothing is where it is doubtful.
  const Calibrated again = calibrate(*backend_, {.file = file_, .remeasure = true});
  EXPECT_FALSE(again.remembered);
  EXPECT_EQ(calibrate(*backend_, {.file = file_}).remembered, !again.doubtful);
  // Of other threads nothing is known yet.
  EXPECT_FALSE(calibrate(*onednn_backend(2), {.file = file_}).remembered);
  std::ofstream(file_) << "something else";
  const Calibrated third = calibrate(*backend_, {.file = file_});
  ASSERT_TRUE(third.file_error);
  EXPECT_GT(third.speeds.flops_per_us, 0);
}

}  // namespace
}  // namespace relayout::execute
