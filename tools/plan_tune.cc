// Turns of runs: see plan_tune.h.
#include "tools/plan_tune.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "relayout/execute/execute.h"
#include "relayout/graph/reference.h"

namespace relayout::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kBudget{4};
constexpr int kLeastTurns = 5, kMostTurns = 51;
/// Medians of a quiet machine differ by as much from one time to the next.
constexpr double kNoise = 0.02;

/// Inputs and outputs as a user has them, row-major, or as the first plan wants them where a layout is free.
struct Buffers {
  std::vector<std::vector<std::byte>> memory;
  std::vector<execute::Source> sources;
  std::vector<execute::Destination> destinations;
};

/// Each model takes its inputs in the layouts that its plan gives them: those that are free are part of the plan.
Buffers buffers_of(const graph::Graph& graph, const graph::LayoutPlan& plan) {
  Buffers out;
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const graph::Tensor& tensor = graph.tensor(graph.inputs[i]);
    const TensorDesc desc{plan.copy(plan.inputs[i]).layout, tensor.dtype};
    // Padding is zero, as that of every tensor.
    graph::Values values(static_cast<std::size_t>(desc.layout.span()));
    if (!desc.layout.padded()) std::ranges::generate(values, [&] { return uniform(rng); });
    out.memory.push_back(graph::store(values, tensor.dtype));
    out.sources.push_back({desc, out.memory.back().data()});
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorDesc desc{plan.copy(plan.outputs[i]).layout, graph.tensor(graph.outputs[i]).dtype};
    out.memory.emplace_back(static_cast<std::size_t>(desc.span_bytes()));
    out.destinations.push_back({desc, out.memory.back().data()});
  }
  return out;
}

}  // namespace

std::size_t tune(const Planner& planner, std::vector<Candidate>& candidates) {
  struct Runner {
    std::size_t candidate;
    execute::Model model;
    Buffers buffers;
    std::vector<double> microseconds{};
  };
  std::vector<Runner> runners;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (!candidates[c].plan) continue;
    runners.push_back({c, execute::Model(planner.graph(), *candidates[c].plan, planner.backend()),
                       buffers_of(planner.graph(), *candidates[c].plan)});
  }
  const Clock::time_point start = Clock::now();
  for (int turn = 0; turn < kLeastTurns || (turn < kMostTurns && Clock::now() - start < kBudget); ++turn) {
    for (Runner& runner : runners) {
      // The one before leaves its own data in the caches: each has a run to put its own there.
      runner.model.run(runner.buffers.sources, runner.buffers.destinations);
      const Clock::time_point begin = Clock::now();
      runner.model.run(runner.buffers.sources, runner.buffers.destinations);
      const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
      if (turn > 0) runner.microseconds.push_back(took.count());
    }
  }
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
