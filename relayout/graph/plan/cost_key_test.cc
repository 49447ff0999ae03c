// Keys of costs differ in everything that a time depends on, and in nothing else.
#include "relayout/graph/plan/cost_key.h"

#include <gtest/gtest.h>

#include "relayout/graph/passes/fuse.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::bound;

const Dims kKeyDims{1, 32, 14, 14};

/// A convolution with its implementation.
struct Convolution {
  Graph graph;
  Implementation implementation;

  explicit Convolution(Dims dims = {2, 16, 8, 8}, ConvolutionAttributes attributes = {}, DType dtype = DType::f32,
                       Pass pass = Pass::forward_inference) {
    graph.pass = pass;
    const TensorId x = graph.input("x", dims, dtype);
    graph.convolution(x, graph.input("w", {16 / attributes.groups, 16 / attributes.groups, 1, 1}, dtype), kNone,
                      attributes);
    implementation = {.name = "first",
                      .src = {bound("nhwc", dims), bound("abcd", graph.tensor(1).dims), std::nullopt},
                      .dst = {bound("nhwc", graph.tensor(graph.node(0).dst[0]).dims)}};
  }
  CostKey key(bool in_place = false) const {
    return primitive_key(CostContext(graph), 0, implementation, nullptr, in_place);
  }
};

TEST(CostKey, DiffersInEachPart) {
  std::vector<CostKey> keys = {Convolution().key(), Convolution().key(true)};
  keys.push_back(Convolution({3, 16, 8, 8}).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {.strides = {2, 2}}).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {.pads_begin = {2, 2}}).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {.pads_end = {2, 2}}).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {}, DType::bf16).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {}, DType::f32, Pass::forward_training).key());
  Convolution other;
  other.implementation.name = "second";
  keys.push_back(other.key());
  other = Convolution();
  other.implementation.src[0] = bound("nchw", {2, 16, 8, 8});
  keys.push_back(other.key());
  other = Convolution();
  other.implementation.dst[0] = bound("nChw8c", {2, 16, 8, 8});
  keys.push_back(other.key());
  other = Convolution();
  other.graph.tensors[1].data = std::make_shared<std::vector<std::byte>>(1024);
  keys.push_back(other.key());
  // Weights that a node computes, rather than weights that exist before a run.
  other = Convolution();
  other.graph.inputs.pop_back();
  keys.push_back(other.key());
  // The same node in a training step.
  other = Convolution();
  other.graph.nodes.push_back({.kind = Kind::convolution, .pass = Pass::backward_data});
  keys.push_back(other.key());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_FALSE(keys[i] == keys[k]) << k << " and " << i;
      EXPECT_NE(keys[i].high, keys[k].high) << k << " and " << i;
      EXPECT_NE(keys[i].low, keys[k].low) << k << " and " << i;
    }
  }
}

TEST(CostKey, IsTheSameForEqualLayoutsAndOtherNames) {
  Convolution other;
  other.graph.tensors[0].name = "another";
  other.graph.nodes[0].name = "yet another";
  // The same layout nhwc, its channels written as two digits instead of one.
  const std::vector<Digits> digits = {{{2, 1024}}, {{4, 1}, {4, 4}}, {{8, 128}}, {{8, 16}}};
  other.implementation.src[0] = Layout::from_digits({2, 16, 8, 8}, digits);
  EXPECT_EQ(other.key(), Convolution().key());
}

TEST(CostKey, IsTheSameInEveryBuild) {
  // Files of costs keep these keys. Whoever changes how keys are made must increase the version of the file format.
  const CostKey key = KeyMaker().add("relayout").add(uint64_t{17}).add(Dims{2, 3}).key();
  EXPECT_EQ(key, (CostKey{0xa1b430bba4b3dc7d, 0xfc2de62114120865}));
}

TEST(CostKey, OfAPairOfTensorsReadTwice) {
  Graph graph;
  const TensorId a = graph.input("a", {1, 8, 4, 4}), b = graph.input("b", {1, 8, 4, 4});
  graph.binary(a, b);
  graph.binary(a, a);
  graph.binary(b, b);
  const CostContext context(graph);
  EXPECT_FALSE(context.node_key(0) == context.node_key(1));
  EXPECT_EQ(context.node_key(1), context.node_key(2));
}

TEST(CostKey, OfAPostOpSaysWhetherItsConstantIsFiniteAndHasAZero) {
  const auto key = [](std::vector<float> values) {
    Graph graph;
    const TensorId product = graph.matmul(graph.input("a", {3, 2}), graph.input("b", {2, 2}));
    graph.output(graph.binary(product, graph.constant("c", {1, 2}, std::move(values))));
    fuse(graph);
    EXPECT_EQ(graph.nodes.size(), 1U);
    return CostContext(graph).node_key(0);
  };
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(key({1, 2}), key({3, -4})) << "other values are the same";
  EXPECT_FALSE(key({1, 2}) == key({1, infinity}));
  EXPECT_FALSE(key({1, 2}) == key({1, 0}));
}

TEST(CostKey, OfReordersHasDirectionAndTypes) {
  const TensorDesc a = test::desc("nchw", kKeyDims), b = test::desc("nhwc", kKeyDims);
  EXPECT_FALSE(reorder_key({}, a, b) == reorder_key({}, b, a));
  EXPECT_FALSE(reorder_key({}, a, b) == reorder_key({}, a, test::desc("nhwc", kKeyDims, DType::bf16)));
}

}  // namespace
}  // namespace relayout::graph
