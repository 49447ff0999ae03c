// The reference: every primitive in its most obvious form, in float64 and row-major, for checking everything else.
//
// It shares no code with any backend. Values are vectors of doubles in row-major order; integer types hold whole
// numbers, and what is stored in a narrow type is rounded to it, as that type's tensors are.
//
//     std::vector<Values> out = evaluate(graph, {x});       // one a graph output, from one a graph input
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

using Values = std::vector<double>;

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

/// A constant's values.
Values values_of(const Tensor& constant);
/// Values rounded to a type and stored row-major, and back.
std::vector<std::byte> store(std::span<const double> values, DType dtype);
Values load(std::span<const std::byte> bytes, DType dtype, int64_t count);

}  // namespace relayout::graph
