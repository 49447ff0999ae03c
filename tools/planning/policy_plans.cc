// Plans by all policies.
#include "tools/planning/policy_plans.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "relayout/graph/plan/layout_names.h"
#include "tools/planning/plan_file.h"

namespace relayout::tools {

void PolicyPlan::take(graph::PredictedCost predicted) {
  cost = std::move(predicted);
  predicted_us = cost.time();
  cost_us = cost.total();
  reference_us = cost.references;
}

PolicyPlan optimal_candidate(Planner& planner, const graph::OptimalPlan& best) {
  PolicyPlan out{.name = "optimal", .plan = best.plan};
  out.take(planner.predicted(best.plan));
  out.cost_us = best.cost_us;
  return out;
}

void add_rivals(Planner& planner, const std::string& wanted, std::vector<PolicyPlan>& out) {
  for (int p = 0; p < graph::kPolicyCount; ++p) {
    const auto policy = static_cast<graph::Policy>(p);
    if ((planner.interrupted() || planner.asked_to_stop()) && name(policy) != wanted) continue;
    PolicyPlan& candidate = out.emplace_back(PolicyPlan{.name = std::string(name(policy))});
    try {
      candidate.plan = planner.rival(policy);
      const graph::PredictedCost cost = planner.predicted(*candidate.plan);
      candidate.take(cost);
      if (cost.impossible != graph::kNone) {
        const graph::Node& node = planner.graph().node(cost.impossible);
        candidate.problem = fmt::format("{} \"{}\" cannot be run as {} in these layouts", name(node.kind),
                                        escaped(node.name), implementation_of(*candidate.plan, cost.impossible).name);
      }
    } catch (const Error& error) {
      if (candidate.name == wanted) throw;
      if (error.code() == ErrorCode::interrupted) {
        out.pop_back();
        continue;
      }
      candidate.plan.reset();
      candidate.problem = error.message();
    }
  }
}

Json time_json(double us) { return std::isfinite(us) ? Json(us) : Json(); }

namespace {

Json shown_plan_json(const graph::Graph& graph, const PolicyPlan& candidate, const std::vector<std::string>& names) {
  const graph::LayoutPlan& plan = *candidate.plan;
  const graph::LayoutNames layout_names(graph);
  Json out = {{"copies", Json::array()}, {"primitives", Json::array()}};
  for (std::size_t c = 0; c < plan.copies.size(); ++c) {
    const graph::Copy& copy = plan.copies[c];
    Json& json = out["copies"].emplace_back(Json{{"tensor", names[static_cast<std::size_t>(copy.tensor)]}});
    json["form"] = layout_names.form(copy);
    json["layout"] = graph::expression_of(copy.layout, copy.opaque);
    if (copy.view_of != graph::kNone) json["view_of"] = copy.view_of;
    if (copy.from == graph::kNone) continue;
    json["from"] = copy.from;
    json["reason"] = copy.reason;
    json["bytes"] = reorder_bytes(graph, plan, static_cast<graph::CopyId>(c));
    if (!graph.tensor(copy.tensor).constant() && c < candidate.cost.copies.size())
      json["predicted_us"] = time_json(candidate.cost.copies[c]);
  }
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const graph::PlannedNode& node = plan.nodes[n];
    Json& json = out["primitives"].emplace_back(Json{{"implementation", node.implementation}, {"ref", node.reference}});
    json["src"] = operands_json(node.src);
    json["dst"] = operands_json(node.dst);
    const bool runs = node.implementation != "view" && node.implementation != "barrier";
    if (runs && n < candidate.cost.nodes.size()) json["predicted_us"] = time_json(candidate.cost.nodes[n]);
    if (node.rounds_more) json["rounds_more"] = true;
  }
  out["inputs"] = operands_json(plan.inputs);
  out["outputs"] = operands_json(plan.outputs);
  return out;
}

}  // namespace

void add_shown_plans(Json& policies, const graph::Graph& graph, const std::vector<PolicyPlan>& candidates,
                     const std::vector<std::string>& names) {
  std::map<std::string, std::string> known;  // the policy, by its plan
  for (const PolicyPlan& candidate : candidates) {
    if (!candidate.plan) continue;
    Json plan = shown_plan_json(graph, candidate, names);
    const auto [first, added] = known.try_emplace(plan.dump(), candidate.name);
    if (added)
      policies[candidate.name]["plan"] = std::move(plan);
    else
      policies[candidate.name]["same_plan_as"] = first->second;
  }
}

}  // namespace relayout::tools
