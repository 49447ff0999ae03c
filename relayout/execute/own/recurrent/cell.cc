// See cell.h.
#include "relayout/execute/own/recurrent/cell.h"

#include <algorithm>
#include <array>

#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::RnnCell;

namespace {

/// The columns of a thread are a multiple of so many, and a product of fewer multiplications is one thread's.
constexpr int64_t kColumns = 64, kOneThread = 1 << 17;

}  // namespace

Cell::Cell(RnnCell kind, int64_t out, int threads) : kind_(kind), out_(out), threads_(threads) {}

void Cell::run(const CellTime& time) const { kind_ == RnnCell::lstm ? run_lstm(time) : run_gru(time); }

void Cell::multiply(const MatrixProduct& p) const {
  if (threads_ == 1 || p.rows * p.inner * p.columns < kOneThread) return product_(p);
  // One piece for each thread: what reads b from start to end is slower on narrow pieces.
  struct State {
    const MatrixProduct& whole;
    ProductFunction function;
    int64_t columns;
  } state{p, product_, ceil_div(p.columns, threads_ * kColumns) * kColumns};
  cpu::parallel_for(
      run_options(threads_), ceil_div(p.columns, state.columns), 1,
      [](void* of, int64_t begin, int64_t end) {
        const State& s = *static_cast<State*>(of);
        MatrixProduct part = s.whole;
        part.b += begin * s.columns;
        part.out += begin * s.columns;
        part.columns = std::min(end * s.columns, part.columns) - begin * s.columns;
        s.function(part);
      },
      &state);
}

/// The product of the state by all recurrent weights, added to the gates.
MatrixProduct Cell::by_weights(const CellTime& time) const {
  return {.a = time.h, .b = time.weights, .out = time.gates, .rows = time.rows, .inner = out_, .columns = columns(),
          .a_row = out_, .b_row = columns(), .out_row = row()};
}

void Cell::run_lstm(const CellTime& time) const {
  multiply(by_weights(time));
  for (int64_t n = 0; n < time.rows; ++n) {
    float* i = time.gates + n * row();
    float *f = i + out_, *g = f + out_, *o = g + out_, *c = time.c + n * out_, *h = time.h + n * out_;
    apply(EltwiseAlgorithm::logistic, i, i, 2 * out_);
    apply(EltwiseAlgorithm::tanh, g, g, out_);
    apply(EltwiseAlgorithm::logistic, o, o, out_);
    apply(BinaryAlgorithm::mul, i, g, g, out_);
    apply(BinaryAlgorithm::mul, f, c, c, out_);
    apply(BinaryAlgorithm::add, c, g, c, out_);
    apply(EltwiseAlgorithm::tanh, c, h, out_);
    apply(BinaryAlgorithm::mul, o, h, h, out_);
  }
}

void Cell::run_gru(const CellTime& time) const {
  const bool lbr = kind_ == RnnCell::lbr_gru;
  MatrixProduct p = by_weights(time);
  if (lbr) {
    p.out = time.work;
    for (int64_t n = 0; n < time.rows; ++n) {
      float *all = time.work + n * row(), *linear = all + 2 * out_;
      std::fill_n(all, 2 * out_, 0.0f);
      time.bias ? std::copy_n(time.bias, out_, linear) : std::fill_n(linear, out_, 0.0f);
    }
  } else {
    p.columns = 2 * out_;
  }
  multiply(p);
  for (int64_t n = 0; n < time.rows; ++n) {
    float *g = time.gates + n * row(), *w = time.work + n * row();
    if (lbr) add(w, g, 2 * out_);
    apply(EltwiseAlgorithm::logistic, g, g, 2 * out_);
    // Gru: r h, from which the candidate comes; else r (h Wi + b').
    apply(BinaryAlgorithm::mul, g + out_, lbr ? w + 2 * out_ : time.h + n * out_, w + 2 * out_, out_);
    if (lbr) add(w + 2 * out_, g + 2 * out_, out_);
  }
  if (!lbr) {
    p.a = time.work + 2 * out_;
    p.a_row = row();
    p.b += 2 * out_;
    p.out += 2 * out_;
    p.columns = out_;
    multiply(p);
  }
  for (int64_t n = 0; n < time.rows; ++n) {
    float *g = time.gates + n * row(), *candidate = g + 2 * out_, *state = time.h + n * out_;
    apply(EltwiseAlgorithm::tanh, candidate, candidate, out_);
    // c + u (h - c)
    apply(BinaryAlgorithm::sub, state, candidate, state, out_);
    apply(BinaryAlgorithm::mul, state, g, state, out_);
    add(candidate, state, out_);
  }
}

void Cell::apply(BinaryAlgorithm algorithm, const float* a, const float* b, float* to, int64_t n) const {
  const std::array<const float*, 2> src{a, b};
  lanes_.of(algorithm)(src.data(), to, n, 0, 0);
}

void Cell::apply(EltwiseAlgorithm algorithm, const float* from, float* to, int64_t n) const {
  const std::array<const float*, 1> src{from};
  lanes_.of(algorithm)(src.data(), to, n, 0, 0);
}

}  // namespace relayout::execute
