// Requantize: the functions between a sum of bytes and the bytes that it is stored as become one scale and one offset.
//
//     round(relu(sum * a + b) / s) + z     a model's layer: its scale, bias and activation, then QuantizeLinear
//     max(sum * (a / s) + (b / s + z), z)  stored as a byte, which rounds halves to even and saturates
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Folds the post-ops of nodes that sum products of bytes and store bytes (multiply_bytes.h). These are scales and
/// offsets by constants with one value or one for each channel, a relu or a clip, one scale more, a rounding, and a zero
/// point. The clip is left out where it only cuts off what the type does not hold, and where z is odd, rounding and zero
/// point stay: an even number added to a half does not change which whole number is even, an odd one does. Of f32
/// results differ by what f32 rounds: none where scales are powers of two and numbers small. Other post-ops stay as
/// they are. Must run after store_bytes().
void requantize(Graph& graph);

}  // namespace relayout::graph
