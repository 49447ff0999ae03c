// The arguments of every kind, and the function that makes its primitive descriptor.
#include "relayout/execute/onednn/primitive.h"

#include "relayout/graph/ir/ops.h"

namespace relayout::execute {

using graph::Kind;
using graph::kNone;
using graph::Node;
using graph::Pass;

namespace {

Arguments rnn_arguments(bool forward) {
  Arguments out{{DNNL_ARG_SRC_LAYER, DNNL_ARG_SRC_ITER, DNNL_ARG_SRC_ITER_C, DNNL_ARG_WEIGHTS_LAYER,
                 DNNL_ARG_WEIGHTS_ITER, DNNL_ARG_BIAS, DNNL_ARG_WEIGHTS_PROJECTION},
                {DNNL_ARG_DST_LAYER, DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C}};
  if (forward) return out;
  for (int arg : {DNNL_ARG_DST_LAYER, DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C, DNNL_ARG_DIFF_DST_LAYER,
                  DNNL_ARG_DIFF_DST_ITER, DNNL_ARG_DIFF_DST_ITER_C}) {
    out.src.push_back(arg);
  }
  out.dst = {DNNL_ARG_DIFF_SRC_LAYER,         DNNL_ARG_DIFF_SRC_ITER,     DNNL_ARG_DIFF_SRC_ITER_C,
             DNNL_ARG_DIFF_WEIGHTS_LAYER,     DNNL_ARG_DIFF_WEIGHTS_ITER, DNNL_ARG_DIFF_BIAS,
             DNNL_ARG_DIFF_WEIGHTS_PROJECTION};
  return out;
}

/// The arguments of all operands that a kind can have, in the order of the table in graph.h.
Arguments all_arguments(const Node& node) {
  const bool forward = node.forward();
  switch (node.kind) {
    case Kind::convolution:
    case Kind::deconvolution:
    case Kind::inner_product:
    case Kind::matmul:
      if (node.pass == Pass::backward_data) return {{DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS}, {DNNL_ARG_DIFF_SRC}};
      if (node.pass == Pass::backward_weights) {
        return {{DNNL_ARG_SRC, DNNL_ARG_DIFF_DST}, {DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS}};
      }
      return {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS}, {DNNL_ARG_DST}};
    case Kind::rnn: return rnn_arguments(node.forward());
    case Kind::batch_normalization:
    case Kind::layer_normalization:
      if (!forward) {
        return {{DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_DIFF_DST},
                {DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT}};
      }
      return {{DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE},
              {DNNL_ARG_DST, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE}};
    case Kind::softmax:
      if (!forward) return {{DNNL_ARG_DST, DNNL_ARG_DIFF_DST}, {DNNL_ARG_DIFF_SRC}};
      return {{DNNL_ARG_SRC}, {DNNL_ARG_DST}};
    case Kind::eltwise:
    case Kind::lrn: {
      const bool by_dst = node.kind == Kind::eltwise &&
                          node.as<graph::EltwiseAttributes>().algorithm >= graph::EltwiseAlgorithm::relu_dst;
      if (!forward) return {{by_dst ? DNNL_ARG_DST : DNNL_ARG_SRC, DNNL_ARG_DIFF_DST}, {DNNL_ARG_DIFF_SRC}};
      return {{DNNL_ARG_SRC}, {DNNL_ARG_DST}};
    }
    case Kind::prelu:
      if (!forward) {
        return {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST}, {DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_WEIGHTS}};
      }
      return {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS}, {DNNL_ARG_DST}};
    case Kind::concat:
    case Kind::sum: {
      Arguments many{{}, {DNNL_ARG_DST}};
      for (std::size_t i = 0; i < node.src.size(); ++i) {
        many.src.push_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i));
      }
      return many;
    }
    case Kind::binary: return {{DNNL_ARG_SRC_0, DNNL_ARG_SRC_1}, {DNNL_ARG_DST}};
    default:
      if (!forward) return {{DNNL_ARG_DIFF_DST}, {DNNL_ARG_DIFF_SRC}};
      return {{DNNL_ARG_SRC}, {DNNL_ARG_DST}};
  }
}

}  // namespace

Arguments arguments(const graph::Graph&, const Node& node) {
  Arguments out = all_arguments(node);
  out.src.resize(node.src.size());
  out.dst.resize(node.dst.size());
  for (std::size_t i = 0; i < node.src.size(); ++i) {
    if (node.src[i] == kNone || i >= node.own_sources()) out.src[i] = 0;
  }
  for (std::size_t i = 0; i < node.dst.size(); ++i) {
    if (node.dst[i] == kNone) out.dst[i] = 0;
  }
  return out;
}

