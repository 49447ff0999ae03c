// Planning: layout plans of a model by the policy that a user asks for, with what they are predicted to take.
#pragma once

#include "relayout/graph/optimize.h"
#include "tools/model.h"

namespace relayout::tools {

struct PlanFlags {
  /// "optimal", or a policy's name.
  std::string policy = "optimal";
  std::string cost = "analytic";
  int threads = 0;
  int64_t runs = 0;
};
void add_plan_flags(CLI::App& command, PlanFlags& flags);
/// Errors: usage.
void check_plan_flags(const PlanFlags& flags);

/// "optimal, any, nchw, ...".
std::string policy_names();

/// A backend and costs for one graph, both remembered on disk.
class Planner {
 public:
  /// `graph` must stay.
  Planner(const graph::Graph& graph, const PlanFlags& flags);

  const graph::Graph& graph() const { return graph_; }
  const graph::Backend& backend() const { return *backend_; }

  /// Once the solver is at work, an interrupt asks it for the best plan so far.
  graph::OptimalPlan optimal(std::vector<std::pair<graph::TensorId, Layout>> fixed = {});
  graph::LayoutPlan rival(graph::Policy policy) const;
  /// By the flags.
  graph::LayoutPlan plan();
  double predicted_us(const graph::LayoutPlan& plan);

 private:
  graph::Costs& costs();

  const graph::Graph& graph_;
  PlanFlags flags_;
  std::unique_ptr<graph::Backend> onednn_, backend_;
  std::unique_ptr<graph::Costs> costs_;
};

}  // namespace relayout::tools
