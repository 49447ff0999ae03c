// Random small graphs for tests: every differentiable kind over tensors of four dims, parameters as inputs.
//
//     RandomGraph random(seed, 6);              // values in random.values, one a graph input
//     evaluate(random.graph, random.values);
//
// Those of inference have many products and elementwise nodes behind each other, which fuse() merges.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/support/nodes.h"

namespace relayout::test {

using namespace graph;

inline int64_t elements(const Graph& graph, TensorId t) { return checked_product(graph.tensor(t).dims).value(); }

/// A graph of at most `nodes` nodes over tensors of one floating type. Tensors that grow large are not read again.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed, int nodes, DType dtype = DType::f64, Pass pass = Pass::forward_training)
      : rng_(seed), dtype_(dtype) {
    graph.pass = pass;
    pool_.push_back(input({pick(1, 2), 2 * pick(1, 2), pick(2, 4), pick(2, 4)}));
    for (int i = 0; i < nodes; ++i) {
      const bool merges = inference() && toss();
      const auto kind = static_cast<std::size_t>(merges ? kMerged[pick(0, std::ssize(kMerged) - 1)]
                                                        : pick(0, std::ssize(kOperations) - 1));
      const TensorId x = merges ? pool_.back() : pool_[static_cast<std::size_t>(pick(0, std::ssize(pool_) - 1))];
      if (elements(graph, x) > 200) continue;
      pool_.push_back((this->*kOperations[kind])(x));
      used[kind] = true;
    }
    graph.output(pool_.back());
    if (pool_.size() > 2) graph.output(pool_[pool_.size() / 2]);
  }

  Graph graph;
  std::vector<Values> values;  // of the inputs

  using Operation = TensorId (RandomGraph::*)(TensorId);
  static const std::vector<Operation> kOperations;
  std::vector<bool> used = std::vector<bool>(kOperations.size(), false);

