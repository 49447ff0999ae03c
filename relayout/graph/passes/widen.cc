// Computes in f32 what a backend lacks in other floating types: see widen.h.
#include "relayout/graph/passes/widen.h"

#include <algorithm>
#include <numeric>

#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::graph {
namespace {

std::size_t position(int id) { return static_cast<std::size_t>(id); }

bool may_widen(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64; }

bool reads_or_writes(const Graph& graph, const Node& node) {
  const auto is = [&](TensorId t) { return t != kNone && may_widen(graph.tensor(t).dtype); };
  return std::ranges::any_of(node.src, is) || std::ranges::any_of(node.dst, is);
}

/// Nodes that take next to no arithmetic, so that it matters little in which type they run.
bool follows_neighbours(Kind kind) {
  switch (kind) {
    case Kind::eltwise:
    case Kind::binary:
    case Kind::sum:
    case Kind::concat:
    case Kind::shuffle:
    case Kind::pad:
    case Kind::gather: return true;
    default: return is_view(kind);
  }
}

/// A graph that is written anew. A tensor of another type exists as it is, in f32, or both, as nodes ask for it.
class Rewriter {
 public:
  Rewriter(Graph& graph, const Computable& computable) : graph_(graph), computable_(computable) {}

  Widened run() {
    widen_parameters();
    choose();
    Widened out;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!wide_[n]) continue;
      ++out.nodes;
      for (const auto* operands : {&graph_.nodes[n].src, &graph_.nodes[n].dst}) {
        for (const TensorId t : *operands) {
          if (t == kNone || !may_widen(graph_.tensor(t).dtype)) continue;
          if (std::ranges::find(out.types, graph_.tensor(t).dtype) == out.types.end())
            out.types.push_back(graph_.tensor(t).dtype);
        }
      }
    }
    if (out.nodes > 0) rewrite();
    prune(graph_);
    return out;
  }

 private:
  bool runs(NodeId id) const { return is_view(graph_.node(id).kind) || computable_(graph_, id); }

  TensorId constant_in_f32(TensorId t) {
    const Tensor from = graph_.tensor(t);
    const auto data = std::make_shared<const std::vector<std::byte>>(store(values_of(from), DType::f32));
    return graph_.constant(from.name, from.dims, DType::f32, data);
  }

  /// Gives a node that does not run its constants of one dim in f32, where it runs with them.
  void widen_parameters() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!reads_or_writes(graph_, graph_.nodes[n]) || follows_neighbours(graph_.nodes[n].kind)) continue;
      const auto id = static_cast<NodeId>(n);
      if (runs(id)) continue;
      const std::vector<TensorId> before = graph_.nodes[n].src;
      const std::size_t tensors = graph_.tensors.size();
      for (std::size_t i = 1; i < before.size(); ++i) {
        if (before[i] == kNone) continue;
        const Tensor& tensor = graph_.tensor(before[i]);
        if (!tensor.constant() || tensor.dims.size() != 1 || !may_widen(tensor.dtype)) continue;
        const TensorId wide = constant_in_f32(before[i]);
        graph_.nodes[n].src[i] = wide;
      }
      if (graph_.tensors.size() > tensors && runs(id)) continue;
      graph_.nodes[n].src = before;
      graph_.tensors.resize(tensors);
    }
  }

  /// Decides which nodes are computed in f32.
  void choose() {
    const std::size_t count = graph_.nodes.size();
    wide_.assign(count, false);
    group_.resize(count);
    std::iota(group_.begin(), group_.end(), 0);
    std::vector<int> votes(count, 0);
    std::vector<bool> other(count, false);
    for (std::size_t n = 0; n < count; ++n) {
      const Kind kind = graph_.nodes[n].kind;
      other[n] = reads_or_writes(graph_, graph_.nodes[n]) && kind != Kind::barrier && kind != Kind::reorder;
      wide_[n] = other[n] && !runs(static_cast<NodeId>(n));
    }
    const std::vector<NodeId> makers = producers(graph_);
    const auto each_edge = [&](const auto& visit) {
      for (std::size_t n = 0; n < count; ++n) {
        for (const TensorId t : graph_.nodes[n].src) {
          const NodeId maker = t == kNone ? kNone : makers[position(t)];
          if (maker != kNone && other[n] && other[position(maker)] && may_widen(graph_.tensor(t).dtype))
            visit(position(maker), n);
        }
      }
    };
    const auto follower = [&](std::size_t n) { return follows_neighbours(graph_.nodes[n].kind); };
    each_edge([&](std::size_t a, std::size_t b) {
      if (follower(a) && follower(b)) group_[position(root(static_cast<int>(a)))] = root(static_cast<int>(b));
    });
    each_edge([&](std::size_t a, std::size_t b) {
      if (follower(a) == follower(b)) return;
      const std::size_t one = follower(a) ? a : b, neighbour = follower(a) ? b : a;
      votes[position(root(static_cast<int>(one)))] += wide_[neighbour] ? 1 : -1;
    });
    // What does not run decides for all that it is connected with.
    for (std::size_t n = 0; n < count; ++n) {
      if (follower(n) && wide_[n]) votes[position(root(static_cast<int>(n)))] = static_cast<int>(count) + 1;
    }
    for (std::size_t n = 0; n < count; ++n) {
      if (follower(n) && other[n]) wide_[n] = votes[position(root(static_cast<int>(n)))] > 0;
    }
  }

  int root(int n) const {
    while (group_[position(n)] != n) n = group_[position(n)];
    return n;
  }

  void rewrite() {
    const std::size_t count = graph_.tensors.size();
    dtypes_.resize(count);
    for (std::size_t t = 0; t < count; ++t) dtypes_[t] = graph_.tensors[t].dtype;
    plain_.resize(count);
    std::iota(plain_.begin(), plain_.end(), 0);
    in_f32_.assign(count, kNone);
    std::vector<Node> before = std::exchange(graph_.nodes, {});
    for (std::size_t n = 0; n < before.size(); ++n) {
      if (is_conversion(before[n])) {
        convert_lazily(before[n]);
        continue;
      }
      for (TensorId& t : before[n].src) {
        if (t != kNone) t = wide_[n] ? wide(t) : plain(t);
      }
      if (wide_[n]) std::ranges::for_each(before[n].dst, [&](TensorId t) { written_in_f32(t); });
      graph_.nodes.push_back(std::move(before[n]));
    }
    graph_.output_names.resize(graph_.outputs.size());
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (graph_.output_names[i].empty()) graph_.output_names[i] = graph_.tensor(graph_.outputs[i]).name;
      graph_.outputs[i] = plain(graph_.outputs[i]);
    }
  }

  /// Whether a node only changes the type, from f32 or to it.
  bool is_conversion(const Node& node) const {
    if (node.kind != Kind::reorder) return false;
    const auto& a = node.as<ReorderAttributes>();
    const Tensor &src = graph_.tensor(node.src[0]), &dst = graph_.tensor(node.dst[0]);
    const DType from = dtypes_[position(node.src[0])];
    return a.scale == 1 && a.shift == 0 && !dst.layout && !src.constant() &&
           std::ranges::find(graph_.outputs, node.dst[0]) == graph_.outputs.end() &&
           ((may_widen(from) && a.dtype == DType::f32) || (from == DType::f32 && may_widen(a.dtype)));
  }

  void convert_lazily(const Node& node) {
    const TensorId src = node.src[0], dst = node.dst[0];
    if (dtypes_[position(src)] != DType::f32) {  // to f32
      plain_[position(dst)] = wide(src);
      return;
    }
    in_f32_[position(dst)] = plain(src);
    plain_[position(dst)] = kNone;
  }

  void written_in_f32(TensorId t) {
    if (t == kNone || !may_widen(dtypes_[position(t)])) return;
    graph_.tensor(t).dtype = DType::f32;
    in_f32_[position(t)] = t;
    plain_[position(t)] = kNone;
  }

  /// The tensor in f32, for a node that is computed so; other types than may_widen() stay.
  TensorId wide(TensorId t) {
    if (!may_widen(dtypes_[position(t)])) return plain(t);
    TensorId& out = in_f32_[position(t)];
    if (out != kNone) return out;
    if (graph_.tensor(t).constant()) {
      const TensorId made = constant_in_f32(t);
      return in_f32_[position(t)] = made;
    }
    return out = converted(plain_[position(t)], graph_.tensor(t).name, DType::f32);
  }

  /// The tensor in its own type.
  TensorId plain(TensorId t) {
    TensorId& out = plain_[position(t)];
    if (out != kNone) return out;
    out = converted(in_f32_[position(t)], graph_.tensor(t).name, dtypes_[position(t)]);
    graph_.tensor(out).layout = std::exchange(graph_.tensor(t).layout, std::nullopt);
    return out;
  }

  TensorId converted(TensorId from, const std::string& called, DType dtype) {
    const std::string as = called + "." + std::string(name(dtype));
    const TensorId out = graph_.add(Kind::reorder, ReorderAttributes{.dtype = dtype}, {from}, as)[0];
    graph_.tensor(out).name = as;
    return out;
  }

  Graph& graph_;
  const Computable& computable_;
  std::vector<bool> wide_;                // by node
  std::vector<int> group_;                // of nodes that follow their neighbours: union-find
  std::vector<DType> dtypes_;             // by tensor of the graph as it was
  std::vector<TensorId> plain_, in_f32_;  // and where it is in its own type and in f32; kNone where it is not yet
};

}  // namespace

Widened widen(Graph& graph, const Computable& computable) {
  const auto other = [](const Tensor& tensor) { return may_widen(tensor.dtype); };
  if (std::ranges::none_of(graph.tensors, other)) return {};
  if (!std::ranges::all_of(graph.nodes, [](const Node& node) { return node.forward(); })) return {};
  return Rewriter(graph, computable).run();
}

std::string text_of(const Widened& changed, std::string_view backend) {
  if (changed.nodes == 0) return "";
  std::string types;
  for (const DType dtype : changed.types) types += (types.empty() ? "" : " and ") + std::string(name(dtype));
  return std::to_string(changed.nodes) + (changed.nodes == 1 ? " primitive of " : " primitives of ") + types +
         (changed.nodes == 1 ? " is" : " are") + " computed in f32, as " + std::string(backend) + " has none in " +
         types;
}

}  // namespace relayout::graph
