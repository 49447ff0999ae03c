// CostKey: which primitive, or which reorder, a cost is of, as a number of 128 bits.
//
//     CostKey key = primitive_key(graph, node, implementation, nullptr, false);
//
// Everything that the time can depend on is in it: kind, pass, attributes; dims, types and layouts of the operands,
// which of them are constants, which are there before a run, and which are the same tensor; the implementation's name,
// in place or not; whether the graph is a training step; and the same of the forward node that a backward one is made
// with. Names of nodes and tensors are not. Equal layouts have equal keys however they are spelt. It is the same in
// every process, so that it can be kept in files.
#pragma once

#include <cstdint>
#include <string_view>

#include "relayout/graph/backend.h"

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

/// Whether a tensor is there before a run: a constant or an input, as weights are in training.
bool is_given(const Graph& graph, TensorId tensor);
/// Whether a graph is a training step: what its forward nodes make is kept until backward ones read it.
bool is_step(const Graph& graph);

/// As Costs::primitive() is asked.
CostKey primitive_key(const Graph& graph, NodeId node, const Implementation& implementation,
                      const Implementation* forward, bool in_place);
CostKey reorder_key(const TensorDesc& from, const TensorDesc& to);
/// Of a node whatever its way and layouts.
CostKey node_key(const Graph& graph, NodeId node);

}  // namespace relayout::graph
