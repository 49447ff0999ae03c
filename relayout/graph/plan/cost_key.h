// CostKey: which primitive, or which reorder, a cost is of, as a number of 128 bits.
//
//     const CostContext context(graph);                      // once a graph
//     CostKey key = primitive_key(context, node, implementation, nullptr, false);
//
// The key depends on everything that the time can depend on: kind, pass and attributes of the node; dims, types and
// layouts of its operands, which of them are constants, which exist before a run, and which are the same tensor; the
// name of the implementation, and whether it runs in place; whether the graph is a training step; when the memory of a
// reorder was last touched; and, for a backward node, all this of its forward node. Names of nodes and tensors do not
// matter. Equal layouts have equal keys, whatever their digits. Keys are the same in every process, so that files can
// keep them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "relayout/graph/plan/backend.h"

namespace relayout::graph {

struct CostKey {
  uint64_t high = 0, low = 0;
  friend bool operator==(const CostKey&, const CostKey&) = default;
};
struct CostKeyHash {
  std::size_t operator()(const CostKey& key) const { return static_cast<std::size_t>(key.low); }
};

/// Makes a key of a sequence of numbers and texts.
class KeyMaker {
 public:
  KeyMaker() = default;
  /// Continues another key.
  explicit KeyMaker(const CostKey& start) : high_(start.high), low_(start.low) {}

  KeyMaker& add(uint64_t value);
  KeyMaker& add(std::string_view text);
  KeyMaker& add(const Dims& dims);
  KeyMaker& add(const Layout& layout);
  KeyMaker& add(const Opaque& opaque);
  CostKey key() const { return {high_, low_}; }

 private:
  uint64_t high_ = 0x243f6a8885a308d3, low_ = 0x13198a2e03707344;
};

/// Whether the memory that a reorder reads and writes is still in the caches, as most activations are in inference, or
/// "far": last touched megabytes of other traffic ago.
struct ReorderSetting {
  /// True for tensors that exist before a run, and for those that a forward pass leaves for the backward pass. (It is
  /// not known yet which reader a reorder is for, so that readers in the forward pass count as far too.)
  bool far_source = false;
  /// True in a training step, which keeps what it computes and therefore always writes to other memory.
  bool far_destination = false;
  friend bool operator==(const ReorderSetting&, const ReorderSetting&) = default;
};

/// What costs depend on beyond a single node, computed once for a graph. The graph must outlive it and must not change.
class CostContext {
 public:
  explicit CostContext(const Graph& graph);

  const Graph& graph() const { return *graph_; }
  /// Whether the graph is a training step, in which results of forward nodes are kept until backward nodes read them.
  bool is_step() const { return is_step_; }
  /// Whether a tensor exists before a run: a constant, or an input (weights are inputs in training).
  bool is_given(TensorId tensor) const { return is_given_[static_cast<std::size_t>(tensor)]; }
  /// The setting of all reorders of a tensor.
  ReorderSetting reorder_setting(TensorId tensor) const {
    return {is_given(tensor) || is_kept_[static_cast<std::size_t>(tensor)], is_step_};
  }
  /// The key of a node alone, without an implementation and layouts.
  const CostKey& node_key(NodeId node) const { return node_keys_[static_cast<std::size_t>(node)]; }

 private:
  const Graph* graph_;
  bool is_step_ = false;
  std::vector<bool> is_given_;      // by tensor
  std::vector<bool> is_kept_;       // by tensor: made by a forward node, read by a backward one
  std::vector<CostKey> node_keys_;  // by node
};

/// Whether the cost of a backward node of this kind depends on the implementation of its forward node: it reads what
/// the forward implementation left in a layout of its own, or is made for that implementation's layouts only.
bool follows_forward(Kind kind);

/// The key of what Costs::primitive() is asked with these arguments.
CostKey primitive_key(const CostContext& context, NodeId node, const Implementation& implementation,
                      const Implementation* forward, bool in_place);
CostKey reorder_key(const ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to);
/// The key of what Backend::implementations() is asked with these arguments. Of the graph, it depends on the node, its
/// operands and its hint alone.
CostKey question_key(const Graph& graph, NodeId node, std::span<const LayoutRequest> src,
                     std::span<const LayoutRequest> dst, const Implementation* forward);

}  // namespace relayout::graph