 private:
  /// Places in kOperations of what fuse() merges: convolution, deconvolution, matmul, eltwise (twice), sum, binary.
  static constexpr int kMerged[] = {0, 1, 2, 10, 10, 17, 18};
  bool inference() const { return graph.pass == Pass::forward_inference; }
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }
  bool toss() { return pick(0, 1) == 1; }
  const Dims& dims(TensorId t) const { return graph.tensor(t).dims; }

  TensorId input(const Dims& dims, double low = -1, double high = 1) {
    const TensorId out = graph.input("x" + std::to_string(graph.inputs.size()), dims, dtype_);
    values.push_back(random_values(elements(graph, out), rng_, low, high));
    return out;
  }
  TensorId one(Kind kind, NodeAttributes attributes, std::vector<TensorId> src) {
    return graph.add(kind, std::move(attributes), std::move(src))[0];
  }
  TensorId reshaped(TensorId x, const Dims& to) { return graph.reshape(x, to); }

  TensorId convolution(TensorId x) {
    const int64_t c = dims(x)[1], groups = c % 2 == 0 && toss() ? 2 : 1, o = groups * pick(1, 2), k = pick(1, 2);
    const Dims w = groups > 1 ? Dims{groups, o / groups, c / groups, k, 2} : Dims{o, c, k, 2};
    ConvolutionAttributes a{.strides = {pick(1, 2), pick(1, 2)}, .pads_begin = {1, 1}, .pads_end = {1, 0}};
    a.groups = groups;
    const TensorId weights = input(w), bias = toss() ? input({o}) : kNone;
    return graph.convolution(x, weights, bias, a);
  }
  TensorId deconvolution(TensorId x) {
    const int64_t o = pick(1, 2), stride = pick(1, 2);
    const TensorId weights = input({o, dims(x)[1], 2, 1}), bias = toss() ? input({o}) : kNone;
    return graph.deconvolution(x, weights, bias, {.strides = {stride, 1}, .output_padding = {stride - 1, 0}});
  }
  TensorId matmul(TensorId x) {
    const Dims& d = dims(x);
    const TensorId b = input({1, toss() ? d[1] : 1, d[3], pick(1, 3)});
    return graph.matmul(x, b, toss() ? input({dims(b)[3]}) : kNone);
  }
  TensorId matmul_of_parameters(TensorId x) {
    const Dims& d = dims(x);
    return graph.matmul(input({d[0], 1, pick(1, 3), d[2]}), x);
  }
  TensorId inner_product(TensorId x) {
    const Dims d = dims(x);
    const int64_t o = 2 * pick(1, 2);
    const TensorId y = graph.inner_product(x, input({o, d[1], d[2], d[3]}), toss() ? input({o}) : kNone);
    return reshaped(y, {d[0], o, 1, 1});
  }
  TensorId rnn(TensorId x) {
    const Dims d = dims(x);
    const auto cell = static_cast<RnnCell>(pick(0, 5));
    const auto direction = static_cast<RnnDirection>(pick(0, 3));
    const bool both = direction >= RnnDirection::bidirectional_concat, lstm = cell == RnnCell::lstm;
    const int64_t two = both ? 2 : 1, gates = lstm ? 4 : cell >= RnnCell::gru ? 3 : 1, o = pick(1, 2);
    const TensorId sequence = reshaped(x, {d[1], d[0], d[2] * d[3]});
    const int64_t given = lstm && toss() ? pick(1, 2) : 0, hidden = given > 0 ? given : o;
    const TensorId projection = given > 0 ? input({1, two, o, given}) : kNone;
    const TensorId h = toss() ? input({1, two, d[0], hidden}) : kNone;
    const TensorId c = h != kNone && lstm ? input({1, two, d[0], o}) : kNone;
    const TensorId w = input({1, two, d[2] * d[3], gates, o}), u = input({1, two, hidden, gates, o});
    const TensorId bias = toss() ? input({1, two, cell == RnnCell::lbr_gru ? 4 : gates, o}) : kNone;
    Node node{.kind = Kind::rnn,
              .pass = graph.pass,
              .attributes = RnnAttributes{cell, direction},
              .src = {sequence, h, c, w, u, bias, projection}};
    const std::vector<TensorId> dst = graph.add(node, 2);
    if (toss()) return reshaped(dst[1], {d[0], two, hidden, 1});
    return reshaped(dst[0], {d[0], d[1], dims(dst[0])[2], 1});
  }
  TensorId pooling(TensorId x) {
    const auto algorithm = static_cast<PoolingAlgorithm>(pick(0, 2));
    if (pick(0, 4) == 0) return graph.pooling(x, {.algorithm = algorithm});
    return graph.pooling(x, {.algorithm = algorithm, .kernel = {2, 2}, .pads_begin = {1, 0}, .pads_end = {0, 1}});
  }
  TensorId batch_normalization(TensorId x) {
    const int64_t c = dims(x)[1];
    const TensorId scale = toss() ? input({c}) : kNone, shift = toss() ? input({c}) : kNone;
    std::vector<TensorId> src = {x, scale, shift};
    if (inference()) src.insert(src.end(), {input({c}), input({c}, 0.5, 2)});
    return one(Kind::batch_normalization, NormalizationAttributes{.epsilon = 0.5}, src);
  }
  TensorId layer_normalization(TensorId x) {
    const int axis = static_cast<int>(pick(1, 3));
    int64_t size = 1;
    for (int d = axis; d < 4; ++d) size *= dims(x)[d];
    const TensorId scale = toss() ? input({size}) : kNone, shift = toss() ? input({size}) : kNone;
    return one(Kind::layer_normalization, NormalizationAttributes{0.5, axis - 4}, {x, scale, shift});
  }
  TensorId lrn(TensorId x) { return one(Kind::lrn, LrnAttributes{toss(), pick(1, 4), 0.5, 0.75, 1}, {x}); }
  TensorId eltwise(TensorId x) {
    using A = EltwiseAlgorithm;
    static constexpr A kSafe[] = {A::relu,         A::tanh,     A::elu,         A::square,    A::abs,        A::linear,
                                  A::bounded_relu, A::logistic, A::clip,        A::gelu_tanh, A::gelu_erf,   A::swish,
                                  A::mish,         A::relu_dst, A::exp,         A::tanh_dst,  A::logsigmoid, A::elu_dst,
                                  A::logistic_dst, A::exp_dst,  A::clip_v2_dst, A::hardswish, A::soft_relu};
    EltwiseAttributes a{kSafe[pick(0, std::ssize(kSafe) - 1)], 0.3, 0.6};
    if (a.algorithm == A::clip || a.algorithm == A::clip_v2_dst) a.alpha = -1;
    if (a.algorithm == A::exp || a.algorithm == A::exp_dst) x = graph.eltwise(x, {A::tanh});
    return graph.eltwise(x, a);
  }
  TensorId prelu(TensorId x) {
    return one(Kind::prelu, PreluAttributes{}, {x, input({1, dims(x)[1], toss() ? dims(x)[2] : 1, 1})});
  }
  TensorId shuffle(TensorId x) {
    return one(Kind::shuffle, ShuffleAttributes{.groups = dims(x)[1] % 2 == 0 ? 2 : 1}, {x});
  }
  TensorId softmax(TensorId x) { return graph.softmax(x, {.axis = static_cast<int>(pick(0, 3)), .log = toss()}); }
  TensorId resampling(TensorId x) {
    const auto algorithm = static_cast<ResamplingAlgorithm>(pick(0, 1));
    return one(Kind::resampling, ResamplingAttributes{.algorithm = algorithm, .sizes = {pick(1, 4), pick(1, 4)}}, {x});
  }
  TensorId reduction(TensorId x) {
    const auto algorithm = toss() ? ReductionAlgorithm::mean : ReductionAlgorithm::sum;
    return one(Kind::reduction, ReductionAttributes{algorithm, {static_cast<int>(pick(0, 1)), -1}}, {x});
  }
  TensorId concat(TensorId x) {
    const int axis = static_cast<int>(pick(0, 3));
    Dims other = dims(x);
    other[axis] = pick(1, 2);
    const TensorId second = input(other);
    return graph.concat({x, second, toss() ? x : input(dims(x))}, axis);
  }
  TensorId sum(TensorId x) {
    const TensorId other = input(dims(x));
    return toss() ? graph.sum({x, other, x}) : one(Kind::sum, SumAttributes{{0.5, -2}}, {x, other});
  }
  TensorId binary(TensorId x) {
    Dims other = dims(x);
    for (int d = 0; d < 4; ++d) {
      if (toss()) other[d] = 1;
    }
    const auto algorithm = static_cast<BinaryAlgorithm>(pick(0, 5));
    const TensorId y = algorithm == BinaryAlgorithm::div ? input(other, 1, 2) : input(other);
    return toss() && algorithm != BinaryAlgorithm::div ? graph.binary(y, x, algorithm) : graph.binary(x, y, algorithm);
  }
  TensorId binary_of_relatives(TensorId x) {
    return graph.binary(reduction(x), x, toss() ? BinaryAlgorithm::mul : BinaryAlgorithm::sub);
  }
  TensorId reorder(TensorId x) { return one(Kind::reorder, ReorderAttributes{dtype_, 0.7, 0.1}, {x}); }
  TensorId reshape(TensorId x) {
    const Dims d = dims(x);
    return toss() ? reshaped(x, {d[1], d[0], d[3], d[2]}) : reshaped(x, {d[0], d[1] * d[2], 1, d[3]});
  }
  TensorId transpose(TensorId x) {
    std::vector<int> order = {0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), rng_);
    return graph.transpose(x, order);
  }
  TensorId slice(TensorId x) {
    SliceAttributes a;
    for (int d = 0; d < 4; ++d) {
      const int64_t extent = dims(x)[d], step = pick(1, 3), low = pick(0, (extent - 1) / 2);
      a.starts.push_back(toss() ? low : extent - 1);
      const bool up = a.starts[d] == low;
      a.steps.push_back(up ? step : -step);
      a.stops.push_back(up ? extent : low - 1);
    }
    return one(Kind::slice, a, {x});
  }
  TensorId broadcast(TensorId x) {
    Dims to = dims(x);
    for (int d = 0; d < 4; ++d) {
      if (to[d] == 1) to[d] = pick(1, 2);
    }
    return one(Kind::broadcast, BroadcastAttributes{to}, {x});
  }
  TensorId pad(TensorId x) {
    return one(Kind::pad, PadAttributes{{0, pick(0, 1), 1, 0}, {0, 0, 0, pick(0, 1)}, PadMode::constant, 0.5}, {x});
  }

  std::mt19937 rng_;
  DType dtype_;
  std::vector<TensorId> pool_;
};

