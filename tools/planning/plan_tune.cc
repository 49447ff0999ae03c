// Turns of runs: see plan_tune.h.
#include "tools/planning/plan_tune.h"

#include <algorithm>
#include <chrono>

#include "relayout/execute/run/plan_tensors.h"

namespace relayout::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kBudget{4};
constexpr int kLeastTurns = 5, kMostTurns = 51;
/// Medians of a quiet machine differ by as much from one time to the next.
constexpr double kNoise = 0.02;

/// A candidate that runs.
struct Runner {
  std::size_t candidate;
  execute::Model model;
  execute::PlanTensors tensors;
  std::vector<double> microseconds{};

  double run() {
    const Clock::time_point begin = Clock::now();
    model.run(tensors.sources(), tensors.destinations());
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
};

std::vector<Runner> runners_of(const Planner& planner, std::vector<PolicyPlan>& candidates) {
  std::vector<Runner> out;
  std::optional<Error> first_problem;
  for (std::size_t c = 0; c < candidates.size() && !planner.asked_to_stop(); ++c) {
    if (!candidates[c].plan) continue;
    try {
      Runner runner{c, execute::Model(planner.graph(), *candidates[c].plan, planner.backend()),
                    execute::PlanTensors(planner.graph(), *candidates[c].plan)};
      runner.run();
      out.push_back(std::move(runner));
    } catch (const Error& error) {
      candidates[c].problem = "does not run: " + error.message();
      if (!first_problem) first_problem = error;
    }
  }
  if (out.empty() && first_problem) throw *first_problem;
  return out;
}

void run_in_turns(const Planner& planner, std::vector<Runner>& runners) {
  const Clock::time_point start = Clock::now();
  for (int turn = 0; turn < kLeastTurns || (turn < kMostTurns && Clock::now() - start < kBudget); ++turn) {
    for (Runner& runner : runners) {
      if (planner.asked_to_stop()) return;
      // The one before leaves its own data in the caches: each has a run to put its own there.
      runner.run();
      const double took = runner.run();
      if (turn > 0) runner.microseconds.push_back(took);
    }
  }
}

}  // namespace

std::size_t tune(Planner& planner, std::vector<PolicyPlan>& candidates) {
  std::vector<Runner> runners;
  planner.interruptible([&] {
    runners = runners_of(planner, candidates);
    run_in_turns(planner, runners);
  });
  const bool compared = !runners.empty() &&
                        std::ranges::none_of(runners, [](const Runner& runner) { return runner.microseconds.empty(); });
  if (!compared) return runners.empty() ? 0 : runners.front().candidate;
  std::size_t best = runners.front().candidate;
  for (Runner& runner : runners) {
    std::vector<double>& times = runner.microseconds;
    std::ranges::nth_element(times, times.begin() + std::ssize(times) / 2);
    candidates[runner.candidate].measured_us = times[times.size() / 2];
    if (candidates[runner.candidate].measured_us < candidates[best].measured_us) best = runner.candidate;
  }
  // A difference within the noise is none: the cheapest plan, the first one, has a proof beside its time.
  const std::size_t first = runners.front().candidate;
  if (candidates[first].measured_us <= (1 + kNoise) * *candidates[best].measured_us) best = first;
  return best;
}

}  // namespace relayout::tools
