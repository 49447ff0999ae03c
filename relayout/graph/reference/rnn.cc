// The reference of RNN: vanilla, LSTM, projected LSTM, GRU and linear-before-reset GRU cells, forward, and backward
// through time.
// Formulas and order of gates: oneDNN 2.6, "RNN".
//
// Each direction is a stack of layers of its own: layer l reads the result of layer l - 1 of the same direction, and
// only the results of the last layers are joined. Matrices are row-major: a row for each element of the batch, and a
// column for each gate and channel.
#include <algorithm>
#include <cmath>

#include "relayout/graph/reference/evaluation.h"

namespace relayout::graph::reference {
namespace {

/// Numbers of the operands. The backward pass reads the sources of the forward pass under the same numbers, and writes
/// the gradients of all of them.
enum RnnOperand : std::size_t { kLayer = 0, kIter, kIterC, kWeightsLayer, kWeightsIter, kBias, kProjection };
constexpr std::size_t kDiffDst = 10;

struct RnnShape {
  RnnCell cell;
  /// `out` are the channels of the cell, and `given` those of the hidden state and of the results: as many, or those of
  /// the projection.
  int64_t time, batch, in, out, layers, directions, gates, bias_gates, given;

  int64_t columns() const { return gates * out; }
  /// Elements of a cell state, and of a hidden state.
  int64_t state() const { return batch * out; }
  int64_t hidden() const { return batch * given; }
};

/// The values of one cell at one time, as far as the backward pass needs them.
struct CellValues {
  Values x, h_before, c_before, h, c;
  Values gates;   // after activation
  Values linear;  // lbr_gru: the part that the reset gate multiplies
  Values wide;    // of a projected LSTM, what is projected to h
};

/// Weights of one layer and direction.
struct CellWeights {
  const double *layer, *iter, *bias, *projection;
};
struct DiffWeights {
  double *layer, *iter, *bias, *projection;
};

double sigmoid(double s) { return 1 / (1 + std::exp(-s)); }

/// out += a * b for the columns first to last - 1 of b and out, where a has rows x k elements, b k x columns and out
/// rows x columns.
void add_product(int64_t rows, int64_t k, int64_t columns, int64_t first, int64_t last, const double* a,
                 const double* b, double* out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < k; ++j) {
      for (int64_t c = first; c < last; ++c) out[r * columns + c] += a[r * k + j] * b[j * columns + c];
    }
  }
}

/// Adds the gradients of that product to diff_a and, where it is not null, to diff_b.
void add_product_backward(int64_t rows, int64_t k, int64_t columns, int64_t first, int64_t last, const double* a,
                          const double* b, const double* diff_out, double* diff_a, double* diff_b) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < k; ++j) {
      for (int64_t c = first; c < last; ++c) {
        diff_a[r * k + j] += diff_out[r * columns + c] * b[j * columns + c];
        if (diff_b) diff_b[j * columns + c] += diff_out[r * columns + c] * a[r * k + j];
      }
    }
  }
}

/// Calls f(offset in a state, offset of its first gate) for each batch row and channel; gates are s.out apart.
template <typename F>
void each_cell(const RnnShape& s, F&& f) {
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t o = 0; o < s.out; ++o) {
      f(static_cast<std::size_t>(n * s.out + o), static_cast<std::size_t>(n * s.columns() + o));
    }
  }
}

Values zeros(int64_t size) { return Values(static_cast<std::size_t>(size), 0); }

/// The state times the reset gate, which is what gate 2 of a GRU reads.
Values reset_state(const RnnShape& s, const CellValues& step) {
  Values out = step.h_before;
  each_cell(s,
            [&](std::size_t at, std::size_t gate) { out[at] *= step.gates[gate + static_cast<std::size_t>(s.out)]; });
  return out;
}

void activate_vanilla(const RnnShape& s, CellValues& step) {
  for (double& g : step.gates) {
    g = s.cell == RnnCell::vanilla_relu   ? std::max(g, 0.0)
        : s.cell == RnnCell::vanilla_tanh ? std::tanh(g)
                                          : sigmoid(g);
  }
  step.h = step.gates;
}

