// Arborescences: the cheapest reorders that bring one tensor to all the placements that its readers need (internal to
// solve).
//
// A tensor stands in one placement when its producer has written it. Its placements are the vertices of a directed
// graph and reorders are the edges. The reorders that are made form an arborescence: a tree whose root is the written
// placement.
#pragma once

#include <unordered_map>

#include "relayout/solve/assign.h"

namespace relayout::solve {

/// Readers give groups of placements, and any one placement of a group will do. The cheapest arborescence that reaches
/// each wanted group is found as in Dreyfus and Wagner, "The Steiner problem in graphs", 1971. It takes 3^groups steps.
/// Results are computed for the sets of groups that are asked for, and kept.
class Arborescences {
 public:
  /// At most 64 groups, none of them empty.
  Arborescences(const ProblemTensor& tensor, std::vector<PlacementSet> groups);

  /// What the arborescence costs that begins at placement `from` and reaches each group of `wanted` (bit g stands for
  /// groups[g]); kImpossible if there is none. Throws std::length_error for more than kMaxWanted groups.
  double cost(int from, uint64_t wanted);
  /// The reorders of that arborescence, each one after the reorder that makes its source. Its cost must be finite.
  std::vector<PlacementReorder> reorders(int from, uint64_t wanted);

 private:
  double distance(int from, int to) const { return distance_[index(from, to)]; }
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(placements_) + static_cast<std::size_t>(to);
  }
  /// For one set of groups, by placement: the cost of the cheapest arborescence from there, and of the cheapest one
  /// whose root has two branches or is itself in the only group.
  struct Row {
    std::vector<double> cost, branch;
  };
  const Row& row(uint64_t wanted);
  Row make_row(uint64_t wanted) const;
  void walk(int from, int to, PlacementSet& made, std::vector<PlacementReorder>& out) const;
  void grow(int from, uint64_t wanted, PlacementSet& made, std::vector<PlacementReorder>& out);

  int placements_;
  std::vector<PlacementSet> groups_;
  std::vector<double> distance_;  // of shortest paths
  std::vector<int> next_;         // the placement after `from` on them
  std::unordered_map<uint64_t, Row> rows_;
};

/// Groups that one arborescence reaches, at most: the work triples with each.
inline constexpr int kMaxWanted = 16;

/// The choices of all operations, with the cheapest reorders that they need. The choices must be possible together.
Assignment assignment_of(const LayoutProblem& problem, std::vector<int> choice);

}  // namespace relayout::solve
