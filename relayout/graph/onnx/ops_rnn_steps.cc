// Recurrent operators step by step: forms that the graph's rnn does not have, as sequences of several lengths,
// peepholes, bounds (clip) and other activations. Each step is a product and elementwise operations; its states are
// those of the step before where a sequence has ended.
//
// Letters of dims: D directions, G gates, I channels read, O channels made, T steps, N batch. Gates stand in ONNX's
// order: LSTM input, output, forget, cell; GRU update, reset, hidden.
#include <algorithm>
#include <array>
#include <cmath>

#include "relayout/graph/onnx/rnn_steps.h"

namespace relayout::graph::importing {
namespace {

using Binary = BinaryAlgorithm;

/// One direction of the operator.
struct RecurrentSteps {
  Op& op;
  const RecurrentForm& form;
  int direction;
  Value lengths{};  // N x 1, s64; absent where all sequences are whole

  Value times(const Value& a, const Value& b) const { return binary(op, a, b, Binary::mul); }
  Value plus(const Value& a, const Value& b) const { return binary(op, a, b, Binary::add); }

  /// Part `direction` of a source whose first dim is D.
  Value own(const Value& value) const {
    SliceAttributes range{Dims(value.rank(), 0), value.dims, Dims(value.rank(), 1)};
    range.starts[0] = direction;
    range.stops[0] = direction + 1;
    Dims dims = value.dims;
    dims.erase(0);
    return reshape(op, slice(op, value, range), dims);
  }
  /// Columns of gate g of a value whose last dim is G*O.
  Value gate(const Value& value, int64_t g) const {
    SliceAttributes range{Dims(value.rank(), 0), value.dims, Dims(value.rank(), 1)};
    range.starts[value.rank() - 1] = g * form.channels;
    range.stops[value.rank() - 1] = (g + 1) * form.channels;
    return slice(op, value, range);
  }
  Value activated(const Value& value, std::size_t which) const {
    const std::size_t at = static_cast<std::size_t>(direction) * form.functions + which;
    return recurrent_activation(
        op, form.clip > 0 ? eltwise(op, value, EltwiseAlgorithm::clip, -form.clip, form.clip) : value, at);
  }
  Value product(const Value& a, const Value& b) const { return op.add(Kind::matmul, MatmulAttributes{}, {a, b}); }
  /// a where the sequence still goes on at that step, else b.
  Value still(int64_t step, const Value& a, const Value& b) const {
    if (lengths.rank() == 0) return a;
    const Value now = integer_constant({}, std::array{step});
    return select(op, binary(op, lengths, now, Binary::gt), a, b);
  }

  struct State {
    Value hidden, cell;
  };

  State lstm(const Value& sums, const State& before) const {
    const bool peeps = op.has(7);
    const Value peephole = peeps ? own(op.input(7)) : Value{};
    const auto looking = [&](const Value& sum, int64_t p, const Value& cell) {
      if (!peeps) return sum;
      SliceAttributes range{{p * form.channels}, {(p + 1) * form.channels}, {1}};
      return plus(sum, times(slice(op, peephole, range), cell));
    };
    const Value in = activated(looking(gate(sums, 0), 0, before.cell), 0);
    const Value forget = op.integer("input_forget", 0) != 0 ? linear(op, in, -1, 1)
                                                            : activated(looking(gate(sums, 2), 2, before.cell), 0);
    const Value cell = plus(times(forget, before.cell), times(in, activated(gate(sums, 3), 1)));
    const Value out = activated(looking(gate(sums, 1), 1, cell), 0);
    return {times(out, activated(cell, 2)), cell};
  }

  /// `read` are the sums of what is read, `weights` and `bias` those of the recurrence.
  State gru(const Value& read, const State& before, const Value& weights, const std::optional<Value>& bias) const {
    const auto part = [&](int64_t g, const Value& hidden) {
      const Value sum = product(hidden, gate(weights, g));
      return bias ? plus(sum, gate(*bias, g)) : sum;
    };
    const Value update = activated(plus(gate(read, 0), part(0, before.hidden)), 0);
    const Value reset = activated(plus(gate(read, 1), part(1, before.hidden)), 0);
    const bool linear_first = op.integer("linear_before_reset", 0) != 0;
    const Value recurrent = linear_first ? times(reset, part(2, before.hidden)) : part(2, times(reset, before.hidden));
    const Value candidate = activated(plus(gate(read, 2), recurrent), 1);
    return {plus(times(linear(op, update, -1, 1), candidate), times(update, before.hidden)), {}};
  }