std::vector<MissingSource> missing_sources(const graph::Graph& graph, const Node& node) {
  using Type = dnnl::memory::data_type;
  using Tag = dnnl::memory::format_tag;
  auto has = [&](std::size_t i) { return i < node.src.size() && node.src[i] != kNone; };
  if (node.kind == Kind::rnn) {
    const auto cell = node.as<graph::RnnAttributes>().cell;
    const Dims& weights = graph.tensor(node.src[3]).dims;
    const int64_t layers = weights[0], directions = weights[1], channels = weights[4];
    const int64_t batch = graph.tensor(node.src[0]).dims[1];
    std::vector<MissingSource> out;
    auto add_zeros = [&](std::size_t i, int arg, const dnnl::memory::dims& dims, Tag tag) {
      if (!has(i)) out.push_back({arg, dnnl::memory::desc(dims, Type::f32, tag), 0});
    };
    // All cells need a bias, and gradients of several layers are wrong without states. So the library gets zeros for
    // these.
    const int64_t biases = weights[3] + (cell == graph::RnnCell::lbr_gru ? 1 : 0);
    add_zeros(5, DNNL_ARG_BIAS, {layers, directions, biases, channels}, Tag::ldgo);
    // The hidden state has the channels of a projection, the cell state those of the cell.
    const int64_t given = has(kRnnProjection) ? graph.tensor(node.src[kRnnProjection]).dims[3] : channels;
    const dnnl::memory::dims state{layers, directions, batch, given}, cell_state{layers, directions, batch, channels};
    const bool training = node.pass != Pass::forward_inference, lstm = cell == graph::RnnCell::lstm;
    // An LSTM has both states or none.
    if (training || has(2)) add_zeros(1, DNNL_ARG_SRC_ITER, state, Tag::ldnc);
    if (lstm && (training || has(1))) add_zeros(2, DNNL_ARG_SRC_ITER_C, cell_state, Tag::ldnc);
    if (node.forward()) return out;
    // The library wants a gradient for every result of the forward pass.
    const Dims& dst = graph.tensor(node.src[7]).dims;
    const bool states = has(8) || has(9);
    add_zeros(10, DNNL_ARG_DIFF_DST_LAYER, {dst[0], dst[1], dst[2]}, Tag::tnc);
    if (states) add_zeros(8, DNNL_ARG_DST_ITER, state, Tag::ldnc);
    if (states) add_zeros(11, DNNL_ARG_DIFF_DST_ITER, state, Tag::ldnc);
    if (states && lstm) add_zeros(9, DNNL_ARG_DST_ITER_C, cell_state, Tag::ldnc);
    if (states && lstm) add_zeros(12, DNNL_ARG_DIFF_DST_ITER_C, cell_state, Tag::ldnc);
    return out;
  }
  if (const int64_t zero = graph::src_zero_point(node); kZeroPointIsArgument && zero != 0) {
    return {{DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, dnnl::memory::desc({1}, Type::s32, Tag::a),
             static_cast<float>(zero)}};
  }
  const bool normalizes = node.kind == Kind::batch_normalization || node.kind == Kind::layer_normalization;
  if (kBackwardTakesShift && normalizes && !node.forward() && node.dst.size() > 2 && node.dst[2] != kNone) {
    const Dims& shift = graph.tensor(node.dst[2]).dims;
    return {{DNNL_ARG_SHIFT, dnnl::memory::desc({shift[0]}, Type::f32, Tag::a), 0}};
  }
  return {};
}

Found create(const Request& request) {
  switch (request.node.kind) {
    case Kind::convolution: return create_convolution(request);
    case Kind::deconvolution: return create_deconvolution(request);
    case Kind::matmul: return create_matmul(request);
    case Kind::inner_product: return create_inner_product(request);
    case Kind::rnn: return create_rnn(request);
    case Kind::pooling: return create_pooling(request);
    case Kind::batch_normalization: return create_batch_normalization(request);
    case Kind::layer_normalization: return create_layer_normalization(request);
    case Kind::lrn: return create_lrn(request);
    case Kind::eltwise: return create_eltwise(request);
    case Kind::prelu: return create_prelu(request);
    case Kind::shuffle: return create_shuffle(request);
    case Kind::softmax: return create_softmax(request);
    case Kind::resampling: return create_resampling(request);
    case Kind::reduction: return create_reduction(request);
    case Kind::concat: return create_concat(request);
    case Kind::sum: return create_sum(request);
    case Kind::binary: return create_binary(request);
    default: return {};
  }
}

dnnl::memory::dims dims_of(const Dims& dims, int64_t offset) {
  dnnl::memory::dims out;
  for (int64_t value : dims) out.push_back(value + offset);
  return out;
}

}  // namespace relayout::execute
