// Requantize: the functions between a sum of bytes and the bytes that it is stored as become one scale and one offset.
//
//     round(relu(sum * a + b) / s) + z     a model's layer: its scale, bias and activation, then QuantizeLinear
//     max(sum * (a / s) + (b / s + z), z)  stored as a byte, which rounds halves to even and saturates
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Folds the post-ops of nodes that sum products of bytes and store bytes (multiply_bytes.h): scales and offsets by
/// constants, with one value or one for each channel, a relu or a clip, one more scale, a rounding, and a zero point z.
/// The clip is left out where it only cuts off what the type does not hold. An even z becomes part of the offset; an
/// odd one stays behind the rounding, as halves are rounded to even numbers and would go the other way. Results differ
/// by what f32 rounds, which is nothing where scales are powers of two and numbers small. Other post-ops stay as they
/// are. Must run after store_bytes().
void requantize(Graph& graph);

}  // namespace relayout::graph
