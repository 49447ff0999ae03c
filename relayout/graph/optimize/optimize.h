// Optimize: the layout plan of a graph that costs the least, of all that a backend's implementations and views allow.
//
//     OptimalPlan best = optimize(graph, *backend, *costs);
//     best.plan, best.cost_us, best.optimal, predict(graph, best.plan, *costs).time()
//
// For each node it chooses an implementation, the layouts of its operands, whether an elementwise node writes over its
// source, and whether the sources of a concat are written straight into its destination, which saves the copy. For each
// tensor it chooses the layouts in which the tensor exists. Constants are reordered once at load, and a run pays only
// its share of that (`OptimizeOptions::runs`).
#pragma once

#include <stdexcept>
#include <utility>

#include "relayout/graph/plan/cost.h"
#include "relayout/solve/assign.h"

namespace relayout::graph {

struct OptimizeOptions {
  solve::SolveOptions solve{};
  /// The channels in a block of each blocked layout that is tried.
  std::vector<int> blocks = {8, 16};
  /// The time of reorders of constants is divided by this number of runs; 0 leaves their time out.
  int64_t runs = 0;
  /// Whether elementwise nodes may write over their source, and concats may have their sources written into their
  /// destination.
  bool in_place = true, concat_in_place = true;
  /// Whether implementations may be chosen that round more than the definition of their primitive
  /// (Implementation::rounds_more): convolutions of constant weights by Winograd's algorithm.
  bool may_round_more = true;
  /// Layouts that these tensors must be made in, whatever that costs. So one learns the cost of a choice that is not
  /// the cheapest.
  std::vector<std::pair<TensorId, Layout>> fixed{};
};

/// Where a tensor may be kept: a layout, in memory of its own or as a part of a concat's destination.
struct Placement {
  Layout layout;
  std::optional<Opaque> opaque{};
  /// The concat whose destination it is a part of, or kNone; and the index of that destination's placement.
  NodeId part_of = kNone;
  int part_of_placement = 0;
};

/// What one choice of a node (solve::ProblemChoice) stands for. Choices that differ in placements alone share an
/// implementation.
struct NodeChoice {
  std::shared_ptr<const Implementation> implementation;
  bool in_place = false;
};

/// A layout problem with what its numbers mean. Its tensors are the graph's. Its operations are the inputs and
/// constants, then the graph's nodes in their order, the first one being `first_node`, then the outputs.
struct ChoiceSpace {
  solve::LayoutProblem problem;
  int first_node = 0;
  std::vector<std::vector<Placement>> placements;  // by tensor
  std::vector<std::vector<NodeChoice>> choices;    // by node
  /// How many possibilities limits kept out of the problem: layouts of a tensor beyond 20, and concats without a copy
  /// whose sources have many placements already. The cheapest plan is the cheapest without these.
  std::size_t left_out = 0;
};

/// Errors: unsupported (no implementation runs a node, which is named with its operands), interrupted (the solver's
/// `stop` returned true; it is asked before each question to the backend and each cost), and what the views throw.
ChoiceSpace choice_space(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options = {});

/// The plan of an assignment. The reason of each reorder names its readers; what it would cost to avoid the reorder is
/// added by explain_reorders().
LayoutPlan plan_of(const Graph& graph, const Backend& backend, const ChoiceSpace& space,
                   const solve::Assignment& assignment);

/// The same without the policy, the backend and its threads.
LayoutPlan plan_of(const Graph& graph, const ChoiceSpace& space, const solve::Assignment& assignment);

struct OptimalPlan {
  LayoutPlan plan;
  /// The minimised cost: PredictedCost::total() with these `runs`. If these are 0, each reorder at load adds 1e-6.
  double cost_us = 0;
  /// By how much less, as a share of cost_us, a plan could cost at the most, as far as was proven.
  double gap = 0;
  /// Whether no plan in `space` is proven to cost less (see its `left_out`).
  bool optimal = false;
  double planning_ms = 0;
  ChoiceSpace space;
  solve::Solution solution;
};
/// Every node of the plan can be made. If the backend refuses a node in the layouts that concats and views give its
/// operands, that choice is removed and the rest is solved again. Errors: those of choice_space(), and of the solver
/// (see with_solver_errors()).
OptimalPlan optimize(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options = {});

/// Adds to the reason of each reorder what avoiding it would cost: how much more the cheapest plan costs that does not
/// reorder this tensor between these layouts, or what that plan has instead where it costs as little, or that there is
/// no such plan. Each reorder takes one solve(). The options'
/// `time_limit` is for all of them, and `stop` is also asked between them; reorders that are not reached keep their
/// reasons as they are. Errors: those of the solver.
void explain_reorders(const Graph& graph, OptimalPlan& plan, const solve::SolveOptions& options = {});

/// Returns call(), which asks the solver for something. The solver knows the standard library's exceptions alone: these
/// are thrown on as Error. Errors: limit (std::length_error: a tensor is wanted in too many combinations of layouts),
/// invalid_argument (std::invalid_argument: the problem holds an impossible number), unsupported (solve::Infeasible: no
/// assignment of the problem is possible).
///
///     solve::Solution best = with_solver_errors([&] { return solve::solve(space.problem); });
template <typename Call>
auto with_solver_errors(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::length_error& error) {
    throw Error(ErrorCode::limit, error.what());
  } catch (const std::invalid_argument& error) {
    throw Error(ErrorCode::invalid_argument, error.what());
  } catch (const solve::Infeasible& error) {
    throw Error(ErrorCode::unsupported, error.what());
  }
}

}  // namespace relayout::graph
