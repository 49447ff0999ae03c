// Backward nodes: every gradient has the dims and the type of its forward counterpart, over random shapes.
#include <gtest/gtest.h>

#include <random>

#include "relayout/graph/ir/ops.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::error_of;

/// A graph in training whose tensors have random extents.
struct Training {
  explicit Training(unsigned seed) : random(seed) { graph.pass = Pass::forward_training; }

  int64_t extent(int64_t most = 7) { return std::uniform_int_distribution<int64_t>(1, most)(random); }
  bool coin() { return extent(2) == 1; }
  TensorId input(const Dims& dims) { return graph.input("t", dims, dtype); }
  TensorId maybe(const Dims& dims) { return coin() ? input(dims) : kNone; }
  /// Adds an input with the dims of a tensor, as its gradient.
  TensorId like(TensorId id) { return id == kNone ? kNone : input(graph.tensor(id).dims); }

  std::vector<TensorId> forward(Kind kind, NodeAttributes attributes, std::vector<TensorId> src, int dsts = 0) {
    return graph.add({.kind = kind, .pass = Pass::forward_training, .attributes = attributes, .src = src}, dsts);
  }

  /// Adds a backward node of the last forward node, and expects its destinations to have the dims of these tensors.
  void expect_backward(Pass pass, const std::vector<TensorId>& src, const std::vector<TensorId>& like) {
    const NodeId hint = static_cast<NodeId>(graph.nodes.size()) - 1;
    const Node& of = graph.node(hint);
    Graph copy = graph;
    const auto dst = copy.add({.kind = of.kind, .pass = pass, .attributes = of.attributes, .src = src, .hint = hint},
                              static_cast<int>(like.size()));
    ASSERT_EQ(dst.size(), like.size());
    for (std::size_t i = 0; i < dst.size(); ++i) {
      ASSERT_EQ(dst[i] == kNone, like[i] == kNone) << name(of.kind) << " " << i;
      if (dst[i] == kNone) continue;
      EXPECT_EQ(copy.tensor(dst[i]).dims, copy.tensor(like[i]).dims) << name(of.kind) << " " << i;
      EXPECT_EQ(copy.tensor(dst[i]).dtype, copy.tensor(like[i]).dtype) << name(of.kind) << " " << i;
    }
    expect_refused(pass, src);
  }

  /// Expects that each source is refused if its dims differ from the forward operand's.
  void expect_refused(Pass pass, const std::vector<TensorId>& src) {
    const NodeId hint = static_cast<NodeId>(graph.nodes.size()) - 1;
    const Node& of = graph.node(hint);
    for (std::size_t i = 0; i < src.size(); ++i) {
      if (src[i] == kNone) continue;
      Graph copy = graph;
      Dims dims = copy.tensor(src[i]).dims;
      dims[dims.size() - 1] += 1;
      std::vector<TensorId> wrong = src;
      wrong[i] = copy.input("wrong", dims, dtype);
      Node node{.kind = of.kind, .pass = pass, .attributes = of.attributes, .src = wrong, .hint = hint};
      const Error error = error_of([&] { copy.add(node, 0); });
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_EQ(error.value(), join(dims)) << error.message();
    }
  }

  std::mt19937 random;
  DType dtype = DType::f32;
  Graph graph{};
};

void convolution(Training& t) {
  const int64_t groups = t.extent(3), n = t.extent(), ic = t.extent(3), oc = t.extent(3);
  Dims src{n, groups * ic}, weights{oc, ic};
  if (groups > 1) weights.insert(0, groups);
  for (int d = 0; d < t.extent(3); ++d) {
    weights.push_back(t.extent(3));
    src.push_back(weights.back() + t.extent() - 1);
  }
  const Kind kind = t.coin() ? Kind::convolution : Kind::deconvolution;
  const TensorId x = t.input(src), w = t.input(weights), b = t.maybe({groups * oc});
  const TensorId y = t.forward(kind, ConvolutionAttributes{.groups = groups}, {x, w, b})[0];
  t.expect_backward(Pass::backward_data, {t.like(y), w}, {x});
  t.expect_backward(Pass::backward_weights, {x, t.like(y)}, {w, b});
  t.expect_backward(Pass::backward_weights, {x, t.like(y)}, {w});
}

void inner_product(Training& t) {
  const int64_t oc = t.extent();
  const Dims src{t.extent(), t.extent(), t.extent()};
  const TensorId x = t.input(src), w = t.input({oc, src[1], src[2]}), b = t.maybe({oc});
  const TensorId y = t.forward(Kind::inner_product, InnerProductAttributes{}, {x, w, b})[0];
  t.expect_backward(Pass::backward_data, {t.like(y), w}, {x});
  t.expect_backward(Pass::backward_weights, {x, t.like(y)}, {w, b});
}

void spatial(Training& t) {
  const TensorId x = t.input({t.extent(), t.extent(), t.extent() + 2, t.extent() + 2});
  const TensorId pooled = t.forward(Kind::pooling, PoolingAttributes{.kernel = {3, 2}, .strides = {2, 1}}, {x})[0];
  t.expect_backward(Pass::backward_data, {t.like(pooled)}, {x});
  const Dims sizes{t.extent(), t.extent()};
  const TensorId resized = t.forward(Kind::resampling, ResamplingAttributes{.sizes = sizes}, {x})[0];
  t.expect_backward(Pass::backward_data, {t.like(resized)}, {x});
}

