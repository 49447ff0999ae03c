// One time of a recurrent cell (internal to execute).
#pragma once

#include <cstdint>

#include "relayout/core/extents.h"
#include "relayout/execute/own/elementwise/lanes.h"
#include "relayout/execute/own/product/product.h"

namespace relayout::execute {

/// What a cell reads and writes at one time, for some rows of the batch; all dense.
struct CellTime {
  int64_t rows = 0;
  const float* weights = nullptr;  // recurrent, of out x gates x out elements
  const float* bias = nullptr;     // of lbr_gru, the row that is added to the linear part; null without a bias
  float* gates = nullptr;          // rows of Cell::row() elements, gates x out of them used: what comes from the
                                   // sources and the bias; overwritten
  float* work = nullptr;           // likewise; not of lstm
  float* h = nullptr;              // rows x out: the state before; becomes the state after
  float* c = nullptr;              // of lstm, likewise
};

/// lstm, gru or lbr_gru of f32. With `gates` as they come from the sources, and all products by the recurrent weights
/// added (lstm has input i, forget f, candidate g, output o):
///
///     c = logistic(f) c + logistic(i) tanh(g),  h = logistic(o) tanh(c)                       lstm
///     h = u h + (1 - u) tanh(candidate),  u = logistic(update),  r = logistic(reset)          gru, lbr_gru
///
/// The candidate of gru has the product by r h; that of lbr_gru has r times the product by h, which needs no r before.
class Cell {
 public:
  Cell(graph::RnnCell kind, int64_t out, int threads);

  /// Elements of all gates.
  int64_t columns() const { return (kind_ == graph::RnnCell::lstm ? 4 : 3) * out_; }
  /// Elements from one row of them to the next in CellTime. Rows of a KiB and more begin an odd number of KiB apart, so
  /// that no four begin at the same place of a page, where a processor takes a read of one for a read of what it has
  /// just written to another. Shorter rows begin at lines.
  int64_t row() const {
    if (columns() < kQuarterPage) return ceil_div(columns(), kLine) * kLine;
    return (ceil_div(columns(), kQuarterPage) | 1) * kQuarterPage;
  }
  void run(const CellTime& time) const;
  /// A product, its columns shared by the threads.
  void multiply(const MatrixProduct& product) const;
  /// to += from.
  void add(const float* from, float* to, int64_t n) const { apply(graph::BinaryAlgorithm::add, to, from, to, n); }

 private:
  static constexpr int64_t kQuarterPage = 256, kLine = 16;  // f32

  MatrixProduct by_weights(const CellTime& time) const;
  void run_lstm(const CellTime& time) const;
  void run_gru(const CellTime& time) const;
  void apply(graph::BinaryAlgorithm algorithm, const float* a, const float* b, float* to, int64_t n) const;
  void apply(graph::EltwiseAlgorithm algorithm, const float* from, float* to, int64_t n) const;

  graph::RnnCell kind_;
  int64_t out_;
  int threads_;
  const LaneTable<float>& lanes_ = vector_lanes();
  ProductFunction product_ = product_function();
};

}  // namespace relayout::execute
