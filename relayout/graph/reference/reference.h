// The reference: every primitive in its most obvious form, in float64 and row-major, for checking everything else.
//
// It shares no code with any backend. What is stored in a narrow type is rounded to it, as that type's tensors
// are; values.h says how values are kept.
//
//     std::vector<Values> out = evaluate(graph, {x});       // one a graph output, from one a graph input
#pragma once

#include "relayout/graph/ir/graph.h"
#include "relayout/graph/reference/values.h"

namespace relayout::graph {

/// The destinations of one node from its sources (empty where absent). `hint_src` are the sources of the hint of a
/// backward node, which those passes need that have no source of their own (max pooling).
/// Error{unsupported} for a barrier.
std::vector<Values> evaluate_node(const Graph& graph, const Node& node, std::span<const Values* const> src,
                                  std::span<const Values* const> hint_src = {});

/// Runs a graph. Errors: invalid_argument (the count or size of `inputs`), unsupported. Memory: tensors live from
/// their node to their last reader.
std::vector<Values> evaluate(const Graph& graph, std::span<const Values> inputs);

/// What evaluate() gives, and how large the sums are that it is the result of: gradients may cancel to next to nothing,
/// and arithmetic of less precision is right to a part of what it added up.
struct EvaluatedSums {
  std::vector<Values> outputs;
  /// One an output: the largest sum of magnitudes that an element of it is the result of, where it is a convolution,
  /// deconvolution, matmul, inner product, a sum of such, or the gradient of a normalization's scale or shift, moved or
  /// not; 0 elsewhere.
  std::vector<double> sums;
};
/// As evaluate(); the nodes that make outputs are computed twice.
EvaluatedSums evaluate_sums(const Graph& graph, std::span<const Values> inputs);

}  // namespace relayout::graph
