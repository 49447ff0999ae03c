// Ops: dims and types of every kind against hand-computed ones, and rules of layouts.
#include "relayout/graph/ir/ops.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "relayout/graph/ir/operands.h"
#include "relayout/graph/reference/reference.h"
#include "tests/support/ops_cases.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::error_of;

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

TEST(Ops, ProjectedLstm) {
  // The cell has 3 channels, and its results 4: those of the destination, the hidden state and the weights of the
  // state.
  const RnnAttributes both{.cell = RnnCell::lstm, .direction = RnnDirection::bidirectional_concat};
  EXPECT_EQ(shapes(inputs({{{7, 2, 5}},
                           {{1, 2, 2, 4}},
                           {{1, 2, 2, 3}},
                           {{1, 2, 5, 4, 3}},
                           {{1, 2, 4, 4, 3}},
                           {{1, 2, 4, 3}},
                           {{1, 2, 3, 4}}}),
                   Kind::rnn, both, 3),
            (Shapes{{7, 2, 8}, {1, 2, 2, 4}, {1, 2, 2, 3}}));
  // Two layers: each takes the 4 channels that the one before gives.
  EXPECT_EQ(
      shapes(inputs({{{7, 2, 4}}, kAbsent, kAbsent, {{2, 1, 4, 4, 3}}, {{2, 1, 4, 4, 3}}, kAbsent, {{2, 1, 3, 4}}}),
             Kind::rnn, RnnAttributes{}, 3),
      (Shapes{{7, 2, 4}, {2, 1, 2, 4}, {2, 1, 2, 3}}));
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

/// The number of places of a window, found by trying each.
int64_t counted_places(int64_t extent, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads) {
  int64_t count = 0;
  for (int64_t first = 0; first + (kernel - 1) * dilation < extent + pads; first += stride) ++count;
  return count;
}

TEST(Ops, WindowsAreCountedAndDeconvolutionGoesBack) {
  std::mt19937 random(1);
  const auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int fitting = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t extent = pick(1, 20), kernel = pick(1, 5), stride = pick(1, 4), dilation = pick(1, 3);
    const int64_t begin = pick(0, 3), end = pick(0, 3);
    const ConvolutionAttributes a{
        .strides = {stride}, .dilations = {dilation}, .pads_begin = {begin}, .pads_end = {end}};
    const int64_t places = counted_places(extent, kernel, stride, dilation, begin + end);
    const Case c = inputs({{{1, 2, extent}}, {{3, 2, kernel}}});
    if (places == 0) {
      EXPECT_EQ(error_of([&] { shapes(c, Kind::convolution, a); }).field(), "dilated kernel of spatial dim 0");
      continue;
    }
    ++fitting;
    ASSERT_EQ(shapes(c, Kind::convolution, a), (Shapes{{1, 3, places}}));
    // The elements that the stride leaves over at the end are the output padding of the inverse.
    ConvolutionAttributes back = a;
    back.output_padding = {extent - ((places - 1) * stride + (kernel - 1) * dilation + 1 - begin - end)};
    ASSERT_GE(back.output_padding[0], 0);
    ASSERT_LT(back.output_padding[0], stride);
    ASSERT_EQ(shapes(inputs({{{1, 2, places}}, {{3, 2, kernel}}}), Kind::deconvolution, back),
              (Shapes{{1, 3, extent}}));
  }
  EXPECT_GT(fitting, 1000);
}

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

TEST(Ops, StepsOfTheWholeRangeOf64BitsAreExact) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(shapes(inputs({{{9}}}), Kind::slice, SliceAttributes{{8}, {-1}, {least}}), (Shapes{{1}}));
  EXPECT_EQ(shapes(inputs({{{9}}}), Kind::slice, SliceAttributes{{0}, {9}, {kLargest}}), (Shapes{{1}}));
}

std::string rules_of(Case c, Kind kind, NodeAttributes attributes, Pass pass = Pass::forward_inference, int dsts = 0,
                     NodeId hint = kNone) {
  c.graph.add({.kind = kind, .pass = pass, .attributes = std::move(attributes), .src = c.src, .hint = hint}, dsts);
  std::string out;
  for (OperandRule rule : operand_rules(c.graph, c.graph.nodes.back())) out += "yafp"[static_cast<std::size_t>(rule)];
  return out;
}