inline const std::vector<RandomGraph::Operation> RandomGraph::kOperations = {&RandomGraph::convolution,
                                                                             &RandomGraph::deconvolution,
                                                                             &RandomGraph::matmul,
                                                                             &RandomGraph::matmul_of_parameters,
                                                                             &RandomGraph::inner_product,
                                                                             &RandomGraph::rnn,
                                                                             &RandomGraph::pooling,
                                                                             &RandomGraph::batch_normalization,
                                                                             &RandomGraph::layer_normalization,
                                                                             &RandomGraph::lrn,
                                                                             &RandomGraph::eltwise,
                                                                             &RandomGraph::prelu,
                                                                             &RandomGraph::shuffle,
                                                                             &RandomGraph::softmax,
                                                                             &RandomGraph::resampling,
                                                                             &RandomGraph::reduction,
                                                                             &RandomGraph::concat,
                                                                             &RandomGraph::sum,
                                                                             &RandomGraph::binary,
                                                                             &RandomGraph::binary_of_relatives,
                                                                             &RandomGraph::reorder,
                                                                             &RandomGraph::reshape,
                                                                             &RandomGraph::transpose,
                                                                             &RandomGraph::slice,
                                                                             &RandomGraph::broadcast,
                                                                             &RandomGraph::pad};

}  // namespace relayout::test
