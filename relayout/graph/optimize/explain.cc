// Plans in words; see explain.h.
#include "relayout/graph/optimize/explain.h"

#include <cstdio>

#include "relayout/graph/plan/layout_names.h"

namespace relayout::graph {
namespace {

std::string layouts_of(const LayoutNames& names, const LayoutPlan& plan, const std::vector<CopyId>& copies) {
  std::string out;
  for (const CopyId id : copies) {
    if (id == kNone) continue;  // an operand that is absent
    out += (out.empty() ? "" : ", ") + names.of(plan.copy(id));
  }
  return out;
}

std::string microseconds(double us) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f us", us);
  return text;
}

}  // namespace

std::string explain(const Graph& graph, const OptimalPlan& best, const PredictedCost& predicted,
                    std::string_view prices) {
  const LayoutNames names(graph);
  std::string out;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const PlannedNode& planned = best.plan.nodes[n];
    out += graph.nodes[n].name + " by " + planned.implementation + ": " + layouts_of(names, best.plan, planned.src) +
           " -> " + layouts_of(names, best.plan, planned.dst) + "\n";
  }
  for (const CopyId reorder : best.plan.reorders(graph)) out += "reorder: " + best.plan.copy(reorder).reason + "\n";
  return out + "predicted by " + std::string(prices) + " prices" + (prices == "analytic" ? ", not measured" : "") +
         ": primitives " + microseconds(predicted.primitives) + ", reorders " + microseconds(predicted.reorders) +
         "; " + (best.optimal ? "no plan costs less by these prices" : "the best plan that was found");
}

}  // namespace relayout::graph
