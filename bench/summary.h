// Summaries of many results: the rows of the goal table, and the means.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/suite.h"

namespace relayout::bench {

/// One row of the goal table.
struct RowSummary {
  const Row* row = nullptr;
  std::string goal;  // "1.15 / 1.5"
  struct Side {
    double mean = 0, worst = 0;  // geometric mean of the cases' values
    std::string worst_case;
    int cases = 0, met = 0;
  };
  std::map<int, Side> by_threads;
  double best_peer = 0;      // geometric mean of the fastest competitor's value, over the cases that one has; 0: none
  int raced = 0, ahead = 0;  // such cases, and those in which no competitor is faster
};

/// In the order of all_rows(); rows without results are left out. The row "plan" counts the plan of every case.
std::vector<RowSummary> summarize(const std::vector<CaseResult>& results);

/// How many times as long as this library each competitor takes, by its name and the number of threads: one value for
/// each case that it can do.
std::map<std::string, std::map<int, std::vector<double>>> speedups(const std::vector<CaseResult>& results);

/// How well Plan::cost predicts the time on one thread.
struct Prediction {
  int cases = 0, within_25_percent = 0;
  double mean = 0;  // geometric, of predicted / measured
};
Prediction prediction(const std::vector<CaseResult>& results);
/// Of measurements; those of more threads do not count.
Prediction prediction(std::span<const Measurement* const> measured);

/// The fastest competitor of a measurement; null where none has a time.
const CompetitorResult* best_competitor(const Measurement& measured);

/// A goal of a metric: "1.15", "25 ns", "5 us".
std::string goal_text(Metric metric, double goal);

}  // namespace relayout::bench
