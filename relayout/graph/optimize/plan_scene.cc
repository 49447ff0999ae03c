// Scenes of plans, from graphs.
#include "relayout/graph/optimize/plan_scene.h"

#include <algorithm>
#include <cmath>

#include "relayout/graph/ir/post_ops.h"
#include "relayout/graph/plan/layout_names.h"

namespace relayout::graph {
namespace {

std::optional<double> finite(double us) { return std::isfinite(us) ? std::optional(us) : std::nullopt; }

std::optional<double> price(const std::vector<double>& prices, std::size_t at) {
  return at < prices.size() ? finite(prices[at]) : std::nullopt;
}

class SceneMaker {
 public:
  explicit SceneMaker(const Graph& graph) : graph_(graph), names_(graph) {}

  show::ShownPlan shown(const PlanToShow& given) const {
    show::ShownPlan out{.policy = given.policy, .problem = given.problem, .measured_us = given.measured_us};
    if (given.predicted != nullptr) {
      out.predicted_us = finite(given.predicted->time());
      out.cost_us = finite(given.predicted->total());
    }
    if (given.cost_us) out.cost_us = finite(*given.cost_us);
    if (given.plan == nullptr) return out;
    const LayoutPlan& plan = *given.plan;
    const PlanTotals sums = totals(graph_, plan);
    out.reorders = sums.reorders;
    out.reorder_bytes = sums.reorder_bytes;
    out.load_reorders = sums.load_reorders;
    for (std::size_t c = 0; c < plan.copies.size(); ++c) out.copies.push_back(shown_copy(given, c));
    for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
      const PlannedNode& node = plan.nodes[n];
      const bool runs = node.implementation != "view" && node.implementation != "barrier";
      out.steps.push_back({.implementation = node.implementation,
                           .src = node.src,
                           .dst = node.dst,
                           .us = runs && given.predicted != nullptr ? price(given.predicted->nodes, n) : std::nullopt,
                           .reference = node.reference,
                           .rounds_more = node.rounds_more});
    }
    out.inputs = plan.inputs;
    out.outputs = plan.outputs;
    return out;
  }

 private:
  show::ShownCopy shown_copy(const PlanToShow& given, std::size_t c) const {
    const LayoutPlan& plan = *given.plan;
    const Copy& copy = plan.copies[c];
    show::ShownCopy out{.tensor = copy.tensor, .form = names_.form(copy)};
    if (copy.opaque || names_.of(copy) != out.form) out.exact = expression_of(copy.layout, copy.opaque);
    out.from = copy.from;
    out.view_of = copy.view_of;
    if (copy.from == kNone) return out;
    out.reason = copy.reason;
    out.bytes = reorder_bytes(graph_, plan, static_cast<CopyId>(c));
    // Reorders of constants run once at load and have no price in a run.
    if (given.predicted != nullptr && !graph_.tensor(copy.tensor).constant())
      out.us = price(given.predicted->copies, c);
    return out;
  }

  const Graph& graph_;
  const LayoutNames names_;
};

}  // namespace

std::string post_op_words(const PostOp& op) { return std::string(function_name(op)) + " (" + op.name + ")"; }

show::PlanScene plan_scene(const Graph& graph, const std::string& title, std::span<const PlanToShow> plans,
                           const std::string& prices) {
  show::PlanScene out{.title = title, .prices = prices};
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    out.tensors.push_back({.name = tensor.name.empty() ? "#" + std::to_string(t) : tensor.name,
                           .dims = tensor.dims,
                           .dtype = std::string(name(tensor.dtype))});
  }
  for (const Node& node : graph.nodes) {
    show::ShownNode& shown = out.nodes.emplace_back(
        show::ShownNode{.name = node.name, .kind = std::string(name(node.kind)), .pass = std::string(name(node.pass))});
    for (const PostOp& op : node.post_ops) shown.post_ops.push_back(post_op_words(op));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) out.outputs.push_back(graph.output_name(i));
  const SceneMaker maker(graph);
  for (const PlanToShow& plan : plans) {
    out.plans.push_back(maker.shown(plan));
    if (plan.plan != nullptr && out.backend.empty()) out.backend = plan.plan->backend;
  }
  const auto first = std::ranges::find_if(out.plans, &show::ShownPlan::has_plan);
  if (first == out.plans.end()) throw Error(ErrorCode::invalid_argument, "show: there is no plan to show", "plans");
  out.chosen = static_cast<int>(first - out.plans.begin());
  return out;
}

}  // namespace relayout::graph
