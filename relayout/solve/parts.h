// Parts of assign: arborescences of reorders, the order of elimination and the elimination (internal to solve).
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>

#include "relayout/solve/limits.h"

namespace relayout::solve {

/// std::invalid_argument where a problem is not as problem.h says.
void check(const LayoutProblem& problem);

/// The cheapest arborescences of one tensor's reorders that reach a place of each of several groups. Costs are
/// computed for the sets asked for and kept (Dreyfus and Wagner, "The Steiner problem in graphs", 1971): 3^groups.
class Arborescences {
 public:
  /// `groups` are not empty, at most 64.
  Arborescences(const ProblemTensor& tensor, std::vector<PlaceSet> groups);

  /// Over the groups of `wanted` (bit g: groups[g]); kImpossible where there is none.
  double cost(int from, uint64_t wanted);
  /// The same as reorders, each after the one that makes its source. The cost must be finite.
  std::vector<PlaceReorder> reorders(int from, uint64_t wanted);

 private:
  double distance(int from, int to) const { return distance_[index(from, to)]; }
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(places_) + static_cast<std::size_t>(to);
  }
  /// By place: the cheapest from there over the groups, and the same where it branches (or ends) there at once.
  struct Row {
    std::vector<double> cost, branch;
  };
  const Row& row(uint64_t wanted);
  Row make_row(uint64_t wanted) const;
  void walk(int from, int to, PlaceSet& made, std::vector<PlaceReorder>& out) const;
  void grow(int from, uint64_t wanted, PlaceSet& made, std::vector<PlaceReorder>& out);

  int places_;
  std::vector<PlaceSet> groups_;
  std::vector<double> distance_;  // of shortest paths
  std::vector<int> next_;         // the place after `from` on them
  std::unordered_map<uint64_t, Row> rows_;
};

/// Wanted groups of more than this make no arborescence.
inline constexpr int kMaxWanted = 16;

/// Choices of operations with the cheapest reorders that they need; they must be possible together.
Assignment assignment_of(const LayoutProblem& problem, std::vector<int> choice);

/// The variables that stand in scopes, in an order that adds few edges: each time one whose neighbours miss the fewest,
/// and of those one of the smallest table. Edges are counted, or weighted by the values at their ends: what makes the
/// smaller tables.
std::vector<int> min_fill_order(const CostNetwork& network);

/// What is minimised over one variable: its tables and what came from other buckets. Where that would be too large, a
/// variable has several buckets, and what they send adds up to a bound.
struct Bucket {
  int variable = 0;
  /// The bucket's variable is last, the others in reverse order of elimination.
  std::vector<int> scope;
  std::vector<int> tables;    // of the network
  std::vector<int> received;  // buckets whose messages it has
  int parent = -1;            // the bucket that has its message, or -1 where that is a number
  CostTable message;          // over the scope without the variable
};

struct Elimination {
  /// Those of one variable stand together, in the order of elimination.
  std::vector<Bucket> buckets;
  /// The network's tables, dims in the order of a bucket's scope.
  std::vector<CostTable> tables;
  /// No assignment costs less.
  double bound = 0;
};

/// Buckets of at most `budget` entries (more only where one table has more). The work in all is bounded by some tens
/// of budgets: beyond, buckets get smaller.
Elimination eliminate(const CostNetwork& network, const std::vector<int>& order, int64_t budget);

/// Values of all variables that are possible together, found in a few passes over the operations; nothing where that
/// fails.
std::optional<std::vector<int>> first_values(const CostNetwork& network, int operations);

/// Values of all variables.
struct SearchResult {
  std::vector<int> values{};
  double cost = kImpossible, lower_bound = 0;
  bool complete = false;
};
/// Depth first, variables in reverse order of elimination, guided by the messages: where each variable has one bucket,
/// the first descent ends at the cheapest. What is found is cheaper than `first`, or that. Does not stop before there
/// is an assignment.
SearchResult search(const CostNetwork& network, const Elimination& elimination, const SolveOptions& options,
                    SearchResult first = {});

}  // namespace relayout::solve
