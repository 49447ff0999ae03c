// Which way is taken, by times that the test writes down: no clock is read.
#include "relayout/opencl/ways.h"

#include <gtest/gtest.h>

#include <limits>

namespace relayout::opencl {
namespace {

TEST(Ways, TheFirstIsTakenUntilTryingOthersPays) {
  WayTimes times;
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(times.choose(kWays), Way::mapped);
    times.add(Way::mapped, kTrialSeconds / 20);
  }
  EXPECT_EQ(times.choose(kWays), Way::mapped);  // half of kTrialSeconds so far
}

TEST(Ways, EachOtherOneIsTriedTwiceAndTheFastestKept) {
  WayTimes times;
  while (times.choose(kWays) == Way::mapped) times.add(Way::mapped, 0.03);
  // The first run of a kernel is slow, as it is compiled.
  for (const Way way : {Way::kernel, Way::kernel, Way::staged, Way::staged}) {
    ASSERT_EQ(times.choose(kWays), way);
    times.add(way, times.best(way) == 0 ? 0.5 : way == Way::kernel ? 0.02 : 0.04);
  }
  EXPECT_EQ(times.choose(kWays), Way::kernel);
  times.add(Way::kernel, 0.1);  // one slow run does not change it: the best time of each counts
  EXPECT_EQ(times.choose(kWays), Way::kernel);
}

TEST(Ways, AWayThatFailedIsNotTakenAgain) {
  WayTimes times;
  for (int k = 0; k < 2; ++k) times.add(Way::mapped, 1);
  ASSERT_EQ(times.choose(kWays), Way::kernel);
  times.add(Way::kernel, std::numeric_limits<double>::infinity());
  for (int k = 0; k < 2; ++k) {
    ASSERT_EQ(times.choose(kWays), Way::staged);
    times.add(Way::staged, 2);
  }
  EXPECT_EQ(times.choose(kWays), Way::mapped);
}

TEST(Ways, OnlyPossibleOnesAreTaken) {
  WayTimes times;
  const Way only[] = {Way::mapped};
  for (int k = 0; k < 100; ++k) times.add(Way::mapped, 1);
  EXPECT_EQ(times.choose(only), Way::mapped);
}

}  // namespace
}  // namespace relayout::opencl
