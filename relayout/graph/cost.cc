// What a plan costs: the sum of its primitives and of the reorders that run.
#include "relayout/graph/cost.h"

#include <algorithm>

namespace relayout::graph {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// By copy: whether a node or an output reads it, itself or through views and reorders of it.
std::vector<bool> read_copies(const LayoutPlan& plan) {
  std::vector<bool> out(plan.copies.size());
  const auto read = [&](CopyId id) {
    while (id != kNone && !out[at(id)]) {
      out[at(id)] = true;
      const Copy& copy = plan.copy(id);
      id = copy.from != kNone ? copy.from : copy.view_of;
    }
  };
  for (const PlannedNode& node : plan.nodes) std::ranges::for_each(node.src, read);
  std::ranges::for_each(plan.outputs, read);
  return out;
}

}  // namespace

Implementation implementation_of(const LayoutPlan& plan, NodeId node) {
  const PlannedNode& planned = plan.nodes[at(node)];
  Implementation out{.name = planned.implementation, .reference = planned.reference};
  const auto layout = [&](CopyId id) { return id == kNone ? std::nullopt : std::optional(plan.copy(id).layout); };
  std::ranges::transform(planned.src, std::back_inserter(out.src), layout);
  std::ranges::transform(planned.dst, std::back_inserter(out.dst), layout);
  return out;
}

bool runs_in_place(const LayoutPlan& plan, NodeId node) {
  const PlannedNode& planned = plan.nodes[at(node)];
  if (planned.dst.empty() || planned.dst[0] == kNone) return false;
  const CopyId of = plan.copy(planned.dst[0]).view_of;
  return of != kNone && std::ranges::find(planned.src, of) != planned.src.end();
}

PredictedCost predict(const Graph& graph, const LayoutPlan& plan, Costs& costs) {
  PredictedCost out;
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const auto id = static_cast<NodeId>(n);
    const std::string& name = plan.nodes[n].implementation;
    if (name == "view" || name == "barrier") continue;
    const NodeId hint = graph.node(id).hint;
    const Implementation forward = hint == kNone ? Implementation() : implementation_of(plan, hint);
    out.primitives += costs.primitive(graph, id, implementation_of(plan, id), hint == kNone ? nullptr : &forward,
                                      runs_in_place(plan, id));
  }
  const std::vector<bool> read = read_copies(plan);
  for (CopyId id : plan.reorders(graph)) {
    if (!read[at(id)]) continue;
    const Copy& copy = plan.copy(id);
    const DType dtype = graph.tensor(copy.tensor).dtype;
    out.reorders += costs.reorder({plan.copy(copy.from).layout, dtype}, {copy.layout, dtype});
  }
  return out;
}

}  // namespace relayout::graph
