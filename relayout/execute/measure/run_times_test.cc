// What run times say of each other: which least ones are reliable, and which runs were disturbed.
#include "relayout/execute/measure/run_times.h"

#include <gtest/gtest.h>

#include "tests/support/fake_stopwatch.h"

namespace relayout::execute {
namespace {

struct Run {
  double us;
  bool undisturbed;
};

RunTimes times_of(int threads, std::initializer_list<Run> runs) {
  RunTimes out(threads);
  for (const Run& run : runs) out.add(run.us, run.undisturbed);
  return out;
}

TEST(RunTimes, AreReliableWhereTwoUndisturbedRunsAgree) {
  EXPECT_FALSE(times_of(1, {}).reliable());
  EXPECT_FALSE(times_of(1, {{100, true}}).reliable());
  EXPECT_TRUE(times_of(1, {{100, true}, {110, true}}).reliable());
  EXPECT_TRUE(times_of(1, {{17000, false}, {110, true}, {9000, false}, {100, true}}).reliable());
  EXPECT_FALSE(times_of(1, {{100, true}, {17000, true}}).reliable());
  EXPECT_FALSE(times_of(1, {{17000, false}, {17100, false}, {18000, false}}).reliable());
  // A shorter disturbed run shows that the undisturbed ones were slow for another reason.
  EXPECT_FALSE(times_of(1, {{400, true}, {410, true}, {100, false}}).reliable());
  EXPECT_EQ(times_of(1, {{400, true}, {410, true}, {100, false}}).least(), 100);
  EXPECT_EQ(times_of(1, {{400, true}, {410, true}, {100, false}}).undisturbed_runs(), 2);
}

TEST(RunTimes, OfSeveralThreadsAreReliableWhereLongRunsAgreeWell) {
  EXPECT_TRUE(times_of(2, {{17000, false}, {17100, false}}).reliable());
  EXPECT_FALSE(times_of(2, {{17000, false}, {19000, false}}).reliable());
  EXPECT_FALSE(times_of(2, {{200, false}, {201, false}}).reliable());
}

// A run counts as undisturbed if nothing interrupted it, or if one thread alone lost at most 2 % of its time.
TEST(RunTimes, TellWhichRunsWereDisturbed) {
  const auto undisturbed = [](int threads, const auto& what) {
    test::FakeStopwatch stopwatch;
    RunTimes times(threads, stopwatch);
    const double us = times.run([&] {
      stopwatch.pass(1000);
      what(stopwatch);
    });
    EXPECT_EQ(us, stopwatch.now_us());
    return times.undisturbed_runs() == 1;
  };
  EXPECT_TRUE(undisturbed(1, [](auto&) {}));
  EXPECT_TRUE(undisturbed(2, [](auto&) {}));
  EXPECT_TRUE(undisturbed(1, [](auto& stopwatch) { stopwatch.interrupt(10); }));
  EXPECT_FALSE(undisturbed(1, [](auto& stopwatch) { stopwatch.interrupt(100); }));
  EXPECT_FALSE(undisturbed(2, [](auto& stopwatch) { stopwatch.interrupt(10); }));
}

}  // namespace
}  // namespace relayout::execute
