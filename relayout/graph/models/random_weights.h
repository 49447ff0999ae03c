// Random weights: they replace trained weights that a model lacks, or that are too alike to show a mistake.
//
// With equal weights a permuted channel would not show. With weights of one size everywhere, the values of deep models
// would vanish or overflow. So weights are drawn such that the results of their primitive are of about unit size; for
// this, the size of its source is estimated:
//
//     randomize_weights(graph, 1);      // convolutions: variance 1 / (fan-in * mean square of the source)
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Replaces floating constants whose readers use them as weights, biases, statistics or tables. Scalars, bounds and
/// indices stay. A value depends on `seed`, the constant's name and its use alone, not on the order of nodes. Variances
/// are positive.
void randomize_weights(Graph& graph, uint64_t seed);

/// Uniform values from `low` to `high`, determined by `seed` and `key`, a name. Error{unsupported} unless the type is
/// f64, f32, f16 or bf16.
ConstantData random_data(const Dims& dims, DType dtype, std::string_view key, uint64_t seed, double low, double high);

}  // namespace relayout::graph
