// Layout problem: the choice of layouts as numbers alone, without graphs, layouts or backends.
//
// A tensor can exist in several *placements*: a placement is a layout, in memory of its own or inside another tensor's
// memory (as a part of a concat). An operation makes one of several choices. Each choice reads any one of some
// placements of each source, and writes one placement of each destination. Reorders copy a tensor from the written
// placement to further ones. They cost what the cheapest arborescence costs that connects the written placement with
// all others: so readers share copies, and a copy may be made from another copy. Inputs and constants are operations
// without sources, outputs are operations without destinations.
//
//     The cost of an assignment = sum of its choices' costs + sum of its reorders' costs
//
// Costs are in microseconds and not negative. Infinity stands for what is impossible.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "relayout/cxx20.h"

namespace relayout::solve {

/// Thrown if no assignment of a problem has a finite cost. Other errors are std::invalid_argument, for a problem that
/// breaks the rules of this file, and std::length_error, for one that is too large to solve.
class Infeasible : public std::runtime_error {
 public:
  explicit Infeasible(std::size_t operations)
      : std::runtime_error("assign: no choice of layouts is possible for these " + std::to_string(operations) +
                           " operations") {}
};

/// The cost of a choice or a reorder that is not possible.
inline constexpr double kImpossible = std::numeric_limits<double>::infinity();
/// The most placements that a tensor can have: a set of them is one word.
inline constexpr int kMaxPlacements = 32;
/// A set of placements of a tensor; bit p stands for placement p.
using PlacementSet = uint32_t;

struct ProblemChoice {
  /// For each source, the placements of which it reads any one; for each destination, the placement that it writes.
  std::vector<PlacementSet> src{};
  std::vector<int> dst{};
  double cost = 0;
  /// The choices of the operation's `hint` with which this one is possible; empty means all of them.
  std::vector<int> with_hint{};
};

struct ProblemOperation {
  /// Indices of tensors. Each tensor that is read is the destination of one operation, which stands before its readers.
  std::vector<int> src{}, dst{};
  std::vector<ProblemChoice> choices{};
  /// For a backward operation, the index of its forward operation, which stands before it; else -1.
  int hint = -1;
};

struct ProblemTensor {
  int placements = 0;
  /// The cost of the reorder from placement i to placement j is at [i * placements + j]; the diagonal is 0.
  std::vector<double> reorder{};

  double reorder_cost(int from, int to) const {
    return reorder[static_cast<std::size_t>(from) * static_cast<std::size_t>(placements) +
                   static_cast<std::size_t>(to)];
  }
};

struct LayoutProblem {
  std::vector<ProblemTensor> tensors{};
  std::vector<ProblemOperation> operations{};
};

/// A reorder between two placements of a tensor.
struct PlacementReorder {
  int from = 0, to = 0;
  friend bool operator==(const PlacementReorder&, const PlacementReorder&) = default;
};

/// Throws std::invalid_argument if a problem breaks the rules above.
void check(const LayoutProblem& problem);

struct Assignment {
  /// The choice of each operation.
  std::vector<int> choice;
  /// The reorders of each tensor, each one after the reorder that makes its `from`.
  std::vector<std::vector<PlacementReorder>> reorders;
};

}  // namespace relayout::solve
