// Ops: dims and types of every kind against hand-computed ones, backward ones against forward, and each refusal.
#include "relayout/graph/ops.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::error_of;

/// A graph with one input for each list of dims; negative rank lists stand for kNone.
struct Case {
  Graph graph;
  std::vector<TensorId> src;
};

Case inputs(const std::vector<std::optional<Dims>>& dims, DType dtype = DType::f32) {
  Case out;
  for (const auto& d : dims) {
    out.src.push_back(d ? out.graph.input("t" + std::to_string(out.src.size()), *d, dtype) : kNone);
  }
  return out;
}

/// Dims of all destinations of one node, absent ones as {-1}.
std::vector<Dims> shapes(Case c, Kind kind, NodeAttributes attributes, int dsts = 0,
                         Pass pass = Pass::forward_inference) {
  Node node{.name = "n", .kind = kind, .pass = pass, .attributes = std::move(attributes), .src = c.src};
  std::vector<Dims> out;
  for (TensorId id : c.graph.add(std::move(node), dsts))
    out.push_back(id == kNone ? Dims{-1} : c.graph.tensor(id).dims);
  return out;
}

using Shapes = std::vector<Dims>;
constexpr std::nullopt_t kAbsent = std::nullopt;

TEST(Ops, Convolution) {
  const ConvolutionAttributes stem{.strides = {2, 2}, .pads_begin = {3, 3}, .pads_end = {3, 3}};
  EXPECT_EQ(shapes(inputs({{{1, 3, 224, 224}}, {{64, 3, 7, 7}}, {{64}}}), Kind::convolution, stem),
            (Shapes{{1, 64, 112, 112}}));
  EXPECT_EQ(shapes(inputs({{{2, 6, 9}}, {{3, 4, 2, 3}}}), Kind::convolution,
                   ConvolutionAttributes{.dilations = {2}, .pads_end = {1}, .groups = 3}),
            (Shapes{{2, 12, 6}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4, 5, 6}}, {{7, 3, 1, 2, 3}}}), Kind::convolution,
                   ConvolutionAttributes{.strides = {3, 1, 2}}),
            (Shapes{{2, 7, 2, 4, 2}}));
  EXPECT_EQ(shapes(inputs({{{0, 3, 4}}, {{7, 3, 4}}}), Kind::convolution, ConvolutionAttributes{}),
            (Shapes{{0, 7, 1}}));
}

TEST(Ops, Deconvolution) {
  EXPECT_EQ(shapes(inputs({{{1, 16, 7, 7}}, {{8, 16, 4, 4}}, {{8}}}), Kind::deconvolution,
                   ConvolutionAttributes{.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}}),
            (Shapes{{1, 8, 14, 14}}));
  EXPECT_EQ(shapes(inputs({{{1, 4, 5}}, {{2, 3, 2, 3}}}), Kind::deconvolution,
                   ConvolutionAttributes{.strides = {3}, .dilations = {2}, .groups = 2, .output_padding = {2}}),
            (Shapes{{1, 6, 19}}));
}

TEST(Ops, MatmulAndInnerProduct) {
  EXPECT_EQ(shapes(inputs({{{3, 4}}, {{4, 5}}, {{5}}}), Kind::matmul, MatmulAttributes{}), (Shapes{{3, 5}}));
  EXPECT_EQ(shapes(inputs({{{2, 1, 3, 4}}, {{1, 7, 4, 5}}}), Kind::matmul, MatmulAttributes{}), (Shapes{{2, 7, 3, 5}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4, 5}}, {{10, 3, 4, 5}}, {{10}}}), Kind::inner_product, InnerProductAttributes{}),
            (Shapes{{2, 10}}));
}

