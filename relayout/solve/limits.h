// Limits: the time limit and the stop of SolveOptions, shared by several calls of the solver.
//
//     const Limits limits(options);
//     while (!limits.reached()) solve(problem, limits.rest());   // each call has the time that the ones before it left
#pragma once

#include <algorithm>

#include "relayout/solve/assign.h"

namespace relayout::solve {

/// The limits of SolveOptions over several steps.
class Limits {
 public:
  explicit Limits(const SolveOptions& options) : options_(options), start_(Clock::now()) {}
  bool reached() const {
    if (options_.stop && options_.stop()) return true;
    return options_.time_limit && Clock::now() - start_ >= *options_.time_limit;
  }
  /// For the next step, which has the rest of the time.
  SolveOptions rest() const {
    SolveOptions out = options_;
    if (out.time_limit) {
      const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
      out.time_limit = std::max(std::chrono::milliseconds(0), *out.time_limit - taken);
    }
    return out;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const SolveOptions& options_;
  Clock::time_point start_;
};

}  // namespace relayout::solve