void activate_lstm(const RnnShape& s, CellValues& step) {
  const auto o = static_cast<std::size_t>(s.out);
  each_cell(s, [&](std::size_t at, std::size_t gate) {
    double *input = &step.gates[gate], *forget = input + o, *candidate = forget + o, *output = candidate + o;
    *input = sigmoid(*input);
    *forget = sigmoid(*forget);
    *candidate = std::tanh(*candidate);
    *output = sigmoid(*output);
    step.c[at] = *forget * step.c_before[at] + *input * *candidate;
    step.h[at] = *output * std::tanh(step.c[at]);
  });
}

/// Replaces the result of an LSTM by its projection.
void project(const RnnShape& s, const CellWeights& w, CellValues& step) {
  step.wide = std::move(step.h);
  step.h = zeros(s.hidden());
  add_product(s.batch, s.out, s.given, 0, s.given, step.wide.data(), w.projection, step.h.data());
}

/// Finishes the step of a GRU. In step.gates, the update and reset gates lack only their activation, and gate 2 lacks
/// the part that comes from the state as well.
void activate_gru(const RnnShape& s, const CellWeights& w, CellValues& step) {
  const auto o = static_cast<std::size_t>(s.out);
  each_cell(s, [&](std::size_t, std::size_t gate) {
    step.gates[gate] = sigmoid(step.gates[gate]);
    step.gates[gate + o] = sigmoid(step.gates[gate + o]);
  });
  if (s.cell == RnnCell::gru) {
    const Values state = reset_state(s, step);
    add_product(s.batch, s.out, s.columns(), 2 * s.out, 3 * s.out, state.data(), w.iter, step.gates.data());
  } else {
    step.linear = zeros(s.batch * s.columns());
    add_product(s.batch, s.out, s.columns(), 2 * s.out, 3 * s.out, step.h_before.data(), w.iter, step.linear.data());
    each_cell(s, [&](std::size_t at, std::size_t gate) {
      double& linear = step.linear[gate + 2 * o];
      if (w.bias) linear += w.bias[3 * o + at % o];
      step.gates[gate + 2 * o] += step.gates[gate + o] * linear;
    });
  }
  each_cell(s, [&](std::size_t at, std::size_t gate) {
    const double update = step.gates[gate];
    double& candidate = step.gates[gate + 2 * o];
    candidate = std::tanh(candidate);
    step.h[at] = update * step.h_before[at] + (1 - update) * candidate;
  });
}

CellValues run_cell(const RnnShape& s, const CellWeights& w, Values x, Values h_before, Values c_before) {
  const int64_t in = static_cast<int64_t>(x.size()) / s.batch;
  CellValues step{std::move(x),
                  std::move(h_before),
                  std::move(c_before),
                  zeros(s.state()),
                  zeros(s.state()),
                  zeros(s.batch * s.columns()),
                  {},
                  {}};
  for (int64_t i = 0; w.bias && i < s.batch * s.columns(); ++i) {
    step.gates[static_cast<std::size_t>(i)] = w.bias[i % s.columns()];
  }
  const bool gru = s.cell == RnnCell::gru || s.cell == RnnCell::lbr_gru;
  add_product(s.batch, in, s.columns(), 0, s.columns(), step.x.data(), w.layer, step.gates.data());
  add_product(s.batch, s.given, s.columns(), 0, gru ? 2 * s.out : s.columns(), step.h_before.data(), w.iter,
              step.gates.data());
  if (gru) {
    activate_gru(s, w, step);
  } else if (s.cell == RnnCell::lstm) {
    activate_lstm(s, step);
    if (w.projection) project(s, w, step);
  } else {
    activate_vanilla(s, step);
  }
  return step;
}

/// Gradients that a cell passes back to the cell of the layer before (x) and to that of the step before (h and c).
struct DiffState {
  Values x, h, c;
};

