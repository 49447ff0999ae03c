// Gates: the orders in which systems keep the gates of recurrent weights, and the way from one order to another.
//
// Weights and biases of an LSTM hold four gates and those of a GRU three, as one dim (g of ldigo, ldgoi and ldgo).
// Every system has its own order:
//
//     system    LSTM       GRU      the letters
//     oneDNN    i f c o    u r o    input, forget, candidate, output; update, reset, output (candidate)
//     PyTorch   i f g o    r z n    g is the candidate; reset, update (z), new (the candidate)
//     Keras     i f c o    z r h    z is the update gate, h the candidate
//     ONNX      i o f c    z r h
//
// So an LSTM of oneDNN, PyTorch and Keras has one order under different letters, as have GRUs of oneDNN, Keras and
// ONNX. Only some changes of order are layouts ("ldigo;gates:zrh->rzh", see docs/layout-expressions.md). All are a copy
// of one gate after the other:
//
//     for (const GateMove& move : permute_gates(src, dst, 3, "iofc", "ifco"))
//       cpu::reorder({move.src, DType::f32}, in, {move.dst, DType::f32}, out);
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

class Format;

/// For each gate of `to`, where it stands in `from`: gate_places("zrh", "rzh") is 1, 0, 2. A gate is one letter.
/// Error{invalid_argument} where a letter stands twice, or the two do not have the same letters.
Dims gate_places(std::string_view from, std::string_view to);

/// One gate: where it is, and where it goes. Both have extent 1 along the dim of the gates.
struct GateMove {
  Layout src, dst;
};

/// The copies that bring the gates of `src`, which are in the order `from`, to `dst` in the order `to`. `gate_dim` is
/// the dim of the gates, of equal extent on both sides and as long as the orders. Errors: invalid_argument, needs_copy
/// (a gate of a blocked dim that no layout has, as narrow()).
std::vector<GateMove> permute_gates(const Layout& src, const Layout& dst, int gate_dim, std::string_view from,
                                    std::string_view to);

/// The dims of recurrent weights or a bias in an array as frameworks have it: gates and outputs are one axis, gates
/// outside, and the axes of layers, or of layers and directions, are left out where they are 1. `format` is of the
/// axes' order: ldgoi of ONNX's W (directions, gates * hidden, input) and PyTorch's (gates * hidden, input), ldigo of
/// Keras's (input, gates * units), ldgo of biases. Nothing where the array has no such shape for so many gates.
std::optional<Dims> dims_of_joined_gates(const Format& format, const Dims& shape, int64_t gates);
/// Whether an array of this shape has these dims in that way.
bool has_joined_gates(const Format& format, const Dims& shape, const Dims& dims);
/// For an error about an array of this shape: which dims it has by this format, for each number of gates that there is.
/// Empty where it has no such shape.
std::string joined_gates_hint(const Format& format, const Dims& shape);

}  // namespace relayout
