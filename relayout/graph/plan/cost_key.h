// CostKey: which primitive, or which reorder, a cost is of, as a number of 128 bits.
//
//     const CostContext context(graph);                      // once a graph
//     CostKey key = primitive_key(context, node, implementation, nullptr, false);
//
// Everything that the time can depend on is in it: kind, pass, attributes; dims, types and layouts of the operands,
// which of them are constants, which are there before a run, and which are the same tensor; the implementation's name,
// in place or not; whether the graph is a training step, and where a reorder's memory was touched last; and the same of
// the forward node that a backward one is made with. Names of nodes and tensors are not. Equal layouts have equal keys
// however they are spelt. It is the same in every process, so that it can be kept in files.
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

/// A key of numbers and texts in their order.
class KeyMaker {
 public:
  KeyMaker() = default;
  /// Goes on from another key.
  explicit KeyMaker(const CostKey& start) : high_(start.high), low_(start.low) {}

  KeyMaker& add(uint64_t value);
  KeyMaker& add(std::string_view text);
  KeyMaker& add(const Dims& dims);
  KeyMaker& add(const Layout& layout);
  CostKey key() const { return {high_, low_}; }

 private:
  uint64_t high_ = 0x243f6a8885a308d3, low_ = 0x13198a2e03707344;
};

/// Where what a reorder reads and writes was touched last: just before, as most activations are in inference, or
/// megabytes ago.
struct ReorderSetting {
  /// What is there before a run, and what a forward pass leaves for the backward one (also for its own readers: it is
  /// not known yet which of them a reorder is for).
  bool far_source = false;
  /// Of a training step, which keeps what it makes and so does not use memory by turns.
  bool far_destination = false;
  friend bool operator==(const ReorderSetting&, const ReorderSetting&) = default;
};

/// What costs depend on of a whole graph, found once for all its nodes. The graph must stay, as it is.
class CostContext {
 public:
  explicit CostContext(const Graph& graph);

  const Graph& graph() const { return *graph_; }
  /// Whether it is a training step: what its forward nodes make is kept until backward ones read it.
  bool is_step() const { return is_step_; }
  /// Whether a tensor is there before a run: a constant or an input, as weights are in training.
  bool is_given(TensorId tensor) const { return is_given_[static_cast<std::size_t>(tensor)]; }
  /// Of reorders of a tensor.
  ReorderSetting reorder_setting(TensorId tensor) const {
    return {is_given(tensor) || is_kept_[static_cast<std::size_t>(tensor)], is_step_};
  }
  /// Of a node whatever its way and layouts.
  const CostKey& node_key(NodeId node) const { return node_keys_[static_cast<std::size_t>(node)]; }

 private:
  const Graph* graph_;
  bool is_step_ = false;
  std::vector<bool> is_given_;      // by tensor
  std::vector<bool> is_kept_;       // by tensor: made by a forward node, read by a backward one
  std::vector<CostKey> node_keys_;  // by node
};

/// Kinds whose backward pass takes what the forward one left in a layout of its own, or is made for its layouts alone.
/// What others cost does not depend on the forward implementation.
bool follows_forward(Kind kind);

/// As Costs::primitive() is asked.
CostKey primitive_key(const CostContext& context, NodeId node, const Implementation& implementation,
                      const Implementation* forward, bool in_place);
CostKey reorder_key(const ReorderSetting& setting, const TensorDesc& from, const TensorDesc& to);
/// Of what Backend::implementations() is asked: nothing of the graph beside the node, its operands and its hint.
CostKey question_key(const Graph& graph, NodeId node, std::span<const LayoutRequest> src,
                     std::span<const LayoutRequest> dst, const Implementation* forward);

}  // namespace relayout::graph