/// Gradients of a cell's gates before activation: those that are multiplied with the weights of the layer's input, and
/// those that are multiplied with the weights of the state.
struct DiffGates {
  Values layer, iter;
};

DiffGates diff_vanilla(const RnnShape& s, const CellValues& step, const Values& diff_h) {
  Values out = diff_h;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double h = step.h[i];
    out[i] *= s.cell == RnnCell::vanilla_relu   ? (h > 0 ? 1 : 0)
              : s.cell == RnnCell::vanilla_tanh ? 1 - h * h
                                                : h * (1 - h);
  }
  return {out, out};
}

DiffGates diff_lstm(const RnnShape& s, const CellValues& step, const Values& diff_h, const Values& diff_c,
                    DiffState& before) {
  const auto o = static_cast<std::size_t>(s.out);
  Values out = zeros(s.batch * s.columns());
  each_cell(s, [&](std::size_t at, std::size_t gate) {
    const double *input = &step.gates[gate], *forget = input + o, *candidate = forget + o, *output = candidate + o;
    const double t = std::tanh(step.c[at]);
    const double dc = diff_c[at] + diff_h[at] * *output * (1 - t * t);
    out[gate] = dc * *candidate * *input * (1 - *input);
    out[gate + o] = dc * step.c_before[at] * *forget * (1 - *forget);
    out[gate + 2 * o] = dc * *input * (1 - *candidate * *candidate);
    out[gate + 3 * o] = diff_h[at] * t * *output * (1 - *output);
    before.c[at] = dc * *forget;
  });
  return {out, out};
}

DiffGates diff_gru(const RnnShape& s, const CellWeights& w, const CellValues& step, const Values& diff_h,
                   DiffState& before, const DiffWeights& dw) {
  const auto o = static_cast<std::size_t>(s.out);
  const bool lbr = s.cell == RnnCell::lbr_gru;
  Values layer = zeros(s.batch * s.columns());
  each_cell(s, [&](std::size_t at, std::size_t gate) {
    const double update = step.gates[gate], candidate = step.gates[gate + 2 * o];
    layer[gate] = diff_h[at] * (step.h_before[at] - candidate) * update * (1 - update);
    layer[gate + 2 * o] = diff_h[at] * (1 - update) * (1 - candidate * candidate);
    before.h[at] += diff_h[at] * update;
  });
  // The gradient of the reset gate comes from what the gate was multiplied with: in a GRU the state, in a
  // linear-before-reset GRU the linear part.
  Values diff_state = zeros(s.state());
  if (!lbr) {
    const Values state = reset_state(s, step);
    add_product_backward(s.batch, s.out, s.columns(), 2 * s.out, 3 * s.out, state.data(), w.iter, layer.data(),
                         diff_state.data(), dw.iter);
  }
  each_cell(s, [&](std::size_t at, std::size_t gate) {
    const double reset = step.gates[gate + o];
    const double diff_reset =
        lbr ? layer[gate + 2 * o] * step.linear[gate + 2 * o] : diff_state[at] * step.h_before[at];
    layer[gate + o] = diff_reset * reset * (1 - reset);
    before.h[at] += diff_state[at] * reset;
  });
  Values iter = layer;
  each_cell(s, [&](std::size_t at, std::size_t gate) {
    double& linear = iter[gate + 2 * o];
    linear = lbr ? linear * step.gates[gate + o] : 0;  // of a plain GRU it was passed on above
    if (lbr && dw.bias) dw.bias[3 * o + at % o] += linear;
  });
  return {layer, iter};
}