void same_dims(Training& t) {
  const int64_t channels = 2 * t.extent();
  const TensorId x = t.input({t.extent(), channels, t.extent()});
  const TensorId shuffled = t.forward(Kind::shuffle, ShuffleAttributes{.groups = 2}, {x})[0];
  t.expect_backward(Pass::backward_data, {t.like(shuffled)}, {x});
  const TensorId normalized = t.forward(Kind::lrn, LrnAttributes{}, {x})[0];
  t.expect_backward(Pass::backward_data, {x, t.like(normalized)}, {x});
  const TensorId relu = t.forward(Kind::eltwise, EltwiseAttributes{}, {x})[0];
  t.expect_backward(Pass::backward_data, {x, t.like(relu)}, {x});
  const TensorId softmax = t.forward(Kind::softmax, SoftmaxAttributes{}, {x})[0];
  t.expect_backward(Pass::backward_data, {softmax, t.like(softmax)}, {x});
  const TensorId slopes = t.input({1, channels, 1});
  const TensorId prelu = t.forward(Kind::prelu, PreluAttributes{}, {x, slopes})[0];
  t.expect_backward(Pass::backward, {x, slopes, t.like(prelu)}, {x, slopes});
}

void normalization(Training& t) {
  const Dims dims{t.extent(), t.extent(), t.extent()};
  const TensorId x = t.input(dims);
  for (const auto& [kind, extent] :
       {std::pair{Kind::batch_normalization, dims[1]}, std::pair{Kind::layer_normalization, dims[2]}}) {
    const TensorId scale = t.maybe({extent}), shift = t.maybe({extent});
    const auto y = t.forward(kind, NormalizationAttributes{}, {x, scale, shift});
    t.expect_backward(Pass::backward, {x, scale, y[1], y[2], t.like(y[0])}, {x, scale, shift});
    t.expect_backward(Pass::backward, {x, scale, y[1], y[2], t.like(y[0])}, {x});
  }
}

void rnn(Training& t) {
  const RnnCell cell = t.coin() ? RnnCell::lstm : RnnCell::gru;
  const int64_t gates = cell == RnnCell::lstm ? 4 : 3, times = t.extent(), n = t.extent(), in = t.extent();
  const int64_t out = t.extent(), directions = t.extent(2);
  const bool lstm = cell == RnnCell::lstm, projected = lstm && t.coin();
  const int64_t given = projected ? t.extent() : out;
  const RnnAttributes a{
      .cell = cell, .direction = directions == 2 ? RnnDirection::bidirectional_concat : RnnDirection::left_to_right};
  const TensorId x = t.input({times, n, in}), w = t.input({1, directions, in, gates, out});
  const TensorId u = t.input({1, directions, given, gates, out}), b = t.maybe({1, directions, gates, out});
  const bool states = t.coin();
  const TensorId p = projected ? t.input({1, directions, out, given}) : kNone;
  const TensorId h = states ? t.input({1, directions, n, given}) : kNone;
  const TensorId c = states && lstm ? t.input({1, directions, n, out}) : kNone;
  auto y = t.forward(Kind::rnn, a, {x, h, c, w, u, b, p}, states ? 2 + (lstm ? 1 : 0) : 1);
  y.resize(3, kNone);
  t.expect_backward(Pass::backward, {x, h, c, w, u, b, p, y[0], y[1], y[2], t.like(y[0]), t.like(y[1]), t.like(y[2])},
                    {x, h, c, w, u, b, p});
}

TEST(OpsBackward, GradientsMirrorTheirForwardOperands) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    for (const auto& family : {convolution, inner_product, spatial, same_dims, normalization, rnn}) {
      Training t(seed);
      t.dtype = seed % 3 == 0 ? DType::bf16 : DType::f32;
      family(t);
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
  }
}

TEST(OpsBackward, NeedsAForwardNodeOfTrainingAsHint) {
  Graph g;
  const TensorId x = g.input("x", {2, 3});
  g.softmax(x);
  Node node{.kind = Kind::eltwise, .pass = Pass::backward_data, .attributes = EltwiseAttributes{}, .src = {x, x}};
  EXPECT_EQ(error_of([&] { g.add(node, 1); }).field(), "hint");
  node.hint = 0;
  EXPECT_EQ(error_of([&] { g.add(node, 1); }).value(), "softmax, forward_inference");
}

TEST(OpsBackward, AGradientOfAnAbsentOperandIsRefusedAsASource) {
  Training t(1);
  const TensorId x = t.input({3, 2, 4}), w = t.input({1, 1, 4, 1, 5}), u = t.input({1, 1, 5, 1, 5});
  const RnnAttributes a{.cell = RnnCell::vanilla_tanh};
  const TensorId y = t.forward(Kind::rnn, a, {x, kNone, kNone, w, u, kNone})[0];
  const TensorId state = t.input({1, 1, 2, 5});
  Node node{.kind = Kind::rnn,
            .pass = Pass::backward,
            .attributes = a,
            .src = {x, kNone, kNone, w, u, kNone, kNone, y, kNone, kNone, y, state},
            .hint = 0};
  EXPECT_EQ(error_of([&] { t.graph.add(node, 5); }).field(), "diff_dst_iter");
}

TEST(OpsBackward, KindsWithoutAPassAreRefused) {
  Graph g;
  const TensorId x = g.input("x", {2, 3});
  for (const auto& [kind, pass, attributes] :
       {std::tuple{Kind::matmul, Pass::backward_data, NodeAttributes(MatmulAttributes{})},
        std::tuple{Kind::reshape, Pass::backward, NodeAttributes(ReshapeAttributes{})},
        std::tuple{Kind::eltwise, Pass::backward_weights, NodeAttributes(EltwiseAttributes{})}}) {
    Node node{.kind = kind, .pass = pass, .attributes = attributes, .src = {x, x}};
    EXPECT_EQ(error_of([&, node = node] { g.add(node, 1); }).field(), "pass");
  }
}

}  // namespace
}  // namespace relayout::graph
