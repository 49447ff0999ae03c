// Layout problem: the choice of layouts as numbers alone, without graphs, layouts or backends.
//
// A tensor can exist in several *placements*: a layout, alone in memory or inside another tensor's (a part of a
// concat). An operation runs in one of several ways; each reads any of some placements of each source, and writes one
// placement of each destination. What an operation wrote, reorders copy to further placements; they cost what the
// cheapest arborescence from the written placement over all placements made costs, so that readers share copies and
// copies are made in chains. Inputs and constants are operations without sources, outputs are operations without
// destinations.
//
//     The cost of an assignment = sum of its choices' costs + sum of its reorders' costs
//
// Costs are microseconds, none below zero; infinity means impossible.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace relayout::solve {

/// Thrown where no assignment of a problem has a finite cost. What a problem must hold is std::invalid_argument's, what
/// is too large to solve std::length_error's.
class Infeasible : public std::runtime_error {
 public:
  explicit Infeasible(std::size_t operations)
      : std::runtime_error("assign: no choice of layouts is possible for these " + std::to_string(operations) +
                           " operations") {}
};

inline constexpr double kImpossible = std::numeric_limits<double>::infinity();
/// Placements of one tensor at most: a set of them is a word.
inline constexpr int kMaxPlacements = 32;
/// A set of placements of a tensor, placement p being bit p.
using PlacementSet = uint32_t;

struct ProblemChoice {
  /// One a source: the placements of which it reads any. One a destination: the placement it writes.
  std::vector<PlacementSet> src;
  std::vector<int> dst;
  double cost = 0;
  /// The choices of the operation's `hint` with which it is possible; empty is all of them.
  std::vector<int> with_hint{};
};

struct ProblemOperation {
  /// Tensors; each tensor that is read is the destination of one operation, which stands before its readers.
  std::vector<int> src, dst;
  std::vector<ProblemChoice> choices;
  /// An earlier operation (the forward one of a backward one), or -1.
  int hint = -1;
};

struct ProblemTensor {
  int placements = 0;
  /// Of the reorder from placement i to placement j at [i * placements + j]; 0 on the diagonal.
  std::vector<double> reorder;

  double reorder_cost(int from, int to) const {
    return reorder[static_cast<std::size_t>(from) * static_cast<std::size_t>(placements) +
                   static_cast<std::size_t>(to)];
  }
};

struct LayoutProblem {
  std::vector<ProblemTensor> tensors;
  std::vector<ProblemOperation> operations;
};

/// A reorder between two placements of a tensor.
struct PlacementReorder {
  int from = 0, to = 0;
  friend bool operator==(const PlacementReorder&, const PlacementReorder&) = default;
};

/// Throws std::invalid_argument where a problem does not hold what is said above.
void check(const LayoutProblem& problem);

struct Assignment {
  /// Of each operation.
  std::vector<int> choice;
  /// Of each tensor, each after the one that makes its `from`.
  std::vector<std::vector<PlacementReorder>> reorders;
};

}  // namespace relayout::solve
