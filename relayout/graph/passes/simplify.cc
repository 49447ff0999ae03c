// Simplify: folds constants, removes what no output needs, and applies the passes in their order.
#include "relayout/graph/passes/simplify.h"

#include <algorithm>

#include "relayout/graph/passes/simplify_steps.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::graph {
namespace {

/// Whether a constant can be folded without a change: the reference computes in float64, which cannot hold every 64-bit
/// integer.
bool held_by_float64(const Tensor& constant) {
  if (bits(constant.dtype) < 64 || is_floating(constant.dtype)) return true;
  return store(values_of(constant), constant.dtype) == *constant.data;
}

bool foldable(const Graph& graph, const Node& node) {
  if (!node.forward() || node.kind == Kind::barrier) return false;
  return std::all_of(node.src.begin(), node.src.end(), [&](TensorId t) {
    return t == kNone || (graph.tensor(t).constant() && held_by_float64(graph.tensor(t)));
  });
}

/// Whether the result shares the memory of the source, as that of a reshape does.
bool shares_data(const Graph& graph, const Node& node) {
  return node.kind == Kind::reshape && graph.tensor(node.src[0]).dtype == graph.tensor(node.dst[0]).dtype;
}

/// Bytes of new constants that folding a node makes.
int64_t new_bytes(const Graph& graph, const Node& node) {
  int64_t out = 0;
  for (TensorId t : node.dst) {
    if (t == kNone || shares_data(graph, node)) continue;
    const Tensor& tensor = graph.tensor(t);
    out += *bytes_for(tensor.dtype, *checked_product(tensor.dims));
  }
  return out;
}

void fold(Graph& graph, const Node& node) {
  if (shares_data(graph, node)) {
    graph.tensor(node.dst[0]).data = graph.tensor(node.src[0]).data;
    return;
  }
  std::vector<Values> values(node.src.size());
  std::vector<const Values*> src;
  for (std::size_t i = 0; i < node.src.size(); ++i) {
    if (node.src[i] != kNone) values[i] = values_of(graph.tensor(node.src[i]));
    src.push_back(node.src[i] == kNone ? nullptr : &values[i]);
  }
  const std::vector<Values> dst = evaluate_node(graph, node, src);
  for (std::size_t i = 0; i < node.dst.size(); ++i) {
    if (node.dst[i] == kNone) continue;
    Tensor& tensor = graph.tensor(node.dst[i]);
    tensor.data = std::make_shared<const std::vector<std::byte>>(store(dst[i], tensor.dtype));
  }
}

}  // namespace

void drop_nodes(Graph& graph, const std::vector<bool>& dropped) {
  std::vector<NodeId> now(graph.nodes.size(), kNone);
  std::vector<Node> nodes;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (dropped[n]) continue;
    now[n] = static_cast<NodeId>(nodes.size());
    nodes.push_back(std::move(graph.nodes[n]));
    if (nodes.back().hint != kNone) nodes.back().hint = now[static_cast<std::size_t>(nodes.back().hint)];
  }
  graph.nodes = std::move(nodes);
}

std::vector<bool> hints(const Graph& graph) {
  std::vector<bool> out(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    if (node.hint != kNone) out[static_cast<std::size_t>(node.hint)] = true;
  }
  return out;
}

void fold_constants(Graph& graph, int64_t max_bytes) {
  const std::vector<bool> is_hint = hints(graph);
  std::vector<bool> dropped(graph.nodes.size(), false);
  int64_t left = max_bytes;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (is_hint[n] || !foldable(graph, node)) continue;
    const int64_t bytes = new_bytes(graph, node);
    if (bytes > left) continue;
    left -= bytes;
    fold(graph, node);
    dropped[n] = true;
  }
  drop_nodes(graph, dropped);
}

void prune(Graph& graph) {
  std::vector<bool> needed(graph.tensors.size(), false), dropped(graph.nodes.size(), true);
  const auto need = [&](const std::vector<TensorId>& ids) {
    for (TensorId t : ids) {
      if (t != kNone) needed[static_cast<std::size_t>(t)] = true;
    }
  };
  need(graph.outputs);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const bool read = std::any_of(node.dst.begin(), node.dst.end(),
                                  [&](TensorId t) { return t != kNone && needed[static_cast<std::size_t>(t)]; });
    if (!read && dropped[n]) continue;
    dropped[n] = false;
    need(node.src);
    if (node.hint != kNone) dropped[static_cast<std::size_t>(node.hint)] = false;
  }
  need(graph.inputs);
  drop_nodes(graph, dropped);
  for (const Node& node : graph.nodes) need(node.dst);

  std::vector<TensorId> now(graph.tensors.size(), kNone);
  std::vector<Tensor> tensors;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!needed[t]) continue;
    now[t] = static_cast<TensorId>(tensors.size());
    tensors.push_back(std::move(graph.tensors[t]));
  }
  graph.tensors = std::move(tensors);
  const auto renumber = [&](std::vector<TensorId>& ids) {
    for (TensorId& t : ids) {
      if (t != kNone) t = now[static_cast<std::size_t>(t)];
    }
  };
  renumber(graph.inputs);
  renumber(graph.outputs);
  for (Node& node : graph.nodes) {
    renumber(node.src);
    renumber(node.dst);
  }
}

void simplify(Graph& graph) {
  for (;;) {
    const std::size_t nodes = graph.nodes.size(), tensors = graph.tensors.size();
    fold_constants(graph);
    remove_identities(graph);
    fold_batch_normalization(graph);
    join_compositions(graph);
    join_rows(graph);
    prune(graph);
    if (graph.nodes.size() == nodes && graph.tensors.size() == tensors) return;
  }
}

}  // namespace relayout::graph
