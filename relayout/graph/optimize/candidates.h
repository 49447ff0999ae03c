// Ways: what a backend offers for each node of a graph, asked once for nodes that are the same (internal to graph).
//
// A backend names implementations for requests. Which requests to have is known here: all `any`, each layout that
// activations may have for all of them, mixes where primitives have them. Layouts are numbers; equal layouts have one,
// wherever in memory they begin.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/plan/cost_key.h"

namespace relayout::graph {

/// Layouts by number.
class LayoutTable {
 public:
  /// The number of that layout from offset 0.
  int id(const Layout& layout);
  /// With offset 0, as it was spelled when it came first.
  const Layout& layout(int id) const { return layouts_[static_cast<std::size_t>(id)]; }

 private:
  std::vector<Layout> layouts_;
  std::unordered_map<CostKey, int, CostKeyHash> ids_;
};

/// An implementation, its layouts also as numbers (kNone where absent), with its cost.
struct Candidate {
  std::shared_ptr<const Implementation> implementation;
  std::vector<int> src, dst;
  double cost = 0;
  /// Where the first destination may lie in place of the first source, else kImpossible.
  double in_place_cost = kImpossible;
};

class CandidateFinder {
 public:
  CandidateFinder(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options);

  LayoutTable& layouts() { return layouts_; }
  /// `leads` are layouts that the first source may have besides the usual ones. `forward` is the way of the hint, or
  /// null. `in_place`: costs in place are wanted. Slow ways are left out where there are others.
  const std::vector<Candidate>& candidates(NodeId node, const std::vector<int>& leads, const Candidate* forward,
                                           bool in_place);
  /// Of a backward node in the layouts of its forward candidate.
  const std::vector<Candidate>& candidates_with(NodeId node, const Candidate& forward);
  /// Of a reorder between two layouts of a tensor, which may be the same in other memory; kImpossible where the second
  /// one is no destination.
  double reorder_cost(TensorId tensor, int from, int to);
  /// The layouts that activations of these dims may have: row-major, and from three dims on channels last and blocks.
  const std::vector<int>& families(const Dims& dims);

 private:
  using RequestedLayouts = std::vector<int>;  // sources, then destinations; kNone is any
  std::vector<RequestedLayouts> requests_of(NodeId node, const std::vector<int>& leads);
  std::vector<Candidate>& remembered(KeyMaker question, const Candidate* forward, bool& is_new);
  /// Error{interrupted} where the options' stop asks for it.
  void check_stop() const;
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
