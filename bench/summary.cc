// Computing the rows of the goal table, and the means.
#include "bench/summary.h"

#include <fmt/format.h>

#include <set>

namespace relayout::bench {
namespace {

/// Values and how many of them meet their goals.
struct Tally {
  std::vector<double> values;
  RowSummary::Side side;

  void add(double value, bool met, const std::string& name) {
    values.push_back(value);
    ++side.cases;
    side.met += met;
    if (value > side.worst) {
      side.worst = value;
      side.worst_case = name;
    }
  }
  RowSummary::Side done() {
    side.mean = geometric_mean(values);
    return side;
  }
};

std::string goals_of(const Row& row) {
  std::set<double> goals;
  for (const Case& c : all_cases()) {
    if (c.row == row.name) goals.insert(c.goal);
  }
  if (goals.empty()) return "";
  const std::string least = goal_text(row.metric, *goals.begin());
  if (goals.size() == 1) return least;
  return least + (goals.size() == 2 ? " / " : " to ") + goal_text(row.metric, *goals.rbegin());
}

RowSummary summarize_row(const Row& row, const std::vector<CaseResult>& results) {
  RowSummary out;
  out.row = &row;
  out.goal = goals_of(row);
  double plan_goal = 0;
  for (const Case& c : all_cases()) {
    if (c.row == row.name) plan_goal = c.goal;
  }
  std::map<int, Tally> tallies;
  std::vector<double> peers;
  for (const CaseResult& result : results) {
    const bool own = result.about->row == row.name;
    Tally& tally = tallies[result.measured.threads];
    if (!own && (row.metric != Metric::plan_ns || !result.error.empty())) continue;
    if (!result.error.empty()) {
      tally.side.cases += 1;
      continue;
    }
    const double value = own ? result.value() : result.measured.plan_ns;
    tally.add(value, own ? result.met() : value <= plan_goal, name_of(*result.about));
    const CompetitorResult* best = best_competitor(result.measured);
    if (!best || row.metric == Metric::plan_ns) continue;
    peers.push_back(row.metric == Metric::ratio ? best->median_ns / result.measured.copy_ns : best->median_ns);
    ++out.raced;
    out.ahead += result.measured.median_ns <= best->median_ns;
  }
  for (auto& [threads, tally] : tallies) {
    if (tally.side.cases > 0) out.by_threads[threads] = tally.done();
  }
  out.best_peer = geometric_mean(peers);
  return out;
}

}  // namespace

std::string goal_text(Metric metric, double goal) {
  if (metric == Metric::plan_ns) return fmt::format("{:g} us", goal / 1e3);
  if (metric == Metric::run_ns) return fmt::format("{:g} ns", goal);
  return fmt::format("{:g}", goal);
}

std::vector<RowSummary> summarize(const std::vector<CaseResult>& results) {
  std::vector<RowSummary> out;
  for (const Row& row : all_rows()) {
    RowSummary summary = summarize_row(row, results);
    if (!summary.by_threads.empty()) out.push_back(std::move(summary));
  }
  return out;
}

std::map<std::string, std::map<int, std::vector<double>>> speedups(const std::vector<CaseResult>& results) {
  std::map<std::string, std::map<int, std::vector<double>>> out;
  for (const CaseResult& result : results) {
    for (const CompetitorResult& one : result.measured.competitors) {
      if (one.median_ns > 0)
        out[one.name][result.measured.threads].push_back(one.median_ns / result.measured.median_ns);
    }
  }
  return out;
}

const CompetitorResult* best_competitor(const Measurement& measured) {
  const CompetitorResult* best = nullptr;
  for (const CompetitorResult& one : measured.competitors) {
    if (one.median_ns > 0 && (!best || one.median_ns < best->median_ns)) best = &one;
  }
  return best;
}

Prediction prediction(const std::vector<CaseResult>& results) {
  std::vector<const Measurement*> measured;
  for (const CaseResult& result : results) {
    if (result.error.empty()) measured.push_back(&result.measured);
  }
  return prediction(measured);
}

Prediction prediction(std::span<const Measurement* const> measured) {
  Prediction out;
  std::vector<double> ratios;
  for (const Measurement* m : measured) {
    if (m->threads != 1) continue;
    const double ratio = m->predicted_ns / m->median_ns;
    ratios.push_back(ratio);
    out.within_25_percent += ratio >= 0.75 && ratio <= 1.25;
  }
  out.cases = static_cast<int>(ratios.size());
  out.mean = geometric_mean(ratios);
  return out;
}

}  // namespace relayout::bench
