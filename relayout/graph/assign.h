// Assign: the cheapest assignment of a layout problem, with a proof.
//
//     Solution best = solve(problem);
//     best.cost == best.lower_bound            // proven, see Certificate
//
// The problem is written as a sum of tables over at most two variables: one variable an operation (its choice) and
// one a tensor (the set of places in which it exists). Variables of one value are removed, the others eliminated one
// after the other in the order of least fill (bucket elimination; Dechter, "Bucket elimination: a unifying framework
// for reasoning", 1999). Where a table would pass the budget, the bucket is split (mini-buckets) and the bounds that
// follow guide a branch and bound.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "relayout/graph/layout_problem.h"

namespace relayout::graph {

/// A table over variables: the value of (v0, v1, ...) at ((v0 * size1) + v1) * size2 + ...
struct CostTable {
  std::vector<int> scope;
  std::vector<double> values;
};

/// Costs as sums of tables.
struct CostNetwork {
  /// Values of each variable.
  std::vector<int> sizes;
  std::vector<CostTable> tables;
};

/// A proof that no assignment of a network costs less than `bound`: its tables are dealt to cliques, and a message is
/// added to one clique and taken from another, which changes no assignment's sum. Then the sum of the cliques' least
/// values is a lower bound.
struct Certificate {
  struct Clique {
    std::vector<int> scope;
    /// Indices of CostNetwork::tables; over all cliques each table stands once.
    std::vector<int> tables;
  };
  /// Its scope is part of both cliques'.
  struct Message {
    int from = 0, to = 0;
    CostTable table;
  };
  std::vector<Clique> cliques;
  std::vector<Message> messages;
  double bound = 0;
};

/// What the variables of a network mean: the first are the operations, then one a tensor.
struct EncodedProblem {
  CostNetwork network;
  /// By tensor and value of its variable: the places that exist.
  std::vector<std::vector<PlaceSet>> sets;
};
/// Error{invalid_argument} where a problem is not as layout_problem.h says, or nothing is possible for an operation.
EncodedProblem encode(const LayoutProblem& problem);

struct SolveOptions {
  /// Entries of one table at most.
  int64_t table_budget = int64_t{1} << 22;
  /// Branch and bound stops then, with the best assignment so far; nothing: when it has proven it.
  std::optional<std::chrono::milliseconds> time_limit{};
  /// Asked now and then; true stops as the time limit does.
  std::function<bool()> stop{};
};

struct Solution {
  Assignment assignment;
  /// By variable of the encoded problem.
  std::vector<int> values;
  double cost = kImpossible;
  /// No assignment costs less. Equal to the cost but for rounding where `optimal`.
  double lower_bound = 0;
  bool optimal = false;
  Certificate certificate;
};

/// Errors: invalid_argument (as encode), unsupported (no assignment is possible).
Solution solve(const LayoutProblem& problem, const SolveOptions& options = {});

/// The `count` cheapest assignments whose choices of operations differ, cheapest first; fewer where there are no more.
std::vector<Assignment> cheapest(const LayoutProblem& problem, int count, const SolveOptions& options = {});

/// What an assignment costs; kImpossible where it reads a place that is not made.
double cost_of(const LayoutProblem& problem, const Assignment& assignment);

/// The cheapest reorders that make `places` of a tensor of which `from` is there; nothing where that cannot be.
std::optional<std::vector<PlaceReorder>> cheapest_reorders(const ProblemTensor& tensor, int from, PlaceSet places);

}  // namespace relayout::graph
