// Planning: layout plans of a model by the policy that a user asks for, with what they are predicted to take.
#pragma once

#include "relayout/execute/measure/measured_costs.h"
#include "relayout/execute/measure/remembering_backend.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/optimize/primitive_choices.h"
#include "tools/command/command_line.h"
#include "tools/planning/model.h"

namespace relayout::tools {

struct PlanFlags {
  /// "optimal", or a policy's name.
  std::string policy = "optimal";
  std::string cost = "analytic";
  int threads = 0;
  int64_t runs = 0;
  /// Costs are measured anew, in place of what is remembered.
  bool remeasure = false;
  /// Convolutions by Winograd's algorithm are left out.
  bool no_winograd = false;
};
void add_plan_flags(Command& command, PlanFlags& flags);
/// Those of them that concern single primitives: --cost, --threads, --remeasure and --no-winograd.
void add_primitive_cost_flags(Command& command, PlanFlags& flags);
/// Errors: usage.
void check_plan_flags(const PlanFlags& flags);

/// "optimal, any, nchw, ...".
std::string policy_names();

class InterruptRequest;

/// A backend and costs for one graph, both remembered on disk. While it lists implementations and measures, an
/// interrupt ends it with Error{interrupted} that says what was kept; while it searches, an interrupt asks for what it
/// has found so far.
class Planner {
 public:
  /// `graph` must stay.
  Planner(const graph::Graph& graph, const PlanFlags& flags);
  ~Planner();

  const graph::Graph& graph() const { return graph_; }
  const graph::Backend& backend() const { return *backend_; }

  /// Calls f() with interrupts as requests, which the calls below take notice of.
  void interruptible(const std::function<void()>& f);
  /// Whether one is asked for now, within interruptible(); whether one ever was.
  bool asked_to_stop() const;
  bool interrupted() const { return interrupted_; }

  graph::OptimalPlan optimal(std::vector<std::pair<graph::TensorId, Layout>> fixed = {});
  graph::LayoutPlan rival(graph::Policy policy) const;
  /// By the flags.
  graph::LayoutPlan plan();
  graph::PredictedCost predicted(const graph::LayoutPlan& plan);
  /// What the backend offers for a node of the graph; `forward` is the implementation of its hint, else null.
  std::vector<graph::PrimitiveChoice> choices(graph::NodeId node, const graph::Implementation* forward);
  /// What each reorder is worth, as far as some seconds go.
  void explain(graph::OptimalPlan& plan);
  /// The cheapest assignments, as many as some seconds give.
  std::vector<solve::Assignment> cheapest(const graph::OptimalPlan& plan, int count);

  /// Saves what was found. What is wrong with the files of costs and implementations, and with what was measured, a
  /// line each: plans are good nevertheless.
  std::vector<std::string> warnings();

 private:
  graph::Costs& costs();
  /// Saves what was found, and is quiet where that fails.
  void keep();
  solve::SolveOptions solve_options(std::chrono::seconds limit) const;
  void check_interrupt();
  /// Saves what was found, and says where it is.
  Error interruption();

  const graph::Graph& graph_;
  PlanFlags flags_;
  std::unique_ptr<graph::Backend> onednn_;
  std::unique_ptr<execute::RememberingBackend> backend_;
  std::unique_ptr<execute::MeasuredCosts> measured_;
  std::unique_ptr<graph::Costs> analytic_;
  std::vector<std::string> calibration_warnings_;
  const InterruptRequest* request_ = nullptr;
  bool interrupted_ = false;
};

/// A warning where reference implementations take more than a tenth of the predicted time of a plan, with the nodes;
/// else empty.
std::string reference_warning(const graph::Graph& graph, const graph::LayoutPlan& plan, double reference_us,
                              double predicted_us);

/// A line that says how many primitives round more than their definition; empty if none does.
std::string rounding_text(const graph::PlanTotals& totals);

/// "relayout: warning: ..." on standard error, a line each.
void write_warnings(const std::vector<std::string>& warnings);

}  // namespace relayout::tools
