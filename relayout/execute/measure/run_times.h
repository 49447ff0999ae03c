// RunTimes: how long the runs of one thing took, and whether the least of these times is reliable (internal to
// execute).
//
//     RunTimes times(backend.threads());
//     while (!times.reliable() && ...) times.run(work);
//     times.least()
//
// Other work on the machine makes runs longer, never shorter, so the least time is the best estimate. A run is
// undisturbed if no thread of this process had to leave its core to another process meanwhile; where one thread alone
// runs, also if it lost next to nothing of its time that way. The least time is reliable if two undisturbed runs agree
// with it. Long runs of several threads are hardly ever undisturbed; for them it suffices that the two shortest runs
// agree well, and that the work can take so long at all (limits.h): runs that wait for the scheduler agree, too.
#pragma once

#include <functional>

#include "relayout/cpu/stopwatch.h"
#include "relayout/graph/plan/cost.h"

namespace relayout::execute {

class RunTimes {
 public:
  /// The stopwatch must outlive it. `limit_us` is how long the work can take at most on a machine that does nothing
  /// else.
  explicit RunTimes(int threads, cpu::Stopwatch& stopwatch = cpu::system_stopwatch(),
                    double limit_us = graph::kImpossible)
      : threads_(threads), stopwatch_(stopwatch), limit_us_(limit_us) {}

  /// Runs the work once, and returns how many microseconds it took.
  double run(const std::function<void()>& work);
  /// Counts a run of so many microseconds.
  void add(double us, bool undisturbed);

  double least() const { return least_; }
  int undisturbed_runs() const { return undisturbed_runs_; }
  bool reliable() const;
  /// Whether a single run counts, which took so long that there is no second one.
  bool single_is_reliable() const;

 private:
  int threads_;
  cpu::Stopwatch& stopwatch_;
  double limit_us_;
  int undisturbed_runs_ = 0;
  // The two least times of all runs, and of undisturbed ones.
  double least_ = graph::kImpossible, second_ = graph::kImpossible;
  double least_undisturbed_ = graph::kImpossible, second_undisturbed_ = graph::kImpossible;
};

}  // namespace relayout::execute
