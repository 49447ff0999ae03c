// ONNX operators that compare, that work on truth values or on bits, and the choice between two values by one.
#include <array>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// An operator of two sources. Small constants are computed in 64-bit integers where they are integers.
template <BinaryAlgorithm algorithm>
void compared(Op& op) {
  const Value &a = op.input(0), &b = op.input(1);
  const auto folded = fold_binary(op, a, b, op.node.op_type(), broadcast_dims(op, a.dims, b.dims));
  op.set(0, folded ? *folded : binary(op, a, b, algorithm));
}

void check_whole(const Op& op) {
  const DType dtype = op.input(0).dtype;
  if (is_floating(dtype)) op.corrupt("bits of elements of type " + std::string(name(dtype)));
}

template <BinaryAlgorithm algorithm>
void combined_bits(Op& op) {
  check_whole(op);
  op.set(0, binary(op, op.input(0), op.input(1), algorithm));
}

void modulus(Op& op) {
  const Value &a = op.input(0), &b = op.input(1);
  const bool fmod = op.integer("fmod", 0) != 0;
  const auto folded = fold_binary(op, a, b, fmod ? "Fmod" : "Mod", broadcast_dims(op, a.dims, b.dims));
  op.set(0, folded ? *folded : binary(op, a, b, fmod ? BinaryAlgorithm::fmod : BinaryAlgorithm::mod));
}

void bit_shift(Op& op) {
  const std::string direction = op.text("direction", "");
  check_whole(op);
  if (direction != "LEFT" && direction != "RIGHT") op.corrupt("direction " + in_quotes(direction));
  const BinaryAlgorithm algorithm = direction == "LEFT" ? BinaryAlgorithm::shift_left : BinaryAlgorithm::shift_right;
  op.set(0, binary(op, op.input(0), op.input(1), algorithm));
}

template <EltwiseAlgorithm algorithm>
void tested(Op& op) {
  op.set(0, eltwise(op, op.input(0), algorithm));
}

void inverted_bits(Op& op) {
  check_whole(op);
  op.set(0, eltwise(op, op.input(0), EltwiseAlgorithm::bitwise_not));
}

void is_infinite(Op& op) {
  const double up = static_cast<double>(op.integer("detect_positive", 1)),
               down = static_cast<double>(op.integer("detect_negative", 1));
  op.set(0, eltwise(op, op.input(0), EltwiseAlgorithm::is_infinite, up, down));
}

void where(Op& op) { op.set(0, select(op, op.input(0), op.input(1), op.input(2))); }

constexpr auto kLogicOperators = std::to_array<Operator>({
    {"Equal", compared<BinaryAlgorithm::eq>},
    {"Less", compared<BinaryAlgorithm::lt>},
    {"LessOrEqual", compared<BinaryAlgorithm::le>},
    {"Greater", compared<BinaryAlgorithm::gt>},
    {"GreaterOrEqual", compared<BinaryAlgorithm::ge>},
    {"And", compared<BinaryAlgorithm::logical_and>},
    {"Or", compared<BinaryAlgorithm::logical_or>},
    {"Xor", combined_bits<BinaryAlgorithm::logical_xor>},
    {"Not", tested<EltwiseAlgorithm::logical_not>},
    {"IsNaN", tested<EltwiseAlgorithm::is_nan>},
    {"IsInf", is_infinite, "detect_negative detect_positive"},
    {"Mod", modulus, "fmod"},
    {"BitwiseAnd", combined_bits<BinaryAlgorithm::bitwise_and>},
    {"BitwiseOr", combined_bits<BinaryAlgorithm::bitwise_or>},
    {"BitwiseXor", combined_bits<BinaryAlgorithm::bitwise_xor>},
    {"BitwiseNot", inverted_bits},
    {"BitShift", bit_shift, "direction"},
    {"Where", where},
});

}  // namespace

std::span<const Operator> logic_operators() { return kLogicOperators; }

}  // namespace relayout::graph::importing
