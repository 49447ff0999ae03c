// Plans by all policies, with what they are predicted to take.
#pragma once

#include "tools/planning/planning.h"

namespace relayout::tools {

/// A policy's plan, or why the backend cannot follow it.
struct PolicyPlan {
  std::string name;
  std::optional<graph::LayoutPlan> plan;
  /// Its time, and what plans are compared by (see PredictedCost); infinity where a primitive of it cannot be run.
  double predicted_us = 0, cost_us = 0;
  /// The part of the time that reference implementations take.
  double reference_us = 0;
  /// All of its prices, where there is a plan.
  graph::PredictedCost cost{};
  /// Why there is no plan, or no time of it.
  std::string problem{};
  /// End to end, where it was run.
  std::optional<double> measured_us{};

  /// Takes the prices of a prediction.
  void take(graph::PredictedCost predicted);
};

/// The cheapest plan as a candidate.
PolicyPlan optimal_candidate(Planner& planner, const graph::OptimalPlan& best);

/// Adds the plan of each policy. After an interrupt only that of the wanted policy is made.
void add_rivals(Planner& planner, const std::string& wanted, std::vector<PolicyPlan>& out);

/// Adds to each of "policies" of a plan's file what `relayout show` shows of its plan, as "plan": "copies" with
/// "tensor", "form" (the layout as people call it), "layout" and, where they apply, "view_of", "from", "reason",
/// "bytes" and "predicted_us"; "primitives" with "implementation", "ref", "src", "dst" and "predicted_us"; "inputs" and
/// "outputs". A policy whose plan is that of an earlier one has "same_plan_as" with its name instead.
void add_shown_plans(Json& policies, const graph::Graph& graph, const std::vector<PolicyPlan>& candidates,
                     const std::vector<std::string>& names);

/// A time, or null where it is not finite.
Json time_json(double us);

}  // namespace relayout::tools
