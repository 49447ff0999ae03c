// Groups of nodes that become one: see fuse.h.
//
// A group is a set of nodes of which one, the sink, gives its result; the results of the others are read inside the
// group alone. Each node begins as a group. In the order of the graph, each group takes in the groups that make its
// sources, the latest first, as long as all their readers are in the group. So x joins x * sigmoid(x) once sigmoid has.
// A group may have one product (convolution, matmul, ...), its first node; its own sources stay outside of the group.
#include "relayout/graph/passes/fuse.h"

#include <algorithm>

#include "relayout/graph/ir/post_ops.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/passes/simplify_steps.h"

namespace relayout::graph {
namespace {

/// More functions in one pass bring nothing: they work on memory of the first-level cache.
constexpr std::size_t kMostFunctions = 32;

bool is_product(Kind kind) { return compute_bound(kind) && kind != Kind::rnn; }

/// The nodes of a group, in the order of the graph.
using Members = std::vector<NodeId>;

class Fusion {
 public:
  explicit Fusion(Graph& graph)
      : graph_(graph), makers_(producers(graph)), readers_(consumers(graph)), groups_(graph.nodes.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      sinks_.push_back(static_cast<NodeId>(n));
      fusible_.push_back(may_fuse(graph.nodes[n]));
      products_.push_back(may_lead(graph.nodes[n]) ? static_cast<NodeId>(n) : kNone);
      groups_[n] = {static_cast<NodeId>(n)};
    }
  }

  void run() {
    for (std::size_t n = 0; n < groups_.size(); ++n) {
      while (fusible_[n] && take_one(static_cast<NodeId>(n))) continue;
    }
    std::vector<bool> dropped(groups_.size(), false);
    for (std::size_t n = 0; n < groups_.size(); ++n) {
      dropped[n] = sinks_[n] != static_cast<NodeId>(n);
      if (!dropped[n] && groups_[n].size() > 1) merged_.emplace_back(n, merged(static_cast<NodeId>(n)));
    }
    for (auto& [n, node] : merged_) graph_.nodes[n] = std::move(node);
    drop_nodes(graph_, dropped);
    prune(graph_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }

  bool may_fuse(const Node& node) const {
    if (node.pass != Pass::forward_inference || !is_elementwise(node.kind) || !node.post_ops.empty()) return false;
    const DType dtype = graph_.tensor(node.dst[0]).dtype;
    if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::bf16) return false;
    return std::ranges::all_of(node.src, [&](TensorId t) { return graph_.tensor(t).dtype == dtype; });
  }

  /// Whether a node is a product whose result post-ops may follow.
  bool may_lead(const Node& node) const {
    if (node.pass != Pass::forward_inference || !is_product(node.kind) || !node.post_ops.empty()) return false;
    return node.dst.size() == 1 && graph_.tensor(node.dst[0]).dtype == DType::f32;
  }

  /// The tensors that the elementwise nodes of a group read, each once.
  std::vector<TensorId> sources(const Members& group) const {
    std::vector<TensorId> out;
    for (NodeId n : group) {
      if (!is_elementwise(graph_.node(n).kind)) continue;
      for (TensorId t : graph_.node(n).src) {
        const bool inside = makers_[at(t)] != kNone && std::ranges::binary_search(group, makers_[at(t)]);
        if (!inside && std::ranges::find(out, t) == out.end()) out.push_back(t);
      }
    }
    return out;
  }

