// Plan report: what `relayout plan` says of a plan, as text and as JSON.
#pragma once

#include <map>

#include "tools/planning/policy_plans.h"

namespace relayout::tools {

/// The cheapest plan with tensors in other layouts, which is compared with the cheapest one of all.
struct WhatIf {
  std::string wishes;
  graph::OptimalPlan plan;
  double predicted_us = 0;
};

struct PlanReport {
  const graph::Graph& graph;
  /// The one that is kept, of `candidates`; the first one is the cheapest.
  std::size_t chosen = 0;
  std::vector<PolicyPlan> candidates{};
  /// With its certificate, where the chosen plan is the cheapest one.
  const graph::OptimalPlan* optimal = nullptr;
  std::optional<WhatIf> what_if{};
  std::string model, cost;
  /// As in ModelFlags.
  std::string training{};
  graph::Widened widened{};
  int threads = 0;
  /// What went wrong beside.
  std::vector<std::string> warnings{};

  const graph::LayoutPlan& plan() const { return *candidates[chosen].plan; }
};

Json report_json(const PlanReport& report);
std::string report_text(const PlanReport& report);

}  // namespace relayout::tools
