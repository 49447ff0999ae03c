// The certificate of a plan as JSON: what could be chosen and what it costs, what is chosen, and the proof that nothing
// costs less. How they go together is in check_proof.h.
//
//     "operations" inputs and constants, the plan's primitives in their order, then outputs. Each has "name", "src" and
//                  "dst" (tensors); constants have "constant"; and primitives "primitive" (its number in the plan) and
//                  "hint" (the operation of the forward one, where choices depend on its); and
//     "choices"    of each: "us" (null is impossible), "src" (one list a tensor: the places of which it reads any),
//                  "dst" (the place it writes of each), "with_hint" (choices of the hint with which it goes; without it
//                  all), and of primitives "implementation" and, where it writes over its first source, "in_place"
//     "tensors"    "name", "places" (layouts; in the plan's memory where the plan has it there), "reorder_us"
//                  (from each place to each)
//     "choices", "reorders"   what is chosen: a number an operation; "tensor", "from", "to"
//     "cliques"    "scope" (variables: the operations, then the tensors), "tables" (variables of each)
//     "messages"   "from", "to" (cliques), "scope", "values"
//     "bound"      what the cliques prove
//     "search"     true where a search over all that the cliques leave open went on from there
#pragma once

#include "relayout/graph/optimize/optimize.h"
#include "tools/common.h"

namespace relayout::tools {

/// `names` are the tensors', as the plan's JSON has them.
Json certificate_json(const graph::Graph& graph, const graph::OptimalPlan& plan, const std::vector<std::string>& names);

}  // namespace relayout::tools
