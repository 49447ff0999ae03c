// Measured costs of kernels that fail, and of runs that other work on the machine makes longer.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "relayout/execute/measure/measured_costs.h"
#include "relayout/graph/plan/propagate.h"
#include "tests/support/altered_backend.h"
#include "tests/support/measured_costs_fixture.h"
#include "tests/support/testing.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::Implementation;
using test::AlteredBackend;

/// The costs of one relu with a backend that tests can change.
class MeasuredCostsTrouble : public MeasuredCostsTest {
 protected:
  void SetUp() override {
    MeasuredCostsTest::SetUp();
    if (IsSkipped()) return;
    altered_.emplace(*backend_);
    implementation_ = implementation_of(propagate(graph_, *backend_), 0);
    keep_step(*altered_);
  }
  double cost(MeasuredCosts& costs) const {
    return costs.primitive(graph::CostContext(graph_), 0, implementation_, nullptr, false);
  }

  Graph graph_ = relu({1, 16, 8, 8});
  Implementation implementation_;
  std::optional<AlteredBackend> altered_;
};

TEST_F(MeasuredCostsTrouble, OnlyWhatIsUnsupportedIsRememberedAsImpossible) {
  for (const ErrorCode code : {ErrorCode::io, ErrorCode::internal, ErrorCode::limit, ErrorCode::overflow}) {
    keep_step(*altered_);
    const auto costs = measured_costs(*altered_, options());
    costs->reorder({}, test::desc("nchw", {1, 16, 8, 8}), test::desc("nhwc", {1, 16, 8, 8}));
    altered_->fails = code;
    EXPECT_EQ(test::code_of([&] { cost(*costs); }), code);
    costs->save();
    altered_->fails.reset();
    EXPECT_EQ(cost(*costs), kRunUs + kStepUs);
    EXPECT_EQ(cost(*measured_costs(*altered_, options())), kRunUs + kStepUs);
  }
  keep_step(*altered_);
  altered_->fails = ErrorCode::unsupported;
  EXPECT_TRUE(std::isinf(cost(*measured_costs(*altered_, options()))));
  altered_->fails.reset();
  EXPECT_TRUE(std::isinf(cost(*measured_costs(*altered_, options()))));
}

TEST_F(MeasuredCostsTrouble, UnreliableTimesAreUsedAndNotKept) {
  // Each run takes four times as long as the one before, so that no two agree.
  double us = 0;
  altered_->on_make = [&] { us = 2000; };
  altered_->after_run = [&](int) { stopwatch_.pass(us *= 4); };
  {
    const auto costs = measured_costs(*altered_, options());
    EXPECT_EQ(cost(*costs), 8000 + kRunUs + kStepUs);
    EXPECT_EQ(cost(*costs), 8000 + kRunUs + kStepUs);
    EXPECT_EQ(costs->measured(), 1);
    EXPECT_EQ(costs->unreliable(), 1);
  }
  const auto costs = measured_costs(*backend_, options());
  EXPECT_EQ(cost(*costs), kRunUs + kStepUs);
  EXPECT_EQ(costs->measured(), 1);
  EXPECT_EQ(costs->unreliable(), 0);
}

TEST_F(MeasuredCostsTrouble, RunsThatAreInterruptedAreMeasuredAgain) {
  // The first attempt's runs all lose their core to another process, which then goes away.
  int made = 0;
  altered_->on_make = [&] { ++made; };
  altered_->after_run = [&](int) {
    if (made == 1) stopwatch_.interrupt(50);
  };
  const auto costs = measured_costs(*altered_, options());
  EXPECT_EQ(cost(*costs), kRunUs + kStepUs);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(costs->unreliable(), 0);
}

TEST_F(MeasuredCostsTrouble, AttemptsEndWhenTimeIsUp) {
  int made = 0;
  altered_->on_make = [&] { ++made; };
  altered_->after_run = [&](int) { stopwatch_.interrupt(6e6); };
  const auto costs = measured_costs(*altered_, options());
  EXPECT_EQ(cost(*costs), 6e6 + kRunUs + kStepUs);
  // The second attempt uses up the time for further ones.
  EXPECT_EQ(made, 2);
  EXPECT_EQ(costs->unreliable(), 1);
}

