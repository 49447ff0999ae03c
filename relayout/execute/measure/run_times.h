// RunTimes: how long runs of one thing took, and whether the least of them can be believed (internal to execute).
//
//     RunTimes times(backend.threads());
//     while (!times.sure() && ...) times.run(work);
//     times.least()
//
// Other work on the machine makes runs longer, never shorter. A run is whole where no thread of this process had to
// leave its core to another process; one thread may also have lost next to nothing by it. The least time is sure where
// two whole runs agree, or two long runs of several threads, which are hardly ever whole, agree well.
#pragma once

#include <functional>

#include "relayout/graph/plan/cost.h"

namespace relayout::execute {

class RunTimes {
 public:
  explicit RunTimes(int threads) : threads_(threads) {}

  /// Runs it once and returns the microseconds.
  double run(const std::function<void()>& work);
  /// As if a run had taken so long.
  void add(double us, bool whole);

  double least() const { return least_; }
  int whole_runs() const { return whole_runs_; }
  bool sure() const;

 private:
  int threads_;
  int whole_runs_ = 0;
  // Of all runs the two least, and of whole ones.
  double least_ = graph::kImpossible, second_ = graph::kImpossible;
  double least_whole_ = graph::kImpossible, second_whole_ = graph::kImpossible;
};

}  // namespace relayout::execute
