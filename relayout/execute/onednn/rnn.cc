// Recurrent cells: vanilla, LSTM, GRU and linear-before-reset GRU.
#include "relayout/execute/onednn/primitive.h"

namespace relayout::execute {

using graph::RnnAttributes;
using graph::RnnCell;
using graph::RnnDirection;

namespace {

dnnl::rnn_direction direction_of(RnnDirection direction) {
  switch (direction) {
    case RnnDirection::right_to_left: return dnnl::rnn_direction::unidirectional_right2left;
    case RnnDirection::bidirectional_concat: return dnnl::rnn_direction::bidirectional_concat;
    case RnnDirection::bidirectional_sum: return dnnl::rnn_direction::bidirectional_sum;
    default: return dnnl::rnn_direction::unidirectional_left2right;
  }
}

dnnl::algorithm activation_of(RnnCell cell) {
  switch (cell) {
    case RnnCell::vanilla_relu: return dnnl::algorithm::eltwise_relu;
    case RnnCell::vanilla_sigmoid: return dnnl::algorithm::eltwise_logistic;
    default: return dnnl::algorithm::eltwise_tanh;
  }
}

constexpr auto kBackward = dnnl::prop_kind::backward;

/// Cells without a cell state. Sources: src_layer src_iter - weights_layer weights_iter bias, then backward the
/// forward's destinations and their gradients, three each. `first` is the activation, where the cell has one.
template <typename Forward, typename Backward, typename... First>
Found create_cell(const Request& r, const First&... first) {
  const dnnl::rnn_direction direction = direction_of(r.node.as<RnnAttributes>().direction);
  if (r.node.forward()) {
    return make<Forward>(r.maker, r.prop(), first..., direction, r.src(0), r.src(1), r.src(3), r.src(4), r.src(5),
                         r.dst(0), r.dst(1));
  }
  return make_backward<Backward, Forward>(r.maker, kBackward, first..., direction, r.src(0), r.src(1), r.src(3),
                                          r.src(4), r.src(5), r.src(6), r.src(7), r.dst(0), r.dst(1), r.dst(3),
                                          r.dst(4), r.dst(5), r.src(9), r.src(10));
}

Found create_lstm(const Request& r) {
  const dnnl::rnn_direction direction = direction_of(r.node.as<RnnAttributes>().direction);
  if (r.node.forward()) {
    return make<dnnl::lstm_forward>(r.maker, r.prop(), direction, r.src(0), r.src(1), r.src(2), r.src(3), r.src(4),
                                    r.src(5), r.dst(0), r.dst(1), r.dst(2));
  }
  return make_backward<dnnl::lstm_backward, dnnl::lstm_forward>(
      r.maker, kBackward, direction, r.src(0), r.src(1), r.src(2), r.src(3), r.src(4), r.src(5), r.src(6), r.src(7),
      r.src(8), r.dst(0), r.dst(1), r.dst(2), r.dst(3), r.dst(4), r.dst(5), r.src(9), r.src(10), r.src(11));
}

}  // namespace

Found create_rnn(const Request& r) {
  const RnnCell cell = r.node.as<RnnAttributes>().cell;
  switch (cell) {
    case RnnCell::lstm: return create_lstm(r);
    case RnnCell::gru: return create_cell<dnnl::gru_forward, dnnl::gru_backward>(r);
    case RnnCell::lbr_gru: return create_cell<dnnl::lbr_gru_forward, dnnl::lbr_gru_backward>(r);
    default: return create_cell<dnnl::vanilla_rnn_forward, dnnl::vanilla_rnn_backward>(r, activation_of(cell));
  }
}

}  // namespace relayout::execute
