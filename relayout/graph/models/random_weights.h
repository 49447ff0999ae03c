// Random weights: what stands in for training where a model's weights are missing, or too equal to show a mistake.
//
// All-equal weights cannot show a permuted channel, and weights of a fixed size make deep models die or overflow. Here
// each weight is drawn so that its primitive gives values of about unit size, from an estimate of what comes in:
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
