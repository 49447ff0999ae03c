// Simplify: removes nodes that return their source unchanged, and joins views of views.
#include <algorithm>
#include <numeric>

#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/passes/simplify_steps.h"

namespace relayout::graph {
namespace {

bool all_zero(const Dims& list) {
  return std::all_of(list.begin(), list.end(), [](int64_t value) { return value == 0; });
}

bool keeps_order(const std::vector<int>& order) { return std::is_sorted(order.begin(), order.end()); }

/// Whether the destination has the values of the source in the same order, though perhaps other dims.
bool same_values(const Graph& graph, const Node& node) {
  const Dims& src = graph.tensor(node.src[0]).dims;
  switch (node.kind) {
    case Kind::reshape:
    case Kind::broadcast: return true;
    case Kind::transpose: return keeps_order(node.as<TransposeAttributes>().order);
    case Kind::slice: {
      const SliceAttributes& a = node.as<SliceAttributes>();
      return all_zero(a.starts) && a.stops == src && a.steps == Dims(src.size(), 1);
    }
    case Kind::pad: return all_zero(node.as<PadAttributes>().begin) && all_zero(node.as<PadAttributes>().end);
    case Kind::concat: return node.src.size() == 1;
    case Kind::sum: {
      const std::vector<double>& scales = node.as<SumAttributes>().scales;
      return node.src.size() == 1 && (scales.empty() || scales[0] == 1);
    }
    case Kind::reorder: return node.as<ReorderAttributes>().scale == 1 && node.as<ReorderAttributes>().shift == 0;
    case Kind::shuffle: {
      const ShuffleAttributes& a = node.as<ShuffleAttributes>();
      return a.groups == 1 || a.groups == src[a.axis];
    }
    case Kind::eltwise: {
      const EltwiseAttributes& a = node.as<EltwiseAttributes>();
      return a.algorithm == EltwiseAlgorithm::linear && a.alpha == 1 && a.beta == 0;
    }
    default: return false;
  }
}

/// Whether a node can be removed: a destination of another type, or whose layout a user fixed, must stay.
bool is_identity(const Graph& graph, const Node& node) {
  if (!node.forward() || !node.post_ops.empty() || node.src.empty() || node.src[0] == kNone) return false;
  const Tensor &src = graph.tensor(node.src[0]), &dst = graph.tensor(node.dst[0]);
  return src.dims == dst.dims && src.dtype == dst.dtype && !dst.layout && same_values(graph, node);
}

/// Replaces a reshape of a reshape, or a transpose of a transpose, by one that reads the source of the first.
void join_with(Node& node, const Node& before) {
  if (node.kind == Kind::transpose) {
    const std::vector<int>& first = before.as<TransposeAttributes>().order;
    for (int& d : std::get<TransposeAttributes>(node.attributes).order) d = first[static_cast<std::size_t>(d)];
  }
  node.src = before.src;
}

bool joins(const Graph& graph, const Node& node, const Node& before) {
  const Tensor& between = graph.tensor(node.src[0]);
  return (node.kind == Kind::reshape || node.kind == Kind::transpose) && node.kind == before.kind && !between.layout &&
         between.dtype == graph.tensor(before.src[0]).dtype;
}

}  // namespace

void remove_identities(Graph& graph) {
  const std::vector<bool> is_hint = hints(graph);
  const std::vector<NodeId> makers = producers(graph);
  std::vector<TensorId> stands_for(graph.tensors.size());
  std::iota(stands_for.begin(), stands_for.end(), 0);
  std::vector<bool> dropped(graph.nodes.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    for (TensorId& t : node.src) {
      if (t != kNone) t = stands_for[static_cast<std::size_t>(t)];
    }
    if (is_hint[n]) continue;
    const NodeId maker =
        node.src.empty() || node.src[0] == kNone ? kNone : makers[static_cast<std::size_t>(node.src[0])];
    if (maker != kNone && joins(graph, node, graph.node(maker))) join_with(node, graph.node(maker));
    const bool is_output = std::find(graph.outputs.begin(), graph.outputs.end(), node.dst[0]) != graph.outputs.end();
    if (is_output || !is_identity(graph, node)) continue;
    stands_for[static_cast<std::size_t>(node.dst[0])] = node.src[0];
    dropped[n] = true;
  }
  drop_nodes(graph, dropped);
}

}  // namespace relayout::graph
