// Random weights: they replace trained weights that a model lacks, or that are too alike to show a mistake.
//
// With equal weights a permuted channel would not show. With weights of one size everywhere, the values of deep models
// would vanish or overflow. So each weight is drawn such that the results of its primitive are of about unit size, by
// an estimate of the size of its source:
//
//     randomize_weights(graph, 1);      // convolutions: variance 1 / (fan-in * mean square of the source)
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Replaces the floating constants that are weights, biases, statistics or tables by their use; scalars, and constants
/// that say how (bounds, indices), stay. Values depend on `seed`, the constant's name and its use alone, not on the
/// order of nodes. Variances are positive.
void randomize_weights(Graph& graph, uint64_t seed);

/// Uniform values from `low` to `high`, by a key (a name) and a seed. f64, f32, f16 or bf16; Error{unsupported} else.
ConstantData random_data(const Dims& dims, DType dtype, std::string_view key, uint64_t seed, double low, double high);

}  // namespace relayout::graph
