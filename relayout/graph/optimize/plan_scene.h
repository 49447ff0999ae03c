// Plans of a graph as a scene, which show/ writes as a page, a drawing, text, or the file of another viewer.
//
//     const PredictedCost cost = predict(graph, best.plan, *costs);
//     const show::PlanScene scene = plan_scene(graph, "net.onnx", {{"optimal", &best.plan, &cost}});
//     show::plan_html(scene);
#pragma once

#include <optional>
#include <span>
#include <string>

#include "relayout/graph/plan/cost.h"
#include "relayout/show/plan_scene.h"

namespace relayout::graph {

/// A plan by one policy and what it is predicted to take; or, without a plan, why there is none.
struct PlanToShow {
  std::string policy;
  const LayoutPlan* plan = nullptr;
  const PredictedCost* predicted = nullptr;
  std::optional<double> cost_us{}, measured_us{};
  std::string problem{};
};

/// Plans of one graph side by side; the first one that is a plan is shown first. `prices` is Costs::name(). Layouts
/// have the names of LayoutNames. Errors: invalid_argument where none is a plan.
show::PlanScene plan_scene(const Graph& graph, const std::string& title, std::span<const PlanToShow> plans,
                           const std::string& prices = "analytic");

/// "relu (n7)": a post-op as scenes have it.
std::string post_op_words(const PostOp& op);

}  // namespace relayout::graph