  /// Takes a group that makes a source into the group of `sink`; false if there is none.
  bool take_one(NodeId sink) {
    std::vector<TensorId> candidates = sources(groups_[at(sink)]);
    std::erase_if(candidates, [&](TensorId t) { return !may_join(t, sink); });
    std::ranges::sort(candidates, std::greater(), [&](TensorId t) { return makers_[at(t)]; });
    for (TensorId t : candidates) {
      const NodeId maker = makers_[at(t)];
      NodeId& product = products_[at(sink)];
      if (product != kNone && products_[at(maker)] != kNone) continue;
      if (product != kNone && std::ranges::find(graph_.node(product).src, t) != graph_.node(product).src.end())
        continue;
      Members both;
      std::ranges::merge(groups_[at(sink)], groups_[at(maker)], std::back_inserter(both));
      // What a product computes is read beside the sources.
      const std::size_t computed = product != kNone || products_[at(maker)] != kNone ? 1 : 0;
      if (both.size() > kMostFunctions || sources(both).size() + computed > kMostFusedSources) continue;
      for (NodeId n : groups_[at(maker)]) sinks_[at(n)] = sink;
      if (product == kNone) product = products_[at(maker)];
      groups_[at(sink)] = std::move(both);
      return true;
    }
    return false;
  }

  /// Whether the group that makes a tensor gives it to the group of `sink` alone, element for element.
  bool may_join(TensorId t, NodeId sink) const {
    const NodeId maker = makers_[at(t)];
    const Tensor &tensor = graph_.tensor(t), &result = graph_.tensor(graph_.node(sink).dst[0]);
    if (maker == kNone || tensor.layout) return false;
    if (!fusible_[at(maker)] && products_[at(maker)] != maker) return false;
    if (tensor.dims != result.dims || tensor.dtype != result.dtype) return false;
    if (std::ranges::find(graph_.outputs, t) != graph_.outputs.end()) return false;
    return std::ranges::all_of(readers_[at(t)], [&](NodeId reader) { return sinks_[at(reader)] == sink; });
  }

  /// The node that computes a group: its product or else its first node, with all others as post-ops.
  Node merged(NodeId sink) const {
    Members group = groups_[at(sink)];
    const auto product = std::ranges::find(group, products_[at(sink)]);
    if (product != group.end()) std::rotate(group.begin(), product, product + 1);
    Node out = graph_.node(group.front());
    const std::size_t own = out.src.size();
    // A product may keep a constant in a format of its backend, so post-ops read a copy of their own.
    const auto found = [&](TensorId t) {
      const bool apart = is_product(out.kind) && graph_.tensor(t).constant();
      return std::find(out.src.begin() + (apart ? static_cast<std::ptrdiff_t>(own) : 0), out.src.end(), t);
    };
    for (TensorId t : sources(groups_[at(sink)])) {
      if (found(t) == out.src.end()) out.src.push_back(t);
    }
    out.post_sources = out.src.size() - own;
    const auto number = [&](TensorId t) {
      const auto member = std::ranges::find(group, makers_[at(t)]);
      return static_cast<int>(member == group.end() ? found(t) - out.src.begin()
                                                    : std::ssize(out.src) + (member - group.begin()));
    };
    for (NodeId n : std::span(group).subspan(1)) {
      const Node& node = graph_.node(n);
      PostOp& op = out.post_ops.emplace_back(PostOp{.name = node.name});
      if (node.kind == Kind::eltwise) op.function = node.as<EltwiseAttributes>();
      if (node.kind == Kind::binary) op.function = node.as<BinaryAttributes>();
      if (node.kind == Kind::sum) op.function = node.as<SumAttributes>();
      std::ranges::transform(node.src, std::back_inserter(op.src), number);
    }
    out.dst = graph_.node(sink).dst;
    return out;
  }

  Graph& graph_;
  const std::vector<NodeId> makers_;
  const std::vector<std::vector<NodeId>> readers_;
  /// By node: whether it may be in a group with others, the sink of its group, and by sink the group.
  std::vector<bool> fusible_{};
  std::vector<NodeId> sinks_{};
  /// By sink: the product of its group, or kNone.
  std::vector<NodeId> products_{};
  std::vector<Members> groups_;
  std::vector<std::pair<std::size_t, Node>> merged_{};
};

}  // namespace

void fuse(Graph& graph) { Fusion(graph).run(); }

}  // namespace relayout::graph