TEST(Ops, ProductsGiveTheSourcesFloatingTypeAndOfBytesF32) {
  for (const auto& [a, b, out] :
       {std::tuple{DType::f32, DType::f32, DType::f32}, std::tuple{DType::bf16, DType::bf16, DType::bf16},
        std::tuple{DType::u8, DType::s8, DType::f32}}) {
    Graph g;
    const TensorId x = g.input("x", {2, 3}, a), w = g.input("w", {3, 4}, b);
    EXPECT_EQ(g.tensor(g.matmul(x, w)).dtype, out) << name(a) << " " << name(b);
  }
  Graph g;
  const TensorId x = g.input("x", {2, 3}, DType::bf16), w = g.input("w", {3, 4});
  EXPECT_EQ(error_of([&] { g.matmul(x, w); }).field(), "b");
}

TEST(Ops, Pooling) {
  EXPECT_EQ(shapes(inputs({{{1, 64, 112, 112}}}), Kind::pooling,
                   PoolingAttributes{.kernel = {3, 3}, .strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}}),
            (Shapes{{1, 64, 56, 56}}));
  EXPECT_EQ(shapes(inputs({{{1, 64, 7, 9}}}), Kind::pooling,
                   PoolingAttributes{.algorithm = PoolingAlgorithm::average_include_padding}),
            (Shapes{{1, 64, 1, 1}}));
  EXPECT_EQ(shapes(inputs({{{1, 2, 10}}}), Kind::pooling, PoolingAttributes{.kernel = {3}, .dilations = {3}}),
            (Shapes{{1, 2, 4}}));
}

TEST(Ops, Resampling) {
  EXPECT_EQ(shapes(inputs({{{2, 3, 4, 5}}}), Kind::resampling, ResamplingAttributes{.sizes = {8, 3}}),
            (Shapes{{2, 3, 8, 3}}));
}

TEST(Ops, Normalizations) {
  const NormalizationAttributes a;
  EXPECT_EQ(shapes(inputs({{{2, 3, 4, 5}}, kAbsent, {{3}}, {{3}}, {{3}}}), Kind::batch_normalization, a),
            (Shapes{{2, 3, 4, 5}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4, 5}}, {{3}}}), Kind::batch_normalization, a, 0, Pass::forward_training),
            (Shapes{{2, 3, 4, 5}, {3}, {3}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4}}, {{4}}}), Kind::layer_normalization, a, 3), (Shapes{{2, 3, 4}, {6}, {6}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4}}, {{12}}, {{12}}}), Kind::layer_normalization, NormalizationAttributes{.axis = 1},
                   0, Pass::forward_training),
            (Shapes{{2, 3, 4}, {2}, {2}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4}}}), Kind::layer_normalization, a), (Shapes{{2, 3, 4}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4, 5}}}), Kind::lrn, LrnAttributes{}), (Shapes{{2, 3, 4, 5}}));
  EXPECT_EQ(shapes(inputs({{{2, 3}}}), Kind::softmax, SoftmaxAttributes{.axis = -1}), (Shapes{{2, 3}}));
}

TEST(Ops, Rnn) {
  const RnnAttributes lstm{.cell = RnnCell::lstm, .direction = RnnDirection::bidirectional_concat};
  EXPECT_EQ(
      shapes(
          inputs({{{7, 2, 5}}, {{1, 2, 2, 3}}, {{1, 2, 2, 3}}, {{1, 2, 5, 4, 3}}, {{1, 2, 3, 4, 3}}, {{1, 2, 4, 3}}}),
          Kind::rnn, lstm, 3),
      (Shapes{{7, 2, 6}, {1, 2, 2, 3}, {1, 2, 2, 3}}));
  const RnnAttributes gru{.cell = RnnCell::lbr_gru, .direction = RnnDirection::right_to_left};
  EXPECT_EQ(shapes(inputs({{{7, 2, 3}}, kAbsent, kAbsent, {{2, 1, 3, 3, 3}}, {{2, 1, 3, 3, 3}}, {{2, 1, 4, 3}}}),
                   Kind::rnn, gru, 2),
            (Shapes{{7, 2, 3}, {2, 1, 2, 3}}));
  const RnnAttributes both{.cell = RnnCell::vanilla_tanh, .direction = RnnDirection::bidirectional_sum};
  EXPECT_EQ(shapes(inputs({{{7, 2, 5}}, kAbsent, kAbsent, {{1, 2, 5, 1, 3}}, {{1, 2, 3, 1, 3}}}), Kind::rnn, both),
            (Shapes{{7, 2, 3}}));
}

