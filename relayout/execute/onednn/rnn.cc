// Recurrent cells: vanilla, LSTM, projected LSTM, GRU and linear-before-reset GRU.
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

/// The descriptor of source i (in the order of graph.h), or of the zeros that replace an absent one.
dnnl::memory::desc of(const Request& r, std::size_t i) {
  static constexpr int kArgs[] = {DNNL_ARG_SRC_LAYER,          DNNL_ARG_SRC_ITER,       DNNL_ARG_SRC_ITER_C,
                                  DNNL_ARG_WEIGHTS_LAYER,      DNNL_ARG_WEIGHTS_ITER,   DNNL_ARG_BIAS,
                                  DNNL_ARG_WEIGHTS_PROJECTION, DNNL_ARG_DST_LAYER,      DNNL_ARG_DST_ITER,
                                  DNNL_ARG_DST_ITER_C,         DNNL_ARG_DIFF_DST_LAYER, DNNL_ARG_DIFF_DST_ITER,
                                  DNNL_ARG_DIFF_DST_ITER_C};
  if (r.has_src(i)) return r.src(i);
  for (const MissingSource& missing : missing_sources(r.graph, r.node)) {
    if (missing.arg == kArgs[i]) return missing.desc;
  }
  return {};
}

/// The descriptor of source i's gradient. The library computes it even if the graph does not use it.
dnnl::memory::desc diff_of(const Request& r, std::size_t i) { return r.has_dst(i) ? r.dst(i) : of(r, i); }

/// The descriptor of an LSTM's final state. The library computes both final states, or none.
dnnl::memory::desc state(const Request& r, std::size_t i) {
  if (r.has_dst(i) || !r.has_dst(3 - i)) return r.dst(i);
  Dims dims = r.dst_dims(3 - i);
  dims[3] = i == 1 && r.has_src(kRnnProjection) ? r.src_dims(kRnnProjection)[3] : r.src_dims(3)[4];
  return {dims_of(dims), dnnl::memory::data_type::f32, dnnl::memory::format_tag::ldnc};
}

/// Creates a cell without a cell state. Its sources are src_layer, src_iter, none, weights_layer, weights_iter, bias
/// and none; backward also the forward pass's three destinations and their three gradients. `first` is the activation,
/// if the cell has a choice.
template <typename Forward, typename Backward, typename... First>
Found create_cell(const Request& r, const First&... first) {
  const dnnl::rnn_direction direction = direction_of(r.node.as<RnnAttributes>().direction);
  if (r.node.forward()) {
    return make<Forward>(r.maker, r.prop(), first..., direction, r.src(0), of(r, 1), r.src(3), r.src(4), of(r, 5),
                         r.dst(0), r.dst(1));
  }
  return make_backward<Backward, Forward>(r.maker, kBackward, first..., direction, r.src(0), of(r, 1), r.src(3),
                                          r.src(4), of(r, 5), r.src(7), of(r, 8), r.dst(0), diff_of(r, 1), r.dst(3),
                                          r.dst(4), diff_of(r, 5), of(r, 10), of(r, 11));
}

Found create_lstm(const Request& r) {
  const dnnl::rnn_direction direction = direction_of(r.node.as<RnnAttributes>().direction);
  if (r.node.forward()) {
    return make<dnnl::lstm_forward>(r.maker, r.prop(), direction, r.src(0), of(r, 1), of(r, 2), r.src(3), r.src(4),
                                    of(r, 5), r.dst(0), state(r, 1), state(r, 2));
  }
  return make_backward<dnnl::lstm_backward, dnnl::lstm_forward>(
      r.maker, kBackward, direction, r.src(0), of(r, 1), of(r, 2), r.src(3), r.src(4), of(r, 5), r.src(7), of(r, 8),
      of(r, 9), r.dst(0), diff_of(r, 1), diff_of(r, 2), r.dst(3), r.dst(4), diff_of(r, 5), of(r, 10), of(r, 11),
      of(r, 12));
}

/// The same with a projection; there are no peepholes.
Found create_projected_lstm(const Request& r) {
  const dnnl::rnn_direction direction = direction_of(r.node.as<RnnAttributes>().direction);
  const dnnl::memory::desc none;
  if (r.node.forward()) {
    return make<dnnl::lstm_forward>(r.maker, r.prop(), direction, r.src(0), of(r, 1), of(r, 2), r.src(3), r.src(4),
                                    none, r.src(kRnnProjection), of(r, 5), r.dst(0), state(r, 1), state(r, 2));
  }
  return make_backward<dnnl::lstm_backward, dnnl::lstm_forward>(
      r.maker, kBackward, direction, r.src(0), of(r, 1), of(r, 2), r.src(3), r.src(4), none, r.src(kRnnProjection),
      of(r, 5), r.src(7), of(r, 8), of(r, 9), r.dst(0), diff_of(r, 1), diff_of(r, 2), r.dst(3), r.dst(4), none,
      diff_of(r, kRnnProjection), diff_of(r, 5), of(r, 10), of(r, 11), of(r, 12));
}

}  // namespace

Found create_rnn(const Request& r) {
  const RnnCell cell = r.node.as<RnnAttributes>().cell;
  switch (cell) {
    case RnnCell::lstm: return r.has_src(kRnnProjection) ? create_projected_lstm(r) : create_lstm(r);
    case RnnCell::gru: return create_cell<dnnl::gru_forward, dnnl::gru_backward>(r);
    case RnnCell::lbr_gru: return create_cell<dnnl::lbr_gru_forward, dnnl::lbr_gru_backward>(r);
    default: return create_cell<dnnl::vanilla_rnn_forward, dnnl::vanilla_rnn_backward>(r, activation_of(cell));
  }
}

}  // namespace relayout::execute