DiffState run_cell_backward(const RnnShape& s, const CellWeights& w, const CellValues& step, const Values& diff_h,
                            const Values& diff_c, const DiffWeights& dw) {
  DiffState before{Values(step.x.size(), 0), zeros(s.hidden()), zeros(s.state())};
  DiffGates gates;
  if (w.projection) {
    Values diff_wide = zeros(s.state());
    add_product_backward(s.batch, s.out, s.given, 0, s.given, step.wide.data(), w.projection, diff_h.data(),
                         diff_wide.data(), dw.projection);
    gates = diff_lstm(s, step, diff_wide, diff_c, before);
  } else if (s.cell == RnnCell::lstm) {
    gates = diff_lstm(s, step, diff_h, diff_c, before);
  } else if (s.cell == RnnCell::gru || s.cell == RnnCell::lbr_gru) {
    gates = diff_gru(s, w, step, diff_h, before, dw);
  } else {
    gates = diff_vanilla(s, step, diff_h);
  }
  const int64_t in = static_cast<int64_t>(step.x.size()) / s.batch;
  add_product_backward(s.batch, in, s.columns(), 0, s.columns(), step.x.data(), w.layer, gates.layer.data(),
                       before.x.data(), dw.layer);
  add_product_backward(s.batch, s.given, s.columns(), 0, s.columns(), step.h_before.data(), w.iter, gates.iter.data(),
                       before.h.data(), dw.iter);
  for (int64_t i = 0; dw.bias && i < s.batch * s.columns(); ++i) {
    dw.bias[i % s.columns()] += gates.layer[static_cast<std::size_t>(i)];
  }
  return before;
}

/// The time that a layer processes as its step number `step`.
int64_t time_of(const Evaluation& e, const RnnShape& s, int64_t direction, int64_t step) {
  const bool right_to_left = e.node.as<RnnAttributes>().direction == RnnDirection::right_to_left || direction == 1;
  return right_to_left ? s.time - 1 - step : step;
}

RnnShape shape_of(const Evaluation& e) {
  const Dims &x = e.src_dims(kLayer), &w = e.src_dims(kWeightsLayer);
  const RnnCell cell = e.node.as<RnnAttributes>().cell;
  const int64_t given = e.in(kProjection) ? e.src_dims(kProjection)[3] : w[4];
  return {cell, x[0], x[1], x[2], w[4], w[0], w[1], w[3], cell == RnnCell::lbr_gru ? w[3] + 1 : w[3], given};
}

/// The part of the weights (or of their gradients) that belongs to layer l and direction d.
template <typename W, typename T>
W part(const RnnShape& s, T* layer, T* iter, T* bias, T* projection, int64_t l, int64_t d) {
  const int64_t i = l * s.directions + d;
  const auto at = [&](T* all, int64_t size) { return all ? all + i * size : nullptr; };
  return {at(layer, s.in * s.columns()), at(iter, s.given * s.columns()), at(bias, s.bias_gates * s.out),
          at(projection, s.out * s.given)};
}

CellWeights weights_of(const Evaluation& e, const RnnShape& s, int64_t l, int64_t d) {
  return part<CellWeights>(s, e.in(kWeightsLayer), e.in(kWeightsIter), e.in(kBias), e.in(kProjection), l, d);
}

Values copied(const double* from, int64_t offset, int64_t size) {
  return from ? Values(from + offset, from + offset + size) : zeros(size);
}

/// Runs a stack of layers in one direction, and returns its steps: [layer][time].
std::vector<std::vector<CellValues>> run_stack(const Evaluation& e, const RnnShape& s, int64_t d) {
  std::vector<std::vector<CellValues>> out;
  for (int64_t l = 0; l < s.layers; ++l) {
    const int64_t part = l * s.directions + d, at = part * s.hidden(), at_c = part * s.state();
    Values h = copied(e.in(kIter), at, s.hidden()), c = copied(e.in(kIterC), at_c, s.state());
    std::vector<CellValues> steps(static_cast<std::size_t>(s.time));
    for (int64_t i = 0; i < s.time; ++i) {
      const int64_t t = time_of(e, s, d, i);
      const auto time = static_cast<std::size_t>(t);
      Values x = l == 0 ? copied(e.in(kLayer), t * s.batch * s.in, s.batch * s.in) : out.back()[time].h;
      steps[time] = run_cell(s, weights_of(e, s, l, d), std::move(x), std::move(h), std::move(c));
      h = steps[time].h;
      c = steps[time].c;
    }
    if (e.node.forward()) {
      if (e.has_dst(1)) std::copy(h.begin(), h.end(), e.out(1) + at);
      if (e.has_dst(2)) std::copy(c.begin(), c.end(), e.out(2) + at_c);
    }
    out.push_back(std::move(steps));
  }
  return out;
}

