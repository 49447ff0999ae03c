// Tests which speeds are plausible, when they are measured again, and when they are kept. The tests state the measured
// times; no clock is read.
#include "relayout/execute/measure/calibrate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "relayout/cpu/machine.h"
#include "relayout/execute/measure/calibrate_by.h"
#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/step.h"
#include "tests/support/measured_costs_fixture.h"

namespace relayout::execute {
namespace {

using graph::Calibration;

constexpr Calibration kGood = {.flops_per_us = 1e5,
                               .near_bytes_per_us = 1e5,
                               .cache_bytes_per_us = 5e4,
                               .memory_bytes_per_us = 1e4,
                               .call_us = 0.5,
                               .step_us = 2};
/// Speeds without the time of a step, as if other work on the machine had hidden it.
constexpr Calibration kWithoutStep = [] {
  Calibration out = kGood;
  out.step_us = 0;
  return out;
}();
constexpr double Calibration::*kSpeeds[] = {
    &Calibration::flops_per_us,        &Calibration::near_bytes_per_us, &Calibration::cache_bytes_per_us,
    &Calibration::memory_bytes_per_us, &Calibration::call_us,           &Calibration::step_us,
    &Calibration::narrow_share};

void expect_equal(const Calibration& a, const Calibration& b) {
  for (double Calibration::*speed : kSpeeds) EXPECT_EQ(a.*speed, b.*speed);
}

class CalibrateTest : public MeasuredCostsTest {
 protected:
  /// Calibrates with measurements that find these speeds one after the other. The last one repeats.
  Calibrated calibrated(const std::vector<Calibration>& found, bool remeasure = false,
                        const graph::CostKey& environment = {1, 2}) {
    measured_ = 0;
    return calibrate_by(
        [&] {
          stopwatch_.pass(measuring_us_);
          return found[std::min(measured_++, found.size() - 1)];
        },
        environment, {.file = file_, .remeasure = remeasure, .stopwatch = &stopwatch_});
  }

