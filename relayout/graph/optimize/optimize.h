// Optimize: the layout plan of a graph that costs the least, over all ways that a backend and views offer.
//
//     OptimalPlan best = optimize(graph, *backend, *costs);
//     best.plan, best.cost_us, best.optimal, predict(graph, best.plan, *costs).time()
//
// What is chosen: for each node an implementation and the layouts of its operands, whether an elementwise one runs in
// placement, and whether a concat's sources are written into its destination (no copy is left then); for each tensor
// the layouts in which it exists. Constants are reordered at load, which costs a run nothing but its share (`runs`).
#pragma once

#include "relayout/graph/plan/cost.h"
#include "relayout/solve/assign.h"

namespace relayout::graph {

struct OptimizeOptions {
  solve::SolveOptions solve{};
  /// Channels of the blocked layouts that are tried.
  std::vector<int> blocks = {8, 16};
  /// Runs over which reorders of constants are paid: 0 leaves them out.
  int64_t runs = 0;
  bool in_place = true, concat_in_place = true;
  /// Layouts that tensors are to be made in, whatever it costs (--what-if).
  std::vector<std::pair<TensorId, Layout>> fixed{};
};

/// A placement of a tensor: a layout, and whose memory it is.
struct Placement {
  Layout layout;
  /// The concat whose destination it is a part of, or kNone; and the placement of that destination.
  NodeId part_of = kNone;
  int part_of_placement = 0;
};

/// One way of a node, as ProblemChoice numbers it; choices that differ in places alone share an implementation.
struct NodeChoice {
  std::shared_ptr<const Implementation> implementation;
  bool in_place = false;
};

/// A problem and what its numbers mean. Operations: inputs and constants, then the graph's nodes in their order, the
/// first one being `first_node`, then outputs. Tensors are the graph's.
struct ChoiceSpace {
  solve::LayoutProblem problem;
  int first_node = 0;
  std::vector<std::vector<Placement>> placements;  // by tensor
  std::vector<std::vector<NodeChoice>> choices;    // by node
  /// What was offered and is not in the problem, as there are limits: layouts of tensors beyond 20 of one, and concats
  /// that would move nothing where their sources have many placements. The cheapest plan is the cheapest of the others.
  std::size_t left_out = 0;
};

/// Errors: unsupported (a node that no way runs, named with its operands), interrupted (the solver's `stop` asked for
/// it, which is asked before each question to the backend and each cost), what the views throw.
ChoiceSpace choice_space(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options = {});

/// The plan of an assignment; each reorder's reason names the readers, and what avoiding it would cost is left to
/// explain_reorders().
LayoutPlan plan_of(const Graph& graph, const Backend& backend, const ChoiceSpace& space,
                   const solve::Assignment& assignment);

struct OptimalPlan {
  LayoutPlan plan;
  /// What is least: PredictedCost::total() by these `runs`. (Where these are 0, 1e-6 for each reorder at load on top.)
  double cost_us = 0;
  /// The difference to the least that is proven possible, as a share of cost_us.
  double gap = 0;
  /// Proven the cheapest of all in `space` (see its `left_out`).
  bool optimal = false;
  double planning_ms = 0;
  ChoiceSpace space;
  solve::Solution solution;
};
/// Every node of the plan can be made: what the backend refuses in the layouts that parts of concats and views come to
/// have is taken out, and the rest solved again. Errors: as choice_space and solve.
OptimalPlan optimize(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options = {});

/// Adds to the reason of each reorder what avoiding it would cost: the cheapest plan without any reorder of that tensor
/// between these layouts, or that there is none. Each is a solve(): the options' `time_limit` is that of all of them,
/// `stop` is asked between them too, and reorders that are not reached keep their reasons as they are.
void explain_reorders(const Graph& graph, OptimalPlan& plan, const solve::SolveOptions& options = {});

}  // namespace relayout::graph