TEST(Ops, RulesOfLayouts) {  // y: any, a: actual, f: follows, p: plain
  EXPECT_EQ(rules_of(inputs({{{1, 4, 8}}, {{6, 4, 3}}, {{6}}}), Kind::convolution, ConvolutionAttributes{}), "yypy");
  EXPECT_EQ(rules_of(inputs({{{7, 2, 5}}, kAbsent, kAbsent, {{1, 1, 5, 4, 3}}, {{1, 1, 3, 4, 3}}, {{1, 1, 4, 3}}}),
                     Kind::rnn, RnnAttributes{}),
            "yppyypy");
  EXPECT_EQ(rules_of(inputs({{{1, 4, 8}}}), Kind::pooling, PoolingAttributes{}), "af");
  EXPECT_EQ(rules_of(inputs({{{1, 4}}, kAbsent, kAbsent, {{4}}, {{4}}}), Kind::batch_normalization,
                     NormalizationAttributes{}),
            "appppf");
  EXPECT_EQ(rules_of(inputs({{{1, 4}}, {{1, 4}}}), Kind::binary, BinaryAttributes{}), "aay");
  EXPECT_EQ(rules_of(inputs({{{1, 4}}, {{1, 4}}}), Kind::concat, ConcatAttributes{}), "aay");
  EXPECT_EQ(rules_of(inputs({{{1, 4}}}), Kind::transpose, TransposeAttributes{{1, 0}}), "af");
  EXPECT_EQ(rules_of(inputs({{{1, 4}}}), Kind::barrier, BarrierAttributes{"Foo", {{2, 2}}}), "pp");
  Case c = inputs({{{1, 4}}, {{1, 4}}});
  c.graph.pass = Pass::forward_training;
  c.graph.eltwise(c.src[0], {});
  EXPECT_EQ(rules_of(c, Kind::eltwise, EltwiseAttributes{}, Pass::backward_data, 1, 0), "ayf");
}

/// "src:any weights:any dst:any" of the node that these make.
std::string asked_of(Case c, Kind kind, NodeAttributes attributes, Pass pass = Pass::forward_inference, int dsts = 0,
                     NodeId hint = kNone) {
  c.graph.add({.kind = kind, .pass = pass, .attributes = std::move(attributes), .src = c.src, .hint = hint}, dsts);
  std::string out;
  for (const Operand& operand : operands(c.graph.nodes.back())) {
    out += (out.empty() ? "" : " ") + std::string(operand.name) + ":" + std::string(name(operand.asked));
  }
  return out;
}

TEST(Ops, WhatTheSpecificationsTableAsksFor) {
  EXPECT_EQ(asked_of(inputs({{{1, 4, 8}}, {{6, 4, 3}}, {{6}}}), Kind::convolution, ConvolutionAttributes{}),
            "src:any weights:any bias:any dst:any");
  EXPECT_EQ(asked_of(inputs({{{3, 4}}, {{4, 5}}}), Kind::matmul, MatmulAttributes{}), "a:any b:any dst:any");
  EXPECT_EQ(asked_of(inputs({{{1, 4, 8}}}), Kind::pooling, PoolingAttributes{}), "src:actual dst:any");
  EXPECT_EQ(asked_of(inputs({{{1, 4}}, kAbsent, kAbsent, {{4}}, {{4}}}), Kind::batch_normalization,
                     NormalizationAttributes{}),
            "src:actual mean:actual variance:actual dst:any");
  EXPECT_EQ(asked_of(inputs({{{1, 4}}, {{1, 4}}}), Kind::concat, ConcatAttributes{}), "src:actual src:actual dst:any");
  EXPECT_EQ(asked_of(inputs({{{1, 4}}}), Kind::reorder, ReorderAttributes{}), "src:actual dst:given");
  // Backward: gradients by `any`, and data as it is, but of compute-bound kinds all by `any`.
  Case c = inputs({{{1, 4}}, {{1, 4}}});
  c.graph.pass = Pass::forward_training;
  c.graph.eltwise(c.src[0], {});
  EXPECT_EQ(asked_of(c, Kind::eltwise, EltwiseAttributes{}, Pass::backward_data, 1, 0),
            "src:actual diff_dst:any diff_src:any");
  Case product = inputs({{{2, 4}}, {{3, 4}}});
  product.graph.pass = Pass::forward_training;
  const TensorId dst = product.graph.inner_product(product.src[0], product.src[1]);
  product.src = {product.src[0], dst};
  EXPECT_EQ(asked_of(product, Kind::inner_product, InnerProductAttributes{}, Pass::backward_weights, 1, 0),
            "src:any diff_dst:any diff_weights:any");
}

TEST(Ops, ZeroStaysZeroWhereTheReferenceSaysSo) {
  for (int i = 0; i < kEltwiseCount; ++i) {
    for (const double alpha : {-1.0, 0.0, 0.5, 2.0}) {
      for (const double beta : {-1.0, 0.0, 0.5, 2.0}) {
        const EltwiseAttributes a{static_cast<EltwiseAlgorithm>(i), alpha, beta};
        Graph g;
        g.eltwise(g.input("x", {1}, DType::f64), a);
        const Values zero{0.0};
        const Values* src[] = {&zero};
        EXPECT_EQ(keeps_zero(a), evaluate_node(g, g.nodes[0], src)[0][0] == 0)
            << name(a.algorithm) << " " << alpha << " " << beta;
      }
    }
  }
}

}  // namespace
}  // namespace relayout::graph
