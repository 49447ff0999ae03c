// The certificate of a plan as JSON: the problem's tables, the proof, and labels that say what its numbers mean.
//
//     "variables"  operations, then tensors. An operation: "name", "kind", "primitive" (of the plan's list; inputs,
//                  constants and outputs have none), "src", "dst" (variables of tensors), and a label a value: "us",
//                  "src" (the places of which it reads any), "dst" (the place it writes), "implementation", "in_place".
//                  A tensor: "name", "kind", "places" (layouts; in the plan's memory where the plan has it there), and
//                  a label a value: "wanted", groups of places of which one each must exist
//     "tables"     "scope" (variables), "values" (the last variable's fastest; null is impossible)
//     "cliques"    "scope", "tables"
//     "messages"   "from", "to", "scope", "values"
//     "assignment" a value a variable
//     "reorders"   of the assignment: "tensor" (a variable), "from", "to" (places), "us"
//     "bound"      what the cliques prove
//     "search"     true where a search over all that the cliques leave open went on from there
#pragma once

#include "relayout/graph/optimize.h"
#include "tools/common.h"

namespace relayout::tools {

/// `names` are the tensors', as the plan's JSON has them.
Json certificate_json(const graph::Graph& graph, const graph::OptimalPlan& plan, const std::vector<std::string>& names);

}  // namespace relayout::tools
