// Recurrent networks: vanilla, LSTM, projected LSTM and GRU, of several layers and directions.
#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

int64_t gates(RnnCell cell) {
  switch (cell) {
    case RnnCell::lstm: return 4;
    case RnnCell::gru:
    case RnnCell::lbr_gru: return 3;
    case RnnCell::vanilla_relu:
    case RnnCell::vanilla_tanh:
    case RnnCell::vanilla_sigmoid: break;
  }
  return 1;
}

/// The channels of the results and of the hidden state: those of the cell, or what a projection makes of them.
/// `expected` are its dims but the last.
int64_t projected_channels(const Operands& of, int projection, const Dims& expected, bool lstm) {
  if (!of.has(projection)) return expected[2];
  const Dims& dims = of.src(projection).dims;
  if (!lstm) refuse(of.node, "weights_projection", join(dims), "none, as only lstm has it");
  of.expect_rank(projection, "weights_projection", 4, 4);
  of.expect_dims(projection, "weights_projection", {expected[0], expected[1], expected[2], dims[3]});
  return dims[3];
}

}  // namespace

Specs infer_rnn(const Operands& of) {
  const RnnAttributes& a = of.node.as<RnnAttributes>();
  enum { src_layer, src_iter, src_iter_c, weights_layer, weights_iter, bias, weights_projection };
  of.expect_rank(src_layer, "src_layer", 3, 3);
  of.expect_rank(weights_layer, "weights_layer", 5, 5);
  const Tensor& src = of.src(src_layer);
  const Dims& weights = of.src(weights_layer).dims;
  const int64_t times = src.dims[0], batch = src.dims[1], src_channels = src.dims[2];
  const int64_t layers = weights[0], channels = weights[4];
  const std::pair<int, const char*> all_weights[] = {
      {weights_layer, "weights_layer"}, {weights_iter, "weights_iter"}, {weights_projection, "weights_projection"}};
  for (const auto& [i, operand] : all_weights) {
    if (!of.has(i) || (is_floating(src.dtype) && of.src(i).dtype == src.dtype)) continue;
    refuse(of.node, operand, std::string(name(of.src(i).dtype)) + " with a source of " + std::string(name(src.dtype)),
           "the floating type of the source");
  }
  const bool both = a.direction >= RnnDirection::bidirectional_concat;
  const int64_t directions = both ? 2 : 1;
  if (times < 1) refuse(of.node, "src_layer", join(src.dims), "1 time step or more");
  if (layers < 1) refuse(of.node, "weights_layer", join(weights), "1 layer or more");
  of.expect_dims(weights_layer, "weights_layer", {layers, directions, src_channels, gates(a.cell), channels});
  const bool lstm = a.cell == RnnCell::lstm;
  const int64_t given = projected_channels(of, weights_projection, {layers, directions, channels}, lstm);
  of.expect_dims(weights_iter, "weights_iter", {layers, directions, given, gates(a.cell), channels});
  // The layers share one tensor of weights, so that each takes as many channels as it gives.
  if (layers > 1 && src_channels != given) {
    refuse(of.node, "src_layer", join(src.dims),
           std::to_string(given) + " channels, as " + std::to_string(layers) + " layers share their weights' dims");
  }
  const int64_t biases = gates(a.cell) + (a.cell == RnnCell::lbr_gru ? 1 : 0);
  of.expect_dims(bias, "bias", {layers, directions, biases, channels});
  const Dims state{layers, directions, batch, given}, cell_state{layers, directions, batch, channels};
  of.expect_dims(src_iter, "src_iter", state);
  of.expect_dims(src_iter_c, "src_iter_c", cell_state);
  if (of.has(src_iter_c) && !lstm) refuse(of.node, "src_iter_c", join(cell_state), "none, as only lstm has it");
  const DType dtype = src.dtype;
  const bool concat = a.direction == RnnDirection::bidirectional_concat;
  const int64_t dst_channels = fitting(of.node, "channels of dst_layer", Wide{given} * (concat ? 2 : 1), 0);
  Specs out{{{times, batch, dst_channels}, dtype}, {state, dtype}};
  if (lstm) out.push_back({cell_state, of.has(src_iter_c) ? of.src(src_iter_c).dtype : dtype});
  return out;
}

}  // namespace relayout::graph