// Other work that disturbs all runs of one measurement may be over when the measurement is repeated.
TEST_F(MeasuredCostsTrouble, AreMeasuredTwiceAndTheSmallerTimeCounts) {
  bool busy = true;
  altered_->after_run = [&](int) { stopwatch_.pass(busy ? 1000 : 0); };
  constexpr double kQuiet = kRunUs + kStepUs;
  {
    const auto costs = measured_costs(*altered_, options());
    EXPECT_FALSE(costs->again());
    EXPECT_EQ(cost(*costs), 1000 + kQuiet);
    busy = false;
    EXPECT_EQ(cost(*costs), 1000 + kQuiet);
    EXPECT_TRUE(costs->again());
    EXPECT_EQ(cost(*costs), kQuiet);
    busy = true;
    EXPECT_EQ(cost(*costs), kQuiet);
    EXPECT_FALSE(costs->again());
    EXPECT_EQ(cost(*costs), kQuiet);
    EXPECT_EQ(costs->measured(), 1);
    EXPECT_EQ(costs->unreliable(), 0);
  }
  const auto costs = measured_costs(*altered_, options());
  EXPECT_EQ(cost(*costs), kQuiet);
  EXPECT_FALSE(costs->again());
}

// The chain of 48 small primitives is measured first. In it, each takes 2 us more than alone.
TEST_F(MeasuredCostsTrouble, AStepIsWhatTheChainTakesLongerThanItsParts) {
  constexpr int kChain = 48;
  stopwatch_.takes = [](int64_t) { return 0.0; };
  altered_->after_run = [&](int number) { stopwatch_.pass(number < kChain ? 7 : 5); };
  const std::optional<double> step = measured_step_us(*altered_, stopwatch_);
  ASSERT_TRUE(step);
  // Reorders are steps as well. Their time is zero here.
  EXPECT_LE(*step, 2);
  EXPECT_GT(*step, 0.5);
}

// Where parts take longer alone than in the chain, what a step takes beside them cannot be told. The file's value,
// which was to be replaced, must not be found there next time.
TEST_F(MeasuredCostsTrouble, AnUnreliableStepIsForgottenWhereItWasToBeReplaced) {
  altered_->after_run = [&](int) { stopwatch_.pass(300); };
  keep_step(*altered_, 500);
  EXPECT_EQ(cost(*measured_costs(*altered_, options())), 300 + kRunUs + 500);
  {
    // The chain takes kLongRunUs once, each of its parts takes it alone.
    runs_take(kLongRunUs);
    const auto costs = measured_costs(*altered_, options(true));
    EXPECT_EQ(cost(*costs), 300 + kLongRunUs);
    EXPECT_TRUE(costs->step_unreliable());
  }
  CostCache after;
  EXPECT_TRUE(after.load(file_));
  EXPECT_EQ(after.find(step_key(environment_key(*altered_))), std::nullopt);
}

// A step that takes nothing, and one that took a slice of the scheduler's.
TEST_F(MeasuredCostsTrouble, AStepThatCannotBeIsMeasuredAgainWhereAFileHasIt) {
  for (const double us : {0.0, 11976.455}) {
    AlteredBackend slow(*backend_);
    keep_step(slow, us);
    slow.after_run = [&](int number) { stopwatch_.pass(number < 48 ? 300 : 100); };
    const auto costs = measured_costs(slow, options());
    cost(*costs);
    EXPECT_FALSE(costs->step_unreliable());
    costs->save();
    CostCache after;
    EXPECT_TRUE(after.load(file_));
    const double found = after.find(step_key(environment_key(slow))).value_or(0);
    EXPECT_GT(found, 0);
    EXPECT_LT(found, 1000);
  }
}

// Where two threads wait for each other and another process has one of their cores, each run takes the same slices of
// the scheduler's. The runs agree, but a relu of a thousand elements cannot take 12 ms.
TEST_F(MeasuredCostsTrouble, TimesThatTheWorkCannotTakeAreNotKept) {
  const auto two = onednn_backend(2);
  AlteredBackend waiting(*two);
  waiting.after_run = [&](int) { stopwatch_.interrupt(11976); };
  keep_step(waiting);
  {
    const auto costs = measured_costs(waiting, options());
    EXPECT_EQ(cost(*costs), 11976 + kRunUs + kStepUs);
    EXPECT_EQ(costs->unreliable(), 1);
  }
  waiting.after_run = [](int) {};
  const auto costs = measured_costs(waiting, options());
  EXPECT_EQ(cost(*costs), kRunUs + kStepUs);
  EXPECT_EQ(costs->measured(), 1);
  EXPECT_EQ(costs->unreliable(), 0);
}

TEST_F(MeasuredCostsTrouble, TimesAreOfTheBackendsSettings) {
  AlteredBackend other(*backend_);
  EXPECT_EQ(environment_key(*altered_), environment_key(*backend_));
  other.more_settings = "another instruction set ";
  EXPECT_FALSE(environment_key(*altered_) == environment_key(other));
  EXPECT_FALSE(backend_->settings().empty());
}

}  // namespace
}  // namespace relayout::execute
