// What `any` takes, and what else there is: see primitive_choices.h.
#include "relayout/graph/optimize/primitive_choices.h"

#include <algorithm>

#include "relayout/graph/ir/operands.h"
#include "relayout/graph/optimize/candidates.h"

namespace relayout::graph {
namespace {

/// The layout in which a tensor is there before the node runs: that of the forward implementation, the tensor's own, or
/// row-major.
Layout actual_layout(const Graph& graph, const Node& node, TensorId tensor, const Implementation* forward) {
  if (forward && node.hint != kNone) {
    const Node& hint = graph.node(node.hint);
    const auto find = [&](const std::vector<TensorId>& ids, const std::vector<std::optional<Layout>>& layouts) {
      const auto at = static_cast<std::size_t>(std::ranges::find(ids, tensor) - ids.begin());
      return at < std::min(ids.size(), layouts.size()) ? layouts[at] : std::nullopt;
    };
    if (const std::optional<Layout> layout = find(hint.dst, forward->dst)) return *layout;
    if (const std::optional<Layout> layout = find(hint.src, forward->src)) return *layout;
  }
  return graph.tensor(tensor).layout.value_or(Layout::contiguous(graph.tensor(tensor).dims));
}

/// The first answer to the requests of the specification's table.
std::optional<Implementation> taken_by_any(const Graph& graph, NodeId id, const Backend& backend,
                                           const Implementation* forward) {
  const Node& node = graph.node(id);
  std::vector<LayoutRequest> src(node.src.size()), dst(node.dst.size());
  for (const Operand& operand : operands(node)) {
    LayoutRequest& request = (operand.is_src ? src : dst)[static_cast<std::size_t>(operand.index)];
    const Dims& dims = graph.tensor(operand.tensor).dims;
    const std::optional<Layout>& wanted = graph.tensor(operand.tensor).layout;
    if (dims.size() <= 1) {
      request = Layout::contiguous(dims);  // one dim has one layout
    } else if (operand.asked == Asked::actual) {
      request = actual_layout(graph, node, operand.tensor, forward);
    } else if (operand.asked == Asked::given) {
      request = wanted.value_or(Layout::contiguous(dims));
    }
  }
  std::vector<Implementation> found = backend.implementations(graph, id, src, dst, forward);
  const auto first = std::ranges::find(found, false, &Implementation::rounds_more);
  return first == found.end() ? std::nullopt : std::optional(std::move(*first));
}

bool same(const Implementation& a, const Implementation& b) {
  return a.name == b.name && a.src == b.src && a.dst == b.dst && a.opaque == b.opaque;
}

}  // namespace

std::vector<PrimitiveChoice> primitive_choices(const Graph& graph, NodeId id, const Backend& backend, Costs& costs,
                                               const Implementation* forward, bool may_round_more) {
  if (id < 0 || static_cast<std::size_t>(id) >= graph.nodes.size()) {
    throw Error(ErrorCode::invalid_argument, "primitive_choices: the graph has no node " + std::to_string(id), "node",
                std::to_string(id), "one of its " + std::to_string(graph.nodes.size()));
  }
  const Node& node = graph.node(id);
  const OptimizeOptions options{.may_round_more = may_round_more};
  CandidateFinder finder(graph, backend, costs, options);
  std::optional<Candidate> hint;
  if (forward) {
    hint.emplace();
    hint->implementation = std::make_shared<const Implementation>(*forward);
    const auto number = [&](const std::optional<Layout>& layout) {
      return layout ? finder.layouts().id(*layout) : kNone;
    };
    std::ranges::transform(forward->src, std::back_inserter(hint->src), number);
    std::ranges::transform(forward->dst, std::back_inserter(hint->dst), number);
  }
  std::vector<PrimitiveChoice> out;
  const std::optional<Implementation> any = taken_by_any(graph, id, backend, forward);
  if (any) out.push_back({*any, 0, true});
  std::vector<int> leads;
  if (!compute_bound(node.kind) && !node.src.empty() && node.src[0] != kNone) {
    leads.push_back(finder.layouts().id(actual_layout(graph, node, node.src[0], forward)));
  }
  const bool with_forward = hint && follows_forward(node.kind);
  const std::vector<Candidate>& candidates =
      with_forward ? finder.candidates_with(id, *hint) : finder.candidates(id, leads, hint ? &*hint : nullptr, false);
  for (const Candidate& candidate : candidates) {
    if (!any || !same(*candidate.implementation, *any)) out.push_back({*candidate.implementation});
  }
  const CostContext context(graph);
  const auto price = [&] {
    for (PrimitiveChoice& choice : out) choice.us = costs.primitive(context, id, choice.implementation, forward, false);
  };
  price();
  if (costs.again()) price();
  std::erase_if(out, [](const PrimitiveChoice& choice) { return choice.us == kImpossible && !choice.by_any; });
  std::ranges::stable_sort(out, {}, &PrimitiveChoice::us);
  return out;
}

}  // namespace relayout::graph
