// Elimination: the variables of a cost network removed one after the other, and the search that the result guides
// (internal to solve).
//
//     Elimination elimination = eliminate(network, min_fill_order(network), budget);
//     SearchResult best = search(network, elimination, options);     // best.cost >= elimination.bound
#pragma once

#include "relayout/solve/limits.h"

namespace relayout::solve {

/// The variables that stand in scopes, in an order that keeps the tables small. Each step eliminates a variable whose
/// neighbours lack the fewest edges between them; among equals, one with the smallest table. The order is computed
/// twice, with missing edges counted once, and weighted by the values at their ends. The one with the smaller tables is
/// returned.
std::vector<int> min_fill_order(const CostNetwork& network);

/// The tables that are added up and minimised over one variable: tables of the network, and messages from other
/// buckets. Where the sum would be a table over the budget, the variable gets several buckets. Their messages then add
/// up to a lower bound only.
struct Bucket {
  int variable = 0;
  /// The bucket's variable is last; the others stand in reverse order of elimination.
  std::vector<int> scope;
  std::vector<int> tables;    // of the network
  std::vector<int> received;  // buckets whose messages are added here
  int parent = -1;            // the bucket that receives this one's message, or -1 if the message is a number
  CostTable message;          // over the scope without the variable
};

struct Elimination {
  /// Buckets of one variable stand together, and variables in the order of elimination.
  std::vector<Bucket> buckets;
  /// The network's tables, their dimensions in the order of a bucket's scope.
  std::vector<CostTable> tables;
  /// No assignment costs less.
  double bound = 0;
};

/// Eliminates all variables. A bucket has at most `budget` entries, or as many as its largest table if that has more.
/// All work together is limited to some tens of budgets: if a network would take more, its buckets are made smaller.
Elimination eliminate(const CostNetwork& network, const std::vector<int>& order, int64_t budget);

/// Values of all variables that are possible together, found in a few passes over the operations; nothing if these
/// passes find none.
std::optional<std::vector<int>> first_values(const CostNetwork& network, int operations);

/// The best values of all variables that a search found.
struct SearchResult {
  std::vector<int> values{};
  double cost = kImpossible, lower_bound = 0;
  bool complete = false;  // nothing is left to search: the cost is the least
};
/// Branch and bound, depth first, over the variables in reverse order of elimination, guided by the messages. Where
/// each variable has one bucket, the first descent ends at the cheapest assignment. The result is `first`, or cheaper.
/// The search ignores the limits of `options` until it has an assignment.
SearchResult search(const CostNetwork& network, const Elimination& elimination, const SolveOptions& options,
                    SearchResult first = {});

}  // namespace relayout::solve
