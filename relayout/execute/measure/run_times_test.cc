// What times say of each other: which are sure.
#include "relayout/execute/measure/run_times.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace relayout::execute {
namespace {

struct Run {
  double us;
  bool whole;
};

RunTimes of(int threads, std::initializer_list<Run> runs) {
  RunTimes out(threads);
  for (const Run& run : runs) out.add(run.us, run.whole);
  return out;
}

TEST(RunTimes, AreSureWhereTwoWholeOnesAgree) {
  EXPECT_FALSE(of(1, {}).sure());
  EXPECT_FALSE(of(1, {{100, true}}).sure());
  EXPECT_TRUE(of(1, {{100, true}, {110, true}}).sure());
  EXPECT_TRUE(of(1, {{17000, false}, {110, true}, {9000, false}, {100, true}}).sure());
  EXPECT_FALSE(of(1, {{100, true}, {17000, true}}).sure());
  EXPECT_FALSE(of(1, {{17000, false}, {17100, false}, {18000, false}}).sure());
  // A shorter one shows that whole ones were slow for another reason.
  EXPECT_FALSE(of(1, {{400, true}, {410, true}, {100, false}}).sure());
  EXPECT_EQ(of(1, {{400, true}, {410, true}, {100, false}}).least(), 100);
  EXPECT_EQ(of(1, {{400, true}, {410, true}, {100, false}}).whole_runs(), 2);
}

TEST(RunTimes, OfSeveralThreadsAreSureWhereLongOnesAgreeWell) {
  EXPECT_TRUE(of(2, {{17000, false}, {17100, false}}).sure());
  EXPECT_FALSE(of(2, {{17000, false}, {19000, false}}).sure());
  EXPECT_FALSE(of(2, {{200, false}, {201, false}}).sure());
}

// Sleeping is what a core that others have looks like from inside.
TEST(RunTimes, ARunThatWaitsTakesItsTime) {
  RunTimes times(1);
  EXPECT_GE(times.run([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }), 2000);
  EXPECT_GE(times.least(), 2000);
}

}  // namespace
}  // namespace relayout::execute
