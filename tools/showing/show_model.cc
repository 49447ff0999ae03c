// relayout show MODEL: plans by all policies, as a scene.
#include "relayout/graph/optimize/plan_scene.h"
#include "tools/planning/policy_plans.h"
#include "tools/showing/plan_scene_file.h"
#include "tools/showing/show_plan.h"

namespace relayout::tools {

void add_model_options(Command& command, ShowPlanOptions& options) {
  add_dim_flags(command, options.model, "Of a model: batch size; that of its file unless given");
  add_primitive_cost_flags(command, options.plan);
}

show::PlanScene model_scene(const ShowPlanOptions& options) {
  require_isa();
  check_plan_flags(options.plan);
  const graph::Graph graph = load_model(options.model);
  Planner planner(graph, options.plan);
  graph::OptimalPlan best = planner.optimal();
  if (best.optimal) planner.explain(best);
  std::vector<PolicyPlan> candidates = {optimal_candidate(planner, best)};
  planner.interruptible([&] { add_rivals(planner, "optimal", candidates); });
  std::vector<graph::PlanToShow> plans;
  for (const PolicyPlan& candidate : candidates) {
    graph::PlanToShow& shown = plans.emplace_back(graph::PlanToShow{.policy = candidate.name});
    shown.problem = candidate.problem;
    if (!candidate.plan) continue;
    shown.plan = &*candidate.plan;
    shown.predicted = &candidate.cost;
    shown.cost_us = candidate.cost_us;
  }
  show::PlanScene out = graph::plan_scene(graph, escaped(options.model.path, 4096), plans, options.plan.cost);
  out.notes = plan_notes(out.backend, planner.backend().threads(), out.prices, best.optimal ? 0 : best.gap);
  sort_plans(out);
  std::vector<std::string> warnings = planner.warnings();
  const std::string slow = reference_warning(graph, best.plan, candidates[0].reference_us, candidates[0].predicted_us);
  if (!slow.empty()) warnings.push_back(slow);
  write_warnings(warnings);
  return out;
}

}  // namespace relayout::tools
