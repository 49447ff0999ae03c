// The cheapest plan of a graph, and what it would cost to do without each of its reorders. See optimize.h.
#include "relayout/graph/optimize.h"

#include <chrono>
#include <cstdio>

namespace relayout::graph {
namespace {

/// "12.3 us", with three digits.
std::string microseconds(double us) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g us", us);
  return text.data();
}

/// What the cheapest plan costs that has no reorder of a tensor between two layouts; kImpossible where there is none.
double cost_without(LayoutProblem& problem, const std::vector<Place>& places, TensorId t, const Layout& from,
                    const Layout& to, const SolveOptions& options) {
  ProblemTensor& tensor = problem.tensors[static_cast<std::size_t>(t)];
  const std::vector<double> before = tensor.reorder;
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j < places.size(); ++j) {
      if (i != j && places[i].layout == from && places[j].layout == to)
        tensor.reorder[i * places.size() + j] = kImpossible;
    }
  }
  double out = kImpossible;
  try {
    out = solve(problem, options).cost;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  tensor.reorder = before;
  return out;
}

}  // namespace

OptimalPlan optimize(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  OptimalPlan out;
  out.space = choice_space(graph, backend, costs, options);
  out.solution = solve(out.space.problem, options.solve);
  out.plan = plan_of(graph, backend, out.space, out.solution.assignment);
  out.predicted_us = out.solution.cost;
  out.optimal = out.solution.optimal;
  if (!out.optimal && out.predicted_us > 0) {
    out.gap = std::max(0., out.predicted_us - out.solution.lower_bound) / out.predicted_us;
  }
  out.planning_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return out;
}

void explain_reorders(const Graph& graph, OptimalPlan& plan) {
  LayoutProblem problem = plan.space.problem;
  for (CopyId id : plan.plan.reorders(graph)) {
    Copy& copy = plan.plan.copies[static_cast<std::size_t>(id)];
    const std::vector<Place>& places = plan.space.places[static_cast<std::size_t>(copy.tensor)];
    const double without =
        cost_without(problem, places, copy.tensor, plan.plan.copy(copy.from).layout, copy.layout, {});
    copy.reason += without == kImpossible ? "; no plan is without it"
                                          : "; avoiding it would cost " +
                                                microseconds(std::max(0., without - plan.predicted_us)) + " more";
  }
}

}  // namespace relayout::graph
