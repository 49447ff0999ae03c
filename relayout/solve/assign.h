// Assign: the cheapest assignment of a layout problem, with a proof.
//
//     Solution best = solve(problem);
//     best.cost == best.lower_bound            // proven, see Certificate
//
// The problem is written as a sum of tables over at most two variables: one variable an operation (its choice) and
// one a tensor (what its readers want of it, see EncodedProblem). Variables of one value are removed, the others
// eliminated one after the other in the order of least fill (bucket elimination; Dechter, "Bucket elimination: a
// unifying framework for reasoning", 1999). Where a table would pass the budget, the bucket is split (mini-buckets) and
// the bounds that follow guide a branch and bound.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "relayout/solve/problem.h"

namespace relayout::solve {

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

/// What a tensor's variable means. A reader wants one placement of a *group* of placements for each source; which
/// groups its readers want together is the tensor's value.
struct TensorValues {
  std::vector<PlacementSet> groups;
  /// By value: bit g says that one of groups[g] exists at least.
  std::vector<uint64_t> values;
};

/// A problem as a network. Variables: the operations (values: choices), then the tensors. A tensor's placements follow
/// from its value and the placement that its producer writes: those of the cheapest arborescence that has one of each
/// wanted group, other placements on the way included. So a set of placements that no readers want together, or that
/// makes what they want at a higher cost, is no value, and none that could be cheapest is left out. Tables: costs of
/// choices; (producer, tensor): what that arborescence costs; (reader, tensor): 0, or kImpossible where the value has
/// not all groups that the choice wants; (forward, backward) of hints: 0 or kImpossible. Variables of one value stand
/// in no scope.
struct EncodedProblem {
  CostNetwork network;
  std::vector<TensorValues> tensors;
  /// By table of the network: the variables that it is of, in its order, those of one value too. No two are the same.
  std::vector<std::vector<int>> of;
};
/// Errors: std::invalid_argument where a problem is not as problem.h says; std::length_error where more than 64 groups,
/// or 2^16 sets of them, can be wanted of a tensor.
EncodedProblem encode(const LayoutProblem& problem);

struct SolveOptions {
  /// Entries of one table at most.
  int64_t table_budget = int64_t{1} << 22;
  /// Branch and bound stops then, with the best assignment so far; nothing: when it has proven it. Of functions that
  /// solve several times it is the limit of all together.
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

/// Errors: as encode(); Infeasible where no assignment is possible.
Solution solve(const LayoutProblem& problem, const SolveOptions& options = {});

/// The `count` cheapest assignments whose choices of operations differ, cheapest first; fewer, or none, where there are
/// no more or it was stopped. Cost: some eliminations; where a table would pass the budget, a solve() for each
/// operation and assignment. Errors: as solve(); std::invalid_argument (a count
/// below 1).
std::vector<Assignment> cheapest(const LayoutProblem& problem, int count, const SolveOptions& options = {});

/// What an assignment costs; kImpossible where it reads a placement that is not made. std::invalid_argument where it
/// is none of this problem.
double cost_of(const LayoutProblem& problem, const Assignment& assignment);

/// The cheapest reorders that make `placements` of a tensor of which `from` is there, by way of any others; nothing
/// where that cannot be. Cost: 3^placements; std::length_error for more than 16 besides `from`.
std::optional<std::vector<PlacementReorder>> cheapest_reorders(const ProblemTensor& tensor, int from,
                                                               PlacementSet placements);

}  // namespace relayout::solve
