// ONNX's RNN, GRU and LSTM: one layer in one or both directions, its gates in oneDNN's order.
//
// Letters of dims: L layers, D directions, G gates, I channels read, O channels made, T steps, N batch. ONNX has W as D
// G*O I and R as D G*O O, and B has the biases of W followed by those of R. The graph has weights as L D I G O and one
// bias, the sum of both. Gates of an LSTM are input, output, forget, cell in ONNX and input, forget, cell, output in
// the graph; gates of a GRU are update, reset, output in both. A GRU that is linear before reset keeps the last gate's
// bias of R apart.
#include <algorithm>
#include <array>

#include "relayout/core/letters.h"
#include "relayout/graph/onnx/rnn_steps.h"

namespace relayout::graph::importing {
namespace {

struct Sequence {
  std::vector<int64_t> gates;  // ONNX's number of each gate, in oneDNN's order
  std::vector<std::string> activations;
  RnnCell cell;
};

const std::vector<std::string>& default_activations(const Op& op) {
  static const std::vector<std::string> kLstm = {"sigmoid", "tanh", "tanh"}, kGru = {"sigmoid", "tanh"},
                                        kPlain = {"tanh"};
  return op.node.op_type() == "LSTM" ? kLstm : op.node.op_type() == "GRU" ? kGru : kPlain;
}

std::vector<std::string> activations_of(const Op& op, const Sequence& sequence, int directions) {
  std::vector<std::string> names = op.texts("activations");
  if (names.empty()) {
    for (int d = 0; d < directions; ++d) {
      names.insert(names.end(), sequence.activations.begin(), sequence.activations.end());
    }
  }
  for (std::string& name : names) name = small_letters(name);
  if (names.size() != sequence.activations.size() * static_cast<std::size_t>(directions)) {
    op.corrupt(std::to_string(names.size()) + " activations");
  }
  return names;
}

/// Whether the graph's rnn has these activations. Each cell has fixed ones, except the plain one, which has a choice of
/// three.
bool has_activations(const std::vector<std::string>& names, Sequence* sequence) {
  const std::size_t count = sequence->activations.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (count == 1 ? names[i] != names[0] : names[i] != sequence->activations[i % count]) return false;
  }
  if (count != 1) return true;
  if (names[0] == "relu")
    sequence->cell = RnnCell::vanilla_relu;
  else if (names[0] == "sigmoid")
    sequence->cell = RnnCell::vanilla_sigmoid;
  return names[0] == "relu" || names[0] == "sigmoid" || names[0] == "tanh";
}

RnnDirection direction_of(const Op& op) {
  const std::string direction = op.text("direction", "forward");
  if (direction == "forward") return RnnDirection::left_to_right;
  if (direction == "reverse") return RnnDirection::right_to_left;
  if (direction == "bidirectional") return RnnDirection::bidirectional_concat;
  op.corrupt("direction \"" + escaped(direction) + "\"");
}

Value in_gate_order(Op& op, const Value& value, const Sequence& sequence, int axis) {
  const Dims count{static_cast<int64_t>(sequence.gates.size())};
  if (std::is_sorted(sequence.gates.begin(), sequence.gates.end())) return value;
  return gather(op, value, integer_constant(count, sequence.gates), axis);
}

/// Turns weights of dims D G*O I into L D I G O, with the gates in oneDNN's order.
Value weights_of(Op& op, const Value& value, const Sequence& sequence, const Dims& shape) {
  const Value gates = in_gate_order(op, reshape(op, value, shape), sequence, 1);
  const Value turned = transpose(op, gates, {0, 3, 1, 2});
  Dims dims = turned.dims;
  dims.insert(0, 1);
  return reshape(op, turned, dims);
}

Value bias_of(Op& op, const Value& value, const Sequence& sequence, int64_t directions, int64_t channels) {
  const auto gates = static_cast<int64_t>(sequence.gates.size());
  const Value both = reshape(op, value, {directions, 2, gates, channels});
  const auto side = [&](int64_t at) {
    const SliceAttributes range{{0, at, 0, 0}, {directions, at + 1, gates, channels}, {1, 1, 1, 1}};
    return in_gate_order(op, reshape(op, slice(op, both, range), {directions, gates, channels}), sequence, 1);
  };
  const auto first_gates = [&](const Value& from, int64_t begin, int64_t end) {
    return slice(op, from, {{0, begin, 0}, {directions, end, channels}, {1, 1, 1}});
  };
  const auto sum = [&](const Value& a, const Value& b) {
    const auto folded = fold_binary(op, a, b, "Add", a.dims);
    return folded ? *folded : binary(op, a, b, BinaryAlgorithm::add);
  };
  const Value w = side(0), r = side(1);
  if (sequence.cell != RnnCell::lbr_gru) return reshape(op, sum(w, r), {1, directions, gates, channels});
  const Value joint = sum(first_gates(w, 0, 2), first_gates(r, 0, 2));
  const Value all = concat(op, {joint, first_gates(w, 2, 3), first_gates(r, 2, 3)}, 1);
  return reshape(op, all, {1, directions, gates + 1, channels});
}

struct RnnExtents {
  int64_t steps = 0, batch = 0, directions = 0, channels = 0;
  bool batch_first = false;
};

/// An initial state as L D N C, from ONNX's D N C (N D C if the batch comes first). A state for a batch of 1 repeats.
Value state_of(Op& op, const Value* given, const RnnExtents& extents, DType dtype) {
  const Dims dims = {1, extents.directions, extents.batch, extents.channels};
  if (given == nullptr) return broadcast(op, number_constant({1, 1, 1, 1}, std::array{0.0}, dtype), dims);
  Value state = *given;
  if (state.rank() != 3) op.corrupt("a state of dims " + join(state.dims, "x"));
  if (extents.batch_first) state = transpose(op, state, {1, 0, 2});
  return broadcast(op, state, dims);
}

/// Whether the graph's rnn has the operator's form: no bounds, no peepholes, all sequences of one length.
bool is_plain(const Op& op, const RnnExtents& extents) {
  if (op.find("clip") != nullptr || op.integer("input_forget", 0) != 0 || op.has(7)) return false;
  if (!op.has(4)) return true;
  if (!op.input(4).constant()) return false;
  const std::vector<int64_t> lengths = op.integers_of(4);
  return std::ranges::all_of(lengths, [&](int64_t length) { return length == extents.steps; });
}

RnnExtents extents_of(const Op& op, RnnDirection direction) {
  const Value &src = op.input(0), &weights = op.input(1), &recurrent = op.input(2);
  if (src.rank() != 3 || weights.rank() != 3 || recurrent.rank() != 3) {
    op.corrupt("sources of " + join(src.dims, "x") + ", " + join(weights.dims, "x") + ", " + join(recurrent.dims, "x"));
  }
  RnnExtents out{.directions = direction == RnnDirection::bidirectional_concat ? 2 : 1,
                 .channels = recurrent.dims[2],
                 .batch_first = op.integer("layout", 0) != 0};
  out.steps = src.dims[out.batch_first ? 1 : 0];
  out.batch = src.dims[out.batch_first ? 0 : 1];
  if (op.integer("hidden_size", out.channels) != out.channels) {
    op.corrupt("hidden_size " + std::to_string(op.integer("hidden_size", 0)) + " and R of " +
               join(recurrent.dims, "x"));
  }
  return out;
}

/// Turns the results of all steps from T N D*C into ONNX's T D N C, or N T D C if the batch comes first.
Value layer_of(Op& op, const Value& layer, const RnnExtents& extents) {
  const Value parts = reshape(op, layer, {extents.steps, extents.batch, extents.directions, extents.channels});
  if (extents.batch_first) return transpose(op, parts, {1, 0, 2, 3});
  if (extents.directions == 1) return reshape(op, layer, {extents.steps, 1, extents.batch, extents.channels});
  return transpose(op, parts, {0, 2, 1, 3});
}

/// Turns a final state from L D N C into ONNX's D N C, or N D C if the batch comes first.
Value last_state(Op& op, const Value& state, const RnnExtents& extents) {
  const Value out = reshape(op, state, {extents.directions, extents.batch, extents.channels});
  return extents.batch_first ? transpose(op, out, {1, 0, 2}) : out;
}

void recurrent(Op& op, Sequence sequence) {
  const RnnDirection direction = direction_of(op);
  const RnnExtents extents = extents_of(op, direction);
  const bool lstm = sequence.cell == RnnCell::lstm;
  const std::vector<std::string> names = activations_of(op, sequence, static_cast<int>(extents.directions));
  if (!has_activations(names, &sequence) || !is_plain(op, extents)) {
    const bool two = extents.directions == 2;
    return recurrent_steps(
        op, {.cell = lstm                         ? RecurrentCell::lstm
                     : sequence.gates.size() == 3 ? RecurrentCell::gru
                                                  : RecurrentCell::plain,
             .steps = extents.steps,
             .batch = extents.batch,
             .channels = extents.channels,
             .backward = two ? std::vector{false, true} : std::vector{direction == RnnDirection::right_to_left},
             .functions = sequence.activations.size(),
             .clip = op.number("clip", 0)});
  }
  const auto gates = static_cast<int64_t>(sequence.gates.size());

  Value src = op.input(0);
  if (extents.batch_first) src = transpose(op, src, {1, 0, 2});
  std::vector<Value> operands(6);
  operands[0] = src;
  const Value *hidden = op.optional(5), *cell = lstm ? op.optional(6) : nullptr;
  if (hidden != nullptr || cell != nullptr) {
    operands[1] = state_of(op, hidden, extents, src.dtype);
    if (lstm) operands[2] = state_of(op, cell, extents, src.dtype);
  }
  operands[3] = weights_of(op, op.input(1), sequence, {extents.directions, gates, extents.channels, src.dims[2]});
  operands[4] = weights_of(op, op.input(2), sequence, {extents.directions, gates, extents.channels, extents.channels});
  if (const Value* bias = op.optional(3)) {
    operands[5] = bias_of(op, *bias, sequence, extents.directions, extents.channels);
  }
  const int dsts = op.wanted(2) && lstm ? 3 : op.wanted(1) ? 2 : 1;
  const std::vector<Value> out = op.add(Kind::rnn, RnnAttributes{sequence.cell, direction}, operands, dsts);
  if (op.wanted(0)) op.set(0, layer_of(op, out[0], extents));
  if (op.wanted(1)) op.set(1, last_state(op, out[1], extents));
  if (dsts == 3) op.set(2, last_state(op, out[2], extents));
}

void lstm(Op& op) { recurrent(op, {{0, 2, 3, 1}, default_activations(op), RnnCell::lstm}); }

void gru(Op& op) {
  const bool linear_before_reset = op.integer("linear_before_reset", 0) != 0;
  recurrent(op, {{0, 1, 2}, default_activations(op), linear_before_reset ? RnnCell::lbr_gru : RnnCell::gru});
}

void rnn(Op& op) { recurrent(op, {{0}, default_activations(op), RnnCell::vanilla_tanh}); }

}  // namespace

RecurrentFunction recurrent_function(const Op& op, std::size_t which) {
  const std::vector<std::string> given = op.texts("activations");
  const std::vector<std::string>& otherwise = default_activations(op);
  RecurrentFunction out{given.empty() ? otherwise[which % otherwise.size()] : small_letters(given.at(which)), {}, {}};
  const std::vector<double> alphas = op.numbers("activation_alpha"), betas = op.numbers("activation_beta");
  if (which < alphas.size()) out.alpha = alphas[which];
  if (which < betas.size()) out.beta = betas[which];
  return out;
}

std::span<const Operator> rnn_operators() {
  static constexpr std::array<Operator, 3> kOperators = {
      {{"LSTM", lstm,
        "activation_alpha activation_beta activations clip direction hidden_size input_forget layout:14-"},
       {"GRU", gru,
        "activation_alpha activation_beta activations clip direction hidden_size layout:14- linear_before_reset"},
       {"RNN", rnn, "activation_alpha activation_beta activations clip direction hidden_size layout:14-"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
