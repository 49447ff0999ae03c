// The certificate of a plan as JSON: what could be chosen and what each choice costs, what was chosen, and the proof
// that no other choices cost less. check_proof.h explains how these make a proof.
//
//     "operations" a list: inputs and constants, then the plan's primitives in their order, then outputs. Each has
//                  "name", "src" and "dst" (numbers of tensors) and "choices". A constant has "constant". A primitive
//                  has "primitive" (its number in the plan), and "hint" (the operation of its forward primitive) where
//                  its choices depend on the choice of that
//       "choices"  a list of what the operation can do: "us" (its time; null: impossible), "src" (for each tensor that
//                  it reads, the places of which any will do), "dst" (for each tensor that it writes, the place),
//                  "with_hint" (the choices of the hint that it can be combined with; absent: all). A primitive also
//                  has "implementation", and "in_place" where it writes over its first source
//     "tensors"    a list: "name", "places" (placements: a layout each; where the plan has a copy in a place, the
//                  layout of that copy), "reorder_us" (the time of a reorder from each place to each)
//     "choices"    the number of the choice of each operation
//     "reorders"   the reorders that were chosen: "tensor", "from", "to"
//     "cliques"    a list: "scope" (variables: the operations, then the tensors), "tables" (each by its variables)
//     "messages"   a list: "from" and "to" (cliques), "scope", "values"
//     "bound"      the lower bound that the cliques together prove
//     "search"     true where the solver then proved a higher bound by a search, which the certificate does not show
#pragma once

#include "relayout/graph/optimize/optimize.h"
#include "tools/command/common.h"

namespace relayout::tools {

/// `names` are the names of the tensors that the JSON of the plan has.
Json certificate_json(const graph::Graph& graph, const graph::OptimalPlan& plan, const std::vector<std::string>& names);

}  // namespace relayout::tools
