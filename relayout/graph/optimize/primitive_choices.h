// Primitive choices: the implementations that a backend has for one primitive, in which layouts and how fast, and which
// of them the layout `any` takes.
//
//     for (const PrimitiveChoice& choice : primitive_choices(graph, 0, *backend, *costs))
//       std::printf("%s %.1f us%s\n", choice.implementation.name.c_str(), choice.us, choice.by_any ? " any" : "");
//
// A program that asks for `any` gets one implementation, without a word about the others. Here they stand side by side,
// so that one sees what `any` decided and what it decided against. What the neighbours of the primitive would pay for
// reorders is not counted: optimize() does that for whole graphs.
#pragma once

#include <vector>

#include "relayout/graph/plan/cost.h"

namespace relayout::graph {

struct PrimitiveChoice {
  Implementation implementation;
  /// The time of one run, from the costs.
  double us = 0;
  /// The first answer of the backend where each operand is asked for as the specification's table says (ir/operands.h).
  bool by_any = false;
};

/// The choices, the fastest first. Asked for are: what the table says; every usual layout of activations (row-major,
/// channels last, blocks of 8 and 16 channels) for all operands and, for kinds that have such implementations, mixes of
/// them; and the layout that the first source has. A source without a layout of its own (Tensor::layout) that is taken
/// as it is counts as row-major. Slow reference implementations are listed only where there is no other, or where `any`
/// takes one. `forward` is the implementation of a backward node's hint, else null. `may_round_more` is that of
/// OptimizeOptions; `any` takes nothing that rounds more.
/// Errors: invalid_argument (a node that the graph does not have), those of the backend and the costs. None of the
/// backend's implementations is no error: the list is empty.
std::vector<PrimitiveChoice> primitive_choices(const Graph& graph, NodeId node, const Backend& backend, Costs& costs,
                                               const Implementation* forward = nullptr,
                                               bool may_round_more = true);

}  // namespace relayout::graph
