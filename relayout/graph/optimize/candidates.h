// Candidates: the implementations that a backend has for each node of a graph, with their costs (internal to graph).
//
// A backend answers requests for layouts, and this file decides which requests to make. For each node these are: any
// layout for all operands, each usual layout of activations for all operands, and mixes of layouts for the kinds whose
// primitives have such implementations. The backend is asked once for nodes that are the same. Layouts are handled as
// numbers. Equal layouts have the same number, wherever in memory they begin.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/plan/cost_key.h"

namespace relayout::graph {

/// Numbers of layouts, from 0 on.
class LayoutTable {
 public:
  /// The number of that layout from offset 0.
  int id(const Layout& layout);
  /// The number of an opaque format of tensors of these dims; `layout` is their row-major layout.
  int id(const Layout& layout, const std::optional<Opaque>& opaque);
  /// From offset 0, with the digits that it had when it was numbered.
  const Layout& layout(int id) const { return layouts_[static_cast<std::size_t>(id)]; }
  const std::optional<Opaque>& opaque(int id) const { return opaque_[static_cast<std::size_t>(id)]; }

 private:
  std::vector<Layout> layouts_;
  std::vector<std::optional<Opaque>> opaque_;
  std::unordered_map<CostKey, int, CostKeyHash> ids_;
};

/// An implementation that could run a node, with its cost. Its layouts also stand as numbers, kNone for absent
/// operands.
struct Candidate {
  std::shared_ptr<const Implementation> implementation;
  std::vector<int> src, dst;
  double cost = 0;
  /// The cost of writing the first destination over the first source, or kImpossible if that is not possible.
  double in_place_cost = kImpossible;
};

class CandidateFinder {
 public:
  CandidateFinder(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options);

  LayoutTable& layouts() { return layouts_; }
  /// The candidates of a node. `leads` are layouts that the first source may have besides the usual ones. `forward` is
  /// the candidate of the hint, or null. `in_place` asks for costs in place too. Slow reference implementations are
  /// left out if there are others, unless they alone make what the options fix; and those that round more are left out
  /// unless the options allow them.
  const std::vector<Candidate>& candidates(NodeId node, const std::vector<int>& leads, const Candidate* forward,
                                           bool in_place);
  /// The candidates of a backward node that go with this candidate of its forward node.
  const std::vector<Candidate>& candidates_with(NodeId node, const Candidate& forward);
  /// The cost of a reorder of a tensor between two layouts. They may be the same layout in other memory. kImpossible if
  /// a reorder cannot write the second one.
  double reorder_cost(TensorId tensor, int from, int to);
  /// Whether there is such a reorder, without asking what it costs.
  bool may_reorder(TensorId tensor, int from, int to);
  /// The usual layouts of activations of these dims: row-major and, from three dims on, channels last and blocked.
  const std::vector<int>& families(const Dims& dims);

 private:
  using RequestedLayouts = std::vector<int>;  // sources, then destinations; kNone is any
  /// How many usual layouts the operand with the most of them has.
  std::size_t usual_layout_count(const Node& node);
  std::vector<RequestedLayouts> requests_of(NodeId node, const std::vector<int>& leads);
  std::vector<Candidate>& remembered(const Node& node, KeyMaker question, const Candidate* forward, bool& is_new);
  /// Throws Error{interrupted} if the options' stop says so.
  void check_stop() const;
  /// The layouts that the options fix of the node's destinations, each with the destination's index.
  std::vector<std::pair<std::size_t, int>> fixed_of(const Node& node);
  void finish(NodeId node, const Candidate* forward, bool in_place, std::vector<Candidate>& candidates);
  std::vector<Candidate> found(NodeId node, const std::vector<RequestedLayouts>& requests, const Candidate* forward);
  void price(NodeId node, const Candidate* forward, bool in_place, Candidate& candidate);

  const Graph& graph_;
  const CostContext context_;
  const Backend& backend_;
  Costs& costs_;
  const OptimizeOptions& options_;
  LayoutTable layouts_;
  std::vector<CostKey> keys_;  // by node, its hint's with it
  std::unordered_map<CostKey, std::vector<Candidate>, CostKeyHash> candidates_;
  std::unordered_map<CostKey, double, CostKeyHash> reorders_;
  std::map<std::vector<int64_t>, std::vector<int>> families_;
};

}  // namespace relayout::graph