  /// How long a measurement takes, and how many measurements the last call of calibrated() made.
  double measuring_us_ = 5e5;
  std::size_t measured_ = 0;
};

TEST_F(CalibrateTest, SpeedsThatContradictEachOtherAreImplausible) {
  EXPECT_TRUE(plausible(kGood));
  for (double Calibration::*speed : kSpeeds) {
    for (const double value :
         {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      Calibration bad = kGood;
      bad.*speed = value;
      EXPECT_FALSE(plausible(bad));
    }
  }
  // A slice of the scheduler's, for which each call of two threads waited on a busy machine.
  for (double Calibration::*overhead : {&Calibration::call_us, &Calibration::step_us}) {
    Calibration waited = kGood;
    waited.*overhead = 11976.455;
    EXPECT_FALSE(plausible(waited));
    waited.*overhead = 900;
    EXPECT_TRUE(plausible(waited));
  }
  // Implausible: copies within the second cache are slower than those past the last one.
  Calibration slow = kGood;
  slow.near_bytes_per_us = 5e3;
  EXPECT_FALSE(plausible(slow));
}

TEST_F(CalibrateTest, SpeedsAreMeasuredOnce) {
  const Calibrated first = calibrated({kGood});
  EXPECT_FALSE(first.remembered || first.unreliable);
  EXPECT_EQ(first.file_error, std::nullopt);
  EXPECT_EQ(measured_, 1u);
  const Calibrated second = calibrated({kWithoutStep});
  EXPECT_TRUE(second.remembered);
  EXPECT_EQ(measured_, 0u);
  expect_equal(second.speeds, kGood);
  // In another environment, for example with another number of threads, nothing is known yet.
  EXPECT_FALSE(calibrated({kGood}, false, {3, 4}).remembered);

  Calibration faster = kGood;
  faster.flops_per_us *= 2;
  EXPECT_FALSE(calibrated({faster}, true).remembered);
  expect_equal(calibrated({kGood}).speeds, faster);
}

TEST_F(CalibrateTest, ImplausibleSpeedsAreMeasuredAgain) {
  Calibration slow = kWithoutStep, fast = kWithoutStep;
  slow.flops_per_us = 1;
  fast.call_us = 0.1;
  // The best of each speed counts.
  const Calibrated found = calibrated({slow, fast, kGood});
  EXPECT_EQ(measured_, 3u);
  EXPECT_FALSE(found.unreliable);
  Calibration best = kGood;
  best.call_us = 0.1;
  expect_equal(found.speeds, best);
  EXPECT_TRUE(calibrated({slow}).remembered);
}

TEST_F(CalibrateTest, UnreliableSpeedsAreUsedAndNotKept) {
  const Calibrated found = calibrated({kWithoutStep});
  EXPECT_EQ(measured_, 3u);
  EXPECT_TRUE(found.unreliable);
  expect_equal(found.speeds, kWithoutStep);
  EXPECT_FALSE(calibrated({kGood}).remembered);
  // The old speeds, which were to be replaced, are no longer in the file either.
  EXPECT_TRUE(calibrated({kGood}).remembered);
  EXPECT_TRUE(calibrated({kWithoutStep}, true).unreliable);
  EXPECT_FALSE(calibrated({kGood}).remembered);
}

// Calls that wait for the scheduler take equally long each time; they are measured again, and found again in no file.
TEST_F(CalibrateTest, CallsThatWaitForTheSchedulerAreMeasuredAgain) {
  Calibration waited = kGood;
  waited.call_us = waited.step_us = 11976.455;
  EXPECT_FALSE(calibrated({waited, kGood}).unreliable);
  EXPECT_EQ(measured_, 2u);
  expect_equal(calibrated({waited}).speeds, kGood);
  EXPECT_TRUE(calibrated({waited}, true).unreliable);
  EXPECT_EQ(measured_, 3u);
  EXPECT_FALSE(calibrated({kGood}).remembered);
}

TEST_F(CalibrateTest, OnABusyMachineThereIsNoSecondAttempt) {
  measuring_us_ = 4e6;
  EXPECT_TRUE(calibrated({kWithoutStep, kGood}).unreliable);
  EXPECT_EQ(measured_, 1u);
}

TEST_F(CalibrateTest, ImplausibleSpeedsOfAFileAreMeasuredAgain) {
  calibrated({kGood});
  CostCache cache;
  cache.insert(step_key({1, 2}), 0);
  cache.save(file_);
  EXPECT_FALSE(calibrated({kGood}).remembered);
  EXPECT_TRUE(calibrated({kGood}).remembered);
}

TEST_F(CalibrateTest, AreGoodWithoutTheFile) {
  std::ofstream(file_) << "something else";
  const Calibrated found = calibrated({kGood});
  ASSERT_TRUE(found.file_error);
  EXPECT_EQ(found.file_error->code(), ErrorCode::unsupported);
  expect_equal(found.speeds, kGood);
  std::string text;
  std::getline(std::ifstream(file_), text);
  EXPECT_EQ(text, "something else");
}

// If every run takes equally long, whatever it does, copies of more bytes are faster and the chain of steps takes less
// than its parts, which is implausible.
TEST_F(CalibrateTest, SpeedsAreWorkOverTime) {
  // A run takes so long that no measurement is attempted twice.
  constexpr double kUs = kLongRunUs;
  runs_take(kUs);
  const Calibrated found = calibrate(*backend_, {.file = file_, .stopwatch = &stopwatch_});
  EXPECT_TRUE(found.unreliable);
  EXPECT_FALSE(std::filesystem::exists(file_));
  const Machine& machine = cpu::machine();
  EXPECT_EQ(found.speeds.threads, 1);
  EXPECT_EQ(found.speeds.machine.l2, machine.l2);
  EXPECT_DOUBLE_EQ(found.speeds.flops_per_us, 2.0 * 64 * 64 * 3 * 3 * 56 * 56 / kUs);
  // A copy reads half of the bytes and writes the other half, each rounded to whole floats.
  EXPECT_NEAR(found.speeds.near_bytes_per_us, static_cast<double>(machine.l2 / 2) / kUs, 8 / kUs);
  EXPECT_NEAR(found.speeds.memory_bytes_per_us, static_cast<double>(3 * machine.l3_share()) / kUs, 8 / kUs);
  EXPECT_EQ(found.speeds.call_us, kUs);
  EXPECT_EQ(found.speeds.narrow_share, 1);
  EXPECT_EQ(found.speeds.step_us, 0);
}

TEST_F(CalibrateTest, KnownSpeedsAreNotMeasured) {
  const auto never = [] { FAIL() << "measured"; };
  const Calibrated found = calibrate(*backend_, {.file = file_, .known = kGood, .check = never});
  expect_equal(found.speeds, kGood);
  EXPECT_EQ(found.speeds.threads, 1);
  EXPECT_EQ(found.speeds.machine.l2, cpu::machine().l2);
  EXPECT_FALSE(found.unreliable || std::filesystem::exists(file_));
  try {
    calibrate(*backend_, {.known = kWithoutStep});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

TEST_F(CalibrateTest, TheCallerMayEndIt) {
  struct Ended {};
  runs_take(kLongRunUs);
  for (int stop : {0, 1, 20}) {
    int calls = 0;
    const auto check = [&] {
      if (calls++ == stop) throw Ended{};
    };
    EXPECT_THROW(calibrate(*backend_, {.file = file_, .check = check, .stopwatch = &stopwatch_}), Ended);
    EXPECT_EQ(calls, stop + 1);
    EXPECT_FALSE(std::filesystem::exists(file_));
  }
}

}  // namespace
}  // namespace relayout::execute