/// The offset in dst_layer of the result of direction d for batch element n at time t.
int64_t joined(const Evaluation& e, const RnnShape& s, int64_t t, int64_t n, int64_t d) {
  const bool concat = e.node.as<RnnAttributes>().direction == RnnDirection::bidirectional_concat;
  return (t * s.batch + n) * s.given * (concat ? 2 : 1) + (concat ? d * s.given : 0);
}

void run_stack_backward(const Evaluation& e, const RnnShape& s, int64_t d) {
  const std::vector<std::vector<CellValues>> steps = run_stack(e, s, d);
  std::vector<Values> diff(static_cast<std::size_t>(s.time),
                           zeros(s.hidden()));  // for each time, the gradient of the layer's result
  for (int64_t t = 0; e.in(kDiffDst) && t < s.time; ++t) {
    for (int64_t n = 0; n < s.batch; ++n) {
      std::copy_n(e.in(kDiffDst) + joined(e, s, t, n, d), s.given,
                  diff[static_cast<std::size_t>(t)].data() + n * s.given);
    }
  }
  for (int64_t l = s.layers - 1; l >= 0; --l) {
    const int64_t at = (l * s.directions + d) * s.hidden(), at_c = (l * s.directions + d) * s.state();
    Values h = copied(e.in(kDiffDst + 1), at, s.hidden()), c = copied(e.in(kDiffDst + 2), at_c, s.state());
    const auto dw =
        part<DiffWeights>(s, e.out(kWeightsLayer), e.out(kWeightsIter), e.out(kBias), e.out(kProjection), l, d);
    for (int64_t i = s.time - 1; i >= 0; --i) {
      const auto t = static_cast<std::size_t>(time_of(e, s, d, i));
      for (std::size_t j = 0; j < h.size(); ++j) h[j] += diff[t][j];
      const CellValues& step = steps[static_cast<std::size_t>(l)][t];
      DiffState before = run_cell_backward(s, weights_of(e, s, l, d), step, h, c, dw);
      h = std::move(before.h);
      c = std::move(before.c);
      diff[t] = std::move(before.x);
    }
    if (e.has_dst(kIter)) std::copy(h.begin(), h.end(), e.out(kIter) + at);
    if (e.has_dst(kIterC)) std::copy(c.begin(), c.end(), e.out(kIterC) + at_c);
  }
  for (int64_t t = 0; e.has_dst(kLayer) && t < s.time; ++t) {
    const Values& from = diff[static_cast<std::size_t>(t)];
    for (std::size_t j = 0; j < from.size(); ++j)
      e.out(kLayer)[static_cast<std::size_t>(t) * from.size() + j] += from[j];
  }
}

}  // namespace

void rnn(const Evaluation& e) {
  const RnnShape s = shape_of(e);
  for (int64_t d = 0; d < s.directions; ++d) {
    if (!e.node.forward()) {
      run_stack_backward(e, s, d);
      continue;
    }
    const std::vector<std::vector<CellValues>> steps = run_stack(e, s, d);
    for (int64_t t = 0; e.has_dst(0) && t < s.time; ++t) {
      const Values& h = steps.back()[static_cast<std::size_t>(t)].h;
      for (int64_t n = 0; n < s.batch; ++n) {
        for (int64_t o = 0; o < s.given; ++o) {
          e.out(0)[joined(e, s, t, n, d) + o] += h[static_cast<std::size_t>(n * s.given + o)];
        }
      }
    }
  }
}

}  // namespace relayout::graph::reference