TEST(Ops, Pointwise) {
  EXPECT_EQ(shapes(inputs({{{}}}), Kind::eltwise, EltwiseAttributes{}), (Shapes{{}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4}}, {{1, 3, 1}}}), Kind::prelu, PreluAttributes{}), (Shapes{{2, 3, 4}}));
  EXPECT_EQ(shapes(inputs({{{2, 6, 4}}}), Kind::shuffle, ShuffleAttributes{.groups = 3}), (Shapes{{2, 6, 4}}));
  EXPECT_EQ(shapes(inputs({{{2, 6, 4}}}), Kind::reduction, ReductionAttributes{.axes = {-1, 0}}), (Shapes{{1, 6, 1}}));
  EXPECT_EQ(shapes(inputs({{{2, 3}}, {{2, 3}}, {{2, 3}}}), Kind::sum, SumAttributes{.scales = {1, 2, 3}}),
            (Shapes{{2, 3}}));
  EXPECT_EQ(shapes(inputs({{{2, 1, 4}}, {{1, 3, 4}}}), Kind::binary, BinaryAttributes{}), (Shapes{{2, 3, 4}}));
  EXPECT_EQ(shapes(inputs({{{2, 0, 4}}, {{1, 1, 4}}}), Kind::binary, BinaryAttributes{}), (Shapes{{2, 0, 4}}));
  Graph g;
  const TensorId x = g.input("x", {2, 3}, DType::u8);
  EXPECT_EQ(g.tensor(g.add(Kind::reorder, ReorderAttributes{.dtype = DType::bf16}, {x})[0]).dtype, DType::bf16);
  EXPECT_EQ(g.tensor(g.binary(x, x, BinaryAlgorithm::ge)).dtype, DType::u8);
}

TEST(Ops, Shapes) {
  EXPECT_EQ(shapes(inputs({{{2, 3, 4}}, {{2, 5, 4}}, {{2, 1, 4}}}), Kind::concat, ConcatAttributes{}),
            (Shapes{{2, 9, 4}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4}}}), Kind::reshape, ReshapeAttributes{{6, 1, 4}}), (Shapes{{6, 1, 4}}));
  EXPECT_EQ(shapes(inputs({{{1, 1}}}), Kind::reshape, ReshapeAttributes{{}}), (Shapes{{}}));
  EXPECT_EQ(shapes(inputs({{{2, 3, 4}}}), Kind::transpose, TransposeAttributes{{2, 0, 1}}), (Shapes{{4, 2, 3}}));
  EXPECT_EQ(shapes(inputs({{{9, 9, 9}}}), Kind::slice, SliceAttributes{{1, 8, 4}, {8, -1, 4}, {3, -3, 1}}),
            (Shapes{{3, 3, 0}}));
  EXPECT_EQ(shapes(inputs({{{3, 1}}}), Kind::broadcast, BroadcastAttributes{{2, 3, 4}}), (Shapes{{2, 3, 4}}));
  EXPECT_EQ(shapes(inputs({{{2, 3}}}), Kind::pad, PadAttributes{.begin = {0, 2}, .end = {1, 0}}), (Shapes{{3, 5}}));
  EXPECT_EQ(shapes(inputs({{{2, 3}}}), Kind::barrier, BarrierAttributes{"Foo", {{1}, {2, 2}}}), (Shapes{{1}, {2, 2}}));
  Graph g;
  const TensorId data = g.input("data", {2, 3, 4}), at = g.input("at", {5, 6}, DType::s64);
  EXPECT_EQ(g.tensor(g.add(Kind::gather, GatherAttributes{1}, {data, at})[0]).dims, (Dims{2, 5, 6, 4}));
}

}  // namespace
}  // namespace relayout::graph
