// The reference: every primitive in its most obvious form, in float64 and row-major, for checking everything else.
//
// It shares no code with any backend. Values of a narrow type are rounded to that type; values.h says how they are
// kept.
//
//     std::vector<Values> out = evaluate(graph, std::array{x});    // one a graph output, from one a graph input
#pragma once

#include <array>
#include <cstdint>

#include "relayout/graph/ir/graph.h"
#include "relayout/graph/reference/values.h"

namespace relayout::graph {

/// The destinations of one node from its sources (null where absent). `hint_src` are the sources of the hint of a
/// backward node; backward passes without a source of their own (max pooling) need them. Error{unsupported} for a
/// barrier.
std::vector<Values> evaluate_node(const Graph& graph, const Node& node, std::span<const Values* const> src,
                                  std::span<const Values* const> hint_src = {});

/// Runs a graph. A tensor's values are kept from its node to its last reader. Errors: invalid_argument (the number or
/// size of `inputs`), unsupported.
std::vector<Values> evaluate(const Graph& graph, std::span<const Values> inputs);

/// Like evaluate(), with every f32 and f64 value of an input or that a node computes made larger or smaller at random
/// by up to 2^-21 of itself, four roundings of f32: what f32 arithmetic may come to that adds up a few hundred products
/// in another order. The same for the same seed.
std::vector<Values> evaluate_rounded(const Graph& graph, std::span<const Values> inputs, uint64_t seed);

/// The outputs of a graph, and how large the sums are from which they result. The summands of a gradient may nearly
/// cancel; an error of less precise arithmetic is then in proportion to the sum of their magnitudes, not to the result.
struct EvaluatedSums {
  std::vector<Values> outputs;
  /// For each output, the largest sum of magnitudes that one of its elements results from. It is known for convolution,
  /// deconvolution, matmul, inner product and the gradients of a normalization's scale and shift, also after moves and
  /// sums of these; else 0.
  std::vector<double> sums;
};
/// Like evaluate(), but nodes that make outputs are computed twice.
EvaluatedSums evaluate_sums(const Graph& graph, std::span<const Values> inputs);

}  // namespace relayout::graph
