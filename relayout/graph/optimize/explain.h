// Explain: a plan in words, for people.
//
//     OptimalPlan best = optimize(graph, *backend, *costs);
//     explain_reorders(graph, best);                       // adds what it would cost to avoid each
//     std::puts(explain(graph, best, predict(graph, best.plan, *costs), costs->name()).c_str());
//
//     <node> by <implementation>: <layouts of its sources> -> <layouts of its destinations>
//     reorder: <reason>
//     predicted by analytic prices, not measured: primitives 31.4 us, reorders 2.9 us; no plan costs less by these ...
#pragma once

#include <string>
#include <string_view>

#include "relayout/graph/optimize/optimize.h"

namespace relayout::graph {

/// One line for each primitive with its implementation and layouts, one for each reorder of a run with its reason, and
/// one for what the plan is predicted to take. `prices` is Costs::name() of those that the plan was chosen by. Names
/// stand as the model has them; the last line has no end.
std::string explain(const Graph& graph, const OptimalPlan& best, const PredictedCost& predicted,
                    std::string_view prices);

}  // namespace relayout::graph
