// Assign: the cheapest assignment of a layout problem, with a proof.
//
//     Solution best = solve(problem);
//     best.cost == best.lower_bound            // proven, see Certificate
//
// The problem is written as a sum of tables over at most two variables each. There is one variable for each operation
// (its choice) and one for each tensor (the placements that its readers need, see EncodedProblem). Variables with a
// single value are removed. The others are eliminated one after the other, in the order of least fill (bucket
// elimination; Dechter, "Bucket elimination: a unifying framework for reasoning", 1999). If a table would have more
// entries than the budget, its bucket is split (mini-buckets); the result is then a lower bound, which guides a branch
// and bound.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "relayout/solve/problem.h"

namespace relayout::solve {

/// A table over variables: the value of (v0, v1, ...) at ((v0 * size1) + v1) * size2 + ...
struct CostTable {
  std::vector<int> scope;
  std::vector<double> values;
};

/// Costs as the sum of tables.
struct CostNetwork {
  /// Values of each variable.
  std::vector<int> sizes;
  std::vector<CostTable> tables;
};

/// A proof that no assignment of a network costs less than `bound`. Each table of the network belongs to one clique.
/// Each message is added to one clique and subtracted from another, which changes the sum of no assignment. The sum of
/// the least values of all cliques is then a lower bound.
struct Certificate {
  struct Clique {
    std::vector<int> scope;
    /// Indices of CostNetwork::tables. Each table is in one clique.
    std::vector<int> tables;
  };
  /// Added to clique `to`, subtracted from clique `from`. The variables of its table are in the scopes of both.
  struct Message {
    int from = 0, to = 0;
    CostTable table;
  };
  std::vector<Clique> cliques;
  std::vector<Message> messages;
  double bound = 0;
};

/// What the values of a tensor's variable mean. A reader needs its source in any one placement of a *group* of
/// placements. A value of the tensor is a set of groups that its readers need together.
struct TensorValues {
  std::vector<PlacementSet> groups;
  /// By value: bit g says that the tensor exists in at least one placement of groups[g].
  std::vector<uint64_t> values;
};

/// A problem as a network. Its variables are the operations, whose values are their choices, and then the tensors. The
/// placements of a tensor follow from its value and from the placement that its producer writes: they are those of the
/// cheapest arborescence that reaches each needed group, with further placements on the way. A set of groups is a value
/// only if readers can need it together and no other set gives them the same for less; so no cheapest assignment is
/// lost.
///
/// Its tables are: the costs of choices; for each pair of a producer and its tensor, the cost of that arborescence; for
/// each reader and tensor, 0, or kImpossible if the value lacks a group that the choice needs; for each forward and
/// backward node, 0, or kImpossible if the choices do not go together. Variables with a single value are in no scope.
struct EncodedProblem {
  CostNetwork network;
  std::vector<TensorValues> tensors;
  /// By table of the network: the variables that it depends on, in its order, including those with a single value. No
  /// two tables have the same ones.
  std::vector<std::vector<int>> of;
};
/// Errors: std::invalid_argument if the problem breaks a rule of problem.h; std::length_error if the readers of a
/// tensor can need more than 64 groups, or more than 2^16 sets of groups.
EncodedProblem encode(const LayoutProblem& problem);

/// A question that a search asks now and then: whether it is to stop. Any function without arguments that returns bool.
/// What it does itself is not inline, as GCC 12 takes a std::function in options for uninitialized in users' programs.
class StopQuestion {
 public:
  StopQuestion() noexcept;
  template <typename F>
  requires(std::is_invocable_r_v<bool, F&> && !std::is_same_v<F, StopQuestion>) StopQuestion(F ask)
      : StopQuestion(Wrapped{std::move(ask)}) {}  // NOLINT: a lambda becomes one by itself
  StopQuestion(const StopQuestion& other);
  StopQuestion(StopQuestion&& other) noexcept;
  StopQuestion& operator=(const StopQuestion& other);
  StopQuestion& operator=(StopQuestion&& other) noexcept;
  ~StopQuestion();

  /// Whether there is a question.
  explicit operator bool() const noexcept;
  /// Asks it.
  bool operator()() const;

 private:
  struct Wrapped {
    std::function<bool()> ask;
  };
  explicit StopQuestion(Wrapped wrapped);

  std::function<bool()> ask_;
};

struct SolveOptions {
  /// The most entries that one table may have.
  int64_t table_budget = int64_t{1} << 22;
  /// Branch and bound stops after this time and returns the best assignment so far; without a limit it stops when that
  /// is proven. A function that solves several times has this limit for all of them together.
  std::optional<std::chrono::milliseconds> time_limit{};
  /// Called now and then; if it returns true, the search stops as at the time limit.
  StopQuestion stop{};
};

struct Solution {
  Assignment assignment;
  /// By variable of the encoded problem.
  std::vector<int> values;
  double cost = kImpossible;
  /// No assignment costs less. If `optimal`, this is the cost but for rounding.
  double lower_bound = 0;
  bool optimal = false;
  Certificate certificate;
};

/// Errors: those of encode(); Infeasible if no assignment is possible.
Solution solve(const LayoutProblem& problem, const SolveOptions& options = {});

/// The `count` cheapest assignments that differ in the operations' choices, cheapest first; fewer, or none, if there
/// are no more or the limits are reached. It takes a few eliminations; or, if a table would exceed the budget, a
/// solve() for each operation and assignment. Errors: those of solve(); std::invalid_argument (a count below 1).
std::vector<Assignment> cheapest(const LayoutProblem& problem, int count, const SolveOptions& options = {});

/// What an assignment costs; kImpossible if it reads a placement that it does not make. Throws std::invalid_argument if
/// its numbers do not fit the problem.
double cost_of(const LayoutProblem& problem, const Assignment& assignment);

/// The cheapest reorders that bring a tensor from placement `from` to all of `placements`, by way of any others;
/// nothing if that is not possible. Takes 3^placements steps. Throws std::length_error for more than 16 besides `from`.
std::optional<std::vector<PlacementReorder>> cheapest_reorders(const ProblemTensor& tensor, int from,
                                                               PlacementSet placements);

}  // namespace relayout::solve