  /// The hidden state after each step, N O, and the last states.
  std::pair<std::vector<Value>, State> run(const Value& src, State state) const {
    const Value weights = transpose(op, own(op.input(1)), {1, 0}), recurrent = transpose(op, own(op.input(2)), {1, 0});
    std::optional<Value> bias, recurrent_bias;
    if (op.has(3)) {
      const Value both = own(op.input(3));
      const int64_t half = both.dims[0] / 2;
      bias = slice(op, both, {{0}, {half}, {1}});
      recurrent_bias = slice(op, both, {{half}, {2 * half}, {1}});
    }
    std::vector<Value> out(static_cast<std::size_t>(form.steps));
    const bool backward = form.backward[static_cast<std::size_t>(direction)];
    for (int64_t i = 0; i < form.steps; ++i) {
      const int64_t step = backward ? form.steps - 1 - i : i;
      const Value now = gather(op, src, integer_constant({}, std::array{step}), 0);
      Value read = product(now, weights);
      if (bias) read = plus(read, *bias);
      State next;
      if (form.cell == RecurrentCell::gru) {
        next = gru(read, state, recurrent, recurrent_bias);
      } else {
        Value sums = plus(read, product(state.hidden, recurrent));
        if (recurrent_bias) sums = plus(sums, *recurrent_bias);
        next = form.cell == RecurrentCell::lstm ? lstm(sums, state) : State{activated(sums, 0), {}};
      }
      const Value zero = scalar(0, next.hidden.dtype);
      out[static_cast<std::size_t>(step)] = still(step, next.hidden, zero);
      state.hidden = still(step, next.hidden, state.hidden);
      if (form.cell == RecurrentCell::lstm) state.cell = still(step, next.cell, state.cell);
    }
    return {std::move(out), state};
  }
};

}  // namespace

Value recurrent_activation(Op& op, const Value& value, std::size_t which) {
  const RecurrentFunction f = recurrent_function(op, which);
  const auto with = [&](EltwiseAlgorithm algorithm, double alpha = 0, double beta = 0) {
    return eltwise(op, value, algorithm, alpha, beta);
  };
  if (f.name == "sigmoid") return with(EltwiseAlgorithm::logistic);
  if (f.name == "tanh") return with(EltwiseAlgorithm::tanh);
  if (f.name == "relu") return with(EltwiseAlgorithm::relu);
  if (f.name == "leakyrelu") return with(EltwiseAlgorithm::relu, f.alpha.value_or(0.01));
  if (f.name == "elu") return with(EltwiseAlgorithm::elu, f.alpha.value_or(1));
  if (f.name == "softplus") return with(EltwiseAlgorithm::soft_relu, 1);
  if (f.name == "affine") return with(EltwiseAlgorithm::linear, f.alpha.value_or(1), f.beta.value_or(0));
  if (f.name == "hardsigmoid") return with(EltwiseAlgorithm::hardsigmoid, f.alpha.value_or(0.2), f.beta.value_or(0.5));
  if (f.name == "scaledtanh") {
    const Value inner = multiplied(op, value, f.beta.value_or(1));
    return multiplied(op, eltwise(op, inner, EltwiseAlgorithm::tanh), f.alpha.value_or(1));
  }
  throw NotExpressible{"the activation " + in_quotes(f.name)};
}

void recurrent_steps(Op& op, const RecurrentForm& form) {
  const int directions = static_cast<int>(form.backward.size());
  constexpr int64_t kNodesOfAStep = 40;
  count_steps(op, *checked_mul(std::min(form.steps, op.model.options.max_nodes), kNodesOfAStep * directions));
  const bool batch_first = op.integer("layout", 0) != 0;
  const Value src = batch_first ? transpose(op, op.input(0), {1, 0, 2}) : op.input(0);
  Value lengths;
  if (op.has(4)) lengths = reshape(op, cast(op, op.input(4), DType::s64), {form.batch, 1});
  // Y is T D N O, the states are D N O.
  std::vector<Value> layers, hidden, cells;
  const Dims states{form.batch, form.channels};
  for (int d = 0; d < directions; ++d) {
    const RecurrentSteps steps{op, form, d, lengths};
    const auto start = [&](int source) {
      if (!op.has(source)) return broadcast(op, scalar(0, src.dtype), states);
      const Value given = batch_first ? transpose(op, op.input(source), {1, 0, 2}) : op.input(source);
      return broadcast(op, steps.own(given), states);
    };
    const bool lstm = form.cell == RecurrentCell::lstm;
    auto [out, last] = steps.run(src, {start(5), lstm ? start(6) : Value{}});
    for (Value& step : out) step = reshape(op, step, {1, 1, form.batch, form.channels});
    layers.push_back(concat(op, out, 0));
    hidden.push_back(reshape(op, last.hidden, {1, form.batch, form.channels}));
    if (lstm) cells.push_back(reshape(op, last.cell, {1, form.batch, form.channels}));
  }
  const auto set_state = [&](int i, const std::vector<Value>& parts) {
    if (!op.wanted(i) || parts.empty()) return;
    const Value all = concat(op, parts, 0);
    op.set(i, batch_first ? transpose(op, all, {1, 0, 2}) : all);
  };
  if (op.wanted(0)) {
    const Value all = concat(op, layers, 1);
    op.set(0, batch_first ? transpose(op, all, {2, 0, 1, 3}) : all);
  }
  set_state(1, hidden);
  set_state(2, cells);
}

}  // namespace relayout::graph::importing
