// What a plan costs: the sum of its primitives and of the reorders that run.
#include "relayout/graph/plan/cost.h"

#include <algorithm>
#include <cmath>

#include "relayout/core/view.h"

namespace relayout::graph {
namespace {

/// By copy: whether a node or an output reads it, directly or through views and reorders of it.
std::vector<bool> read_copies(const LayoutPlan& plan) {
  std::vector<bool> out(plan.copies.size());
  const auto read = [&](CopyId id) {
    while (id != kNone && !out[static_cast<std::size_t>(id)]) {
      out[static_cast<std::size_t>(id)] = true;
      const Copy& copy = plan.copy(id);
      id = copy.from != kNone ? copy.from : copy.view_of;
    }
  };
  for (const PlannedNode& node : plan.nodes) std::ranges::for_each(node.src, read);
  std::ranges::for_each(plan.outputs, read);
  return out;
}

PredictedCost sum(const Graph& graph, const LayoutPlan& plan, Costs& costs, int64_t runs) {
  PredictedCost out;
  out.nodes.resize(plan.nodes.size());
  out.copies.resize(plan.copies.size());
  const CostContext context(graph);
  const auto implementation_at = [&](NodeId node) {
    Implementation implementation = implementation_of(plan, node);
    for (auto* layouts : {&implementation.src, &implementation.dst}) {
      for (std::optional<Layout>& layout : *layouts) layout = layout ? std::optional(from_zero(*layout)) : layout;
    }
    return implementation;
  };
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const auto id = static_cast<NodeId>(n);
    const std::string& name = plan.nodes[n].implementation;
    if (name == "view" || name == "barrier") continue;
    const NodeId hint = graph.node(id).hint;
    const Implementation forward = hint == kNone ? Implementation() : implementation_at(hint);
    const double us = costs.primitive(context, id, implementation_at(id), hint == kNone ? nullptr : &forward,
                                      runs_in_place(plan, id));
    if (std::isinf(us) && out.impossible == kNone) out.impossible = id;
    out.nodes[n] = us;
    out.primitives += us;
    if (plan.nodes[n].reference) out.references += us;
    if (margin_of(graph.node(id)) > 0) out.margin += margin_of(graph.node(id)) * us;
  }
  const std::vector<bool> read = read_copies(plan);
  const auto reorder = [&](CopyId id) {
    if (!read[static_cast<std::size_t>(id)]) return 0.0;
    const Copy& copy = plan.copy(id);
    const DType dtype = graph.tensor(copy.tensor).dtype;
    if (copy.opaque) {
      return costs.opaque_reorder(context.reorder_setting(copy.tensor), {plan.copy(copy.from).layout, dtype},
                                  *copy.opaque);
    }
    return costs.reorder(context.reorder_setting(copy.tensor), {from_zero(plan.copy(copy.from).layout), dtype},
                         {from_zero(copy.layout), dtype});
  };
  for (CopyId id : plan.reorders(graph)) out.reorders += out.copies[static_cast<std::size_t>(id)] = reorder(id);
  out.margin += kMoveMargin * out.reorders;
  if (runs <= 0) return out;
  for (CopyId id : plan.load_reorders(graph)) out.load += reorder(id) / static_cast<double>(runs);
  return out;
}

}  // namespace

double Costs::opaque_reorder(const ReorderSetting& setting, const TensorDesc& from, const Opaque& to) {
  std::vector<int> order;
  for (int d = from.layout.ndims(); d-- > 0;) order.push_back(d);
  Dims reversed;
  for (int d : order) reversed.push_back(from.layout.dim(d));
  const Layout layout = permute(Layout::contiguous(reversed), order);
  const double share = static_cast<double>(to.bytes) / static_cast<double>(std::max<int64_t>(1, from.logical_bytes()));
  return std::max(1.0, share) * reorder(setting, from, {layout, from.dtype});
}

PredictedCost predict(const Graph& graph, const LayoutPlan& plan, Costs& costs, int64_t runs) {
  const PredictedCost out = sum(graph, plan, costs, runs);
  return costs.again() ? sum(graph, plan, costs, runs) : out;
}

}  // namespace relayout::graph
