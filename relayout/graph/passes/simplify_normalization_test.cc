// Simplify: a scale and a shift of channels after a convolution go into its weights, where that changes no other
// result.
#include <gtest/gtest.h>

#include <functional>

#include "relayout/graph/passes/simplify.h"
#include "tests/support/simplify_graphs.h"

namespace relayout::graph {
namespace {

using test::count_of;
using test::expect_close;
using test::expect_sound;
using Maker = test::SimplifyGraph;

TEST(Simplify, NormalizationScaleAndShiftBecomeOneConvolution) {
  for (const int64_t groups : {1, 3}) {
    for (const Kind kind : {Kind::convolution, Kind::deconvolution}) {
      Maker m(3);
      Graph& g = m.graph;
      const TensorId x = g.input("x", {2, 6, 4, 5});
      Dims weights{2, 6 / groups, 3, 2};
      if (groups > 1) weights.insert(0, groups);
      TensorId y = m.one(kind, ConvolutionAttributes{.groups = groups}, {x, m.constant(weights), kNone});
      y = g.binary(m.constant({1, 2 * groups, 1, 1}), m.normalize(y), BinaryAlgorithm::mul);
      y = g.binary(m.constant({1, 1, 1, 1}), y, BinaryAlgorithm::sub);
      y = g.eltwise(y, {.algorithm = EltwiseAlgorithm::linear, .alpha = 3, .beta = 0.5});
      g.output(g.eltwise(y, {}));
      const std::vector<Values> in{m.values(m.dims(x))}, expected = evaluate(g, in);
      fold_batch_normalization(g);
      prune(g);
      EXPECT_EQ(g.nodes.size(), 2u);
      EXPECT_EQ(g.tensors.size(), 5u);  // x, weights, bias, two destinations
      expect_sound(g);
      expect_close(expected, evaluate(g, in));
    }
  }
}

TEST(Simplify, WeightsThatOthersReadStayForThem) {
  Maker m(4);
  Graph& g = m.graph;
  const TensorId x = g.input("x", {1, 2, 3, 3}), w = m.constant({2, 2, 1, 1});
  g.output(m.normalize(g.convolution(x, w)));
  g.output(g.convolution(x, w));
  const std::vector<Values> in{m.values(m.dims(x))}, expected = evaluate(g, in);
  simplify(g);
  EXPECT_EQ(g.nodes.size(), 2u);
  expect_close(expected, evaluate(g, in));
}

/// How many normalizations are left of one after a convolution.
int left_after(const std::function<void(Maker&, TensorId convolved, TensorId normalized)>& change,
               DType dtype = DType::f32, Pass pass = Pass::forward_inference) {
  Maker m(5);
  Graph& g = m.graph;
  const TensorId x = g.input("x", {1, 2, 3, 3}, dtype), w = m.constant({2, 2, 1, 1}, -1, 1, dtype);
  Node node{.kind = Kind::convolution, .pass = pass, .attributes = ConvolutionAttributes{}, .src = {x, w}};
  const TensorId y = g.add(node, 1)[0], z = m.normalize(y);
  g.output(z);
  change(m, y, z);
  fold_batch_normalization(g);
  return count_of(g, Kind::batch_normalization);
}

TEST(Simplify, NormalizationIsFoldedOnlyWhereNobodySeesIt) {
  const auto nothing = [](Maker&, TensorId, TensorId) {};
  EXPECT_EQ(left_after(nothing), 0);
  EXPECT_EQ(left_after([](Maker& m, TensorId y, TensorId) { m.graph.output(y); }), 1);
  EXPECT_EQ(left_after([](Maker& m, TensorId y, TensorId) { m.graph.eltwise(y, {}); }), 1);
  EXPECT_EQ(left_after([](Maker& m, TensorId y, TensorId) {
              m.graph.tensor(y).layout = Format::parse("nhwc").bind({1, 2, 3, 3});
            }),
            1);
  EXPECT_EQ(left_after([](Maker& m, TensorId, TensorId z) {
              m.graph.tensor(z).layout = Format::parse("nhwc").bind({1, 2, 3, 3});
            }),
            0);
  EXPECT_EQ(left_after([](Maker& m, TensorId, TensorId) { m.graph.tensor(m.graph.nodes[0].src[1]).data = nullptr; }),
            1);
  EXPECT_EQ(left_after([](Maker& m, TensorId, TensorId) { m.graph.tensor(m.graph.nodes[1].src[3]).data = nullptr; }),
            1);
  EXPECT_EQ(left_after(nothing, DType::bf16), 1);
  EXPECT_EQ(left_after(nothing, DType::f32, Pass::forward_training), 1);
}

TEST(Simplify, WhatIsNoScaleAndShiftOfChannelsStays) {
  const auto nodes_after = [](const Dims& constant, BinaryAlgorithm algorithm, bool first) {
    Maker m(6);
    Graph& g = m.graph;
    const TensorId x = g.input("x", {1, 2, 3, 3}), c = m.constant(constant, 0, 0);
    const TensorId y = g.convolution(x, m.constant({2, 2, 1, 1}));
    g.output(first ? g.binary(y, c, algorithm) : g.binary(c, y, algorithm));
    simplify(g);
    return g.nodes.size();
  };
  EXPECT_EQ(nodes_after({1, 2, 1, 1}, BinaryAlgorithm::add, false), 1u);
  EXPECT_EQ(nodes_after({1, 2, 1, 3}, BinaryAlgorithm::add, false), 2u);
  EXPECT_EQ(nodes_after({4, 2, 1, 1}, BinaryAlgorithm::add, false), 2u);
  EXPECT_EQ(nodes_after({1, 1, 1, 1}, BinaryAlgorithm::max, true), 2u);
  EXPECT_EQ(nodes_after({1, 1, 1, 1}, BinaryAlgorithm::div, false), 2u);  // 0 / y
  EXPECT_EQ(nodes_after({1, 1, 1, 1}, BinaryAlgorithm::div, true), 2u);   // y / 0 is not finite
}

}  // namespace
}  // namespace relayout::graph
