// Limits: one time limit and stop request (SolveOptions) for several calls of the solver.
//
//     const Limits limits(options);
//     while (!limits.reached()) solve(problem, limits.rest());   // each call has the time that the ones before it left
#pragma once

#include <algorithm>

#include "relayout/solve/assign.h"

namespace relayout::solve {

/// Counts the time from its construction on.
class Limits {
 public:
  explicit Limits(const SolveOptions& options) : options_(options), start_(Clock::now()) {}
  bool reached() const {
    if (options_.stop && options_.stop()) return true;
    return options_.time_limit && Clock::now() - start_ >= *options_.time_limit;
  }
  /// The options for the next call, with the time that is left.
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
