// Measuring random cases, and what all of them together say.
//
//     const auto results = run_random(random_cases(1, 200, std::nullopt), {.threads = 1}, nullptr);
//     summarize_random(results).back().mean;      // 1.9: the geometric mean of all ratios
//
// The copy is of as many bytes as the lines that are touched on both sides (lines.h), because the layouts are not
// chosen such that all bytes of a line are used.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/random_cases.h"
#include "bench/summary.h"

namespace relayout::bench {

struct RandomResult {
  RandomCase about;
  Measurement measured;
  std::string error;  // why it was not measured; else ""

  bool wrong() const { return error.empty() && measured.wrong(); }
};

/// Measures each case; `options.misalign` and `options.copy_bytes` are not used. `done` (which may be null) is called
/// after each. A case that cannot be measured, for want of memory for instance, gives a result with an error.
std::vector<RandomResult> run_random(std::span<const RandomCase> cases, const MeasureOptions& options,
                                     const std::function<void(const RandomResult&)>& done);

inline constexpr std::string_view kAllButNibbles = "all but 4-bit", kAll = "all";

/// Ratios of the cases of a kind; results with an error only count as such.
struct RandomSummary {
  std::string kind;  // its name, kAllButNibbles or kAll
  int cases = 0, not_measured = 0, wrong = 0;
  double mean = 0;  // geometric
  double median = 0, percent_90 = 0, percent_99 = 0, worst = 0;
  Prediction predicted;
  /// Cases in which another system has a time; those in which none is faster; those in which relayout takes at most
  /// 10 % more than the fastest.
  int raced = 0, ahead = 0, never_far_behind = 0;
  /// Cases whose offers were timed; those in which the chosen one takes at most 10 % more than the fastest; and how
  /// many times as long it takes (geometric mean, 90 % and worst).
  int offered = 0, chosen_well = 0;
  double regret = 0, regret_90 = 0, regret_worst = 0;
};

/// A summary for each kind that has results, one for all but nibbles where these are among others, and one for all.
/// A mean over all says little of the other kinds where the ratios of nibbles are far larger.
std::vector<RandomSummary> summarize_random(std::span<const RandomResult> results);

/// The results with the largest ratios, the largest first; at most `count`.
std::vector<const RandomResult*> slowest(std::span<const RandomResult> results, int count);

/// The smallest of the values that at least `percent` of all values do not exceed; 0 where there are none.
double percentile(std::vector<double> values, int percent);

}  // namespace relayout::bench
