// What run times say of each other: which least ones are reliable, and which runs were disturbed.
#include "relayout/execute/measure/run_times.h"

#include <gtest/gtest.h>

#include "relayout/execute/measure/limits.h"
#include "tests/support/fake_stopwatch.h"

namespace relayout::execute {
namespace {

struct Run {
  double us;
  bool undisturbed;
};

RunTimes times_of(int threads, std::initializer_list<Run> runs, double limit_us = graph::kImpossible) {
  RunTimes out(threads, cpu::system_stopwatch(), limit_us);
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

// Threads that wait for one which lost its core wait for whole slices of the scheduler's, and so take equally long.
TEST(RunTimes, ThatTheWorkCannotTakeAreNotReliableThoughTheyAgree) {
  const double kSlice = 11976, kOfACall = most_us(128, 16);
  EXPECT_FALSE(times_of(2, {{kSlice, false}, {kSlice + 3, false}, {kSlice, false}}, kOfACall).reliable());
  EXPECT_TRUE(times_of(2, {{kSlice, false}, {kSlice + 3, false}}, most_us(0, 1e9)).reliable());
  EXPECT_TRUE(times_of(2, {{kSlice, false}, {kSlice + 3, false}}, most_us(1e6, 0)).reliable());
  EXPECT_TRUE(times_of(2, {{5, true}, {5, true}}, kOfACall).reliable());
  EXPECT_FALSE(times_of(2, {{3e5, false}}, kOfACall).single_is_reliable());
  EXPECT_TRUE(times_of(2, {{3e5, true}}, kOfACall).single_is_reliable());
  EXPECT_TRUE(times_of(2, {{3e5, false}}, most_us(0, 1e9)).single_is_reliable());
  EXPECT_FALSE(times_of(1, {{3e5, false}}).single_is_reliable());
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
