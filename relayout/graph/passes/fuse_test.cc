// Merging nodes into post-ops: what is merged and what is not, and that no value changes by it.
#include "relayout/graph/passes/fuse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "relayout/core/error.h"
#include "relayout/graph/ir/post_ops.h"
#include "relayout/graph/plan/cost_key.h"
#include "tests/support/nodes.h"

namespace relayout::graph {
namespace {

using enum EltwiseAlgorithm;
using test::random_values;

/// The number of nodes that fuse() leaves.
std::size_t nodes_after(Graph graph) {
  fuse(graph);
  return graph.nodes.size();
}

TEST(Fuse, MergesAChain) {
  Graph g;
  const TensorId x = g.input("x", {2, 3, 4}), scale = g.input("scale", {1, 3, 1});
  const TensorId product = g.binary(x, scale, BinaryAlgorithm::mul);
  g.output(g.eltwise(g.sum({product, x}), {relu}), {}, "y");
  fuse(g);
  ASSERT_EQ(g.nodes.size(), 1u);
  const Node& node = g.nodes[0];
  EXPECT_EQ(node.kind, Kind::binary);
  EXPECT_EQ(node.src, (std::vector<TensorId>{g.inputs[0], g.inputs[1]}));
  EXPECT_EQ(node.post_sources, 0u);
  ASSERT_EQ(node.post_ops.size(), 2u);
  EXPECT_EQ(function_name(node.post_ops[0]), "sum");
  EXPECT_EQ(node.post_ops[0].src, (std::vector<int>{2, 0}));
  EXPECT_EQ(function_name(node.post_ops[1]), "relu");
  EXPECT_EQ(node.post_ops[1].src, std::vector<int>{3});
  EXPECT_EQ(node.dst, g.outputs);
  EXPECT_EQ(g.tensors.size(), 3u) << "tensors between are gone";
}

TEST(Fuse, MergesATreeAndWhatIsReadTwiceWithin) {
  Graph g;
  const TensorId a = g.input("a", {2, 8}), b = g.input("b", {2, 8}), c = g.input("c", {1, 8});
  const TensorId x = g.binary(a, c);  // read by the sigmoid and by the product
  const TensorId silu = g.binary(x, g.eltwise(x, {logistic}), BinaryAlgorithm::mul);
  g.output(g.binary(silu, g.eltwise(b, {tanh}), BinaryAlgorithm::mul));
  fuse(g);
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].post_ops.size(), 4u);
  EXPECT_EQ(g.nodes[0].post_sources, 1u);
}

TEST(Fuse, LeavesWhatIsReadElsewhere) {
  Graph read_twice, is_output, fixed;
  for (Graph* g : {&read_twice, &is_output, &fixed}) {
    const TensorId x = g->input("x", {2, 3, 4, 5}), y = g->eltwise(x, {relu});
    if (g == &read_twice) g->output(g->softmax(y));
    if (g == &is_output) g->output(y);
    if (g == &fixed) g->tensor(y).layout = Format::parse("nhwc").bind({2, 3, 4, 5});
    g->output(g->eltwise(y, {tanh}));
  }
  EXPECT_EQ(nodes_after(read_twice), 3u);
  EXPECT_EQ(nodes_after(is_output), 2u);
  EXPECT_EQ(nodes_after(fixed), 2u);
}

TEST(Fuse, LeavesOtherDimsTypesAndPasses) {
  Graph repeats;
  const TensorId row = repeats.eltwise(repeats.input("row", {1, 4}), {tanh});
  repeats.output(repeats.binary(repeats.input("x", {3, 4}), row));
  EXPECT_EQ(nodes_after(repeats), 2u) << "a row would be computed anew for each index";
  for (const DType dtype : {DType::f16, DType::s32, DType::u8}) {
    Graph g;
    g.output(g.eltwise(g.eltwise(g.input("x", {3, 4}, dtype), {relu}), {square}));
    EXPECT_EQ(nodes_after(g), 2u) << name(dtype);
  }
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    Graph g;
    g.output(g.eltwise(g.eltwise(g.input("x", {3, 4}, dtype), {relu}), {square}));
    EXPECT_EQ(nodes_after(g), 1u) << name(dtype);
  }
  Graph training;
  training.pass = Pass::forward_training;
  training.output(training.eltwise(training.eltwise(training.input("x", {3, 4}), {relu}), {square}));
  EXPECT_EQ(nodes_after(training), 2u);
}

TEST(Fuse, AProductTakesWhatFollows) {
  Graph g;
  const TensorId x = g.input("x", {2, 4, 4}), w = g.constant("w", {2, 4, 4}, std::vector<float>(32, 1.0f));
  const TensorId y = g.matmul(x, w), z = g.eltwise(g.input("z", {2, 4, 4}), {tanh});
  // w is read element by element too, and x behind the product.
  g.output(g.binary(g.binary(g.binary(z, y), w), g.eltwise(x, {square})));
  fuse(g);
  ASSERT_EQ(g.nodes.size(), 1u);
  const Node& node = g.nodes[0];
  EXPECT_EQ(node.kind, Kind::matmul);
  EXPECT_EQ(node.own_sources(), 3u) << "a, b and no bias";
  EXPECT_EQ(node.post_ops.size(), 5u);
  EXPECT_EQ(node.post_sources, 2u) << "z, and w once more";
  for (const PostOp& op : node.post_ops) {
    EXPECT_EQ(std::ranges::count(op.src, 1), 0) << "the product's weights may be in any format";
  }
}

TEST(Fuse, AProductStaysBehindWhatItReads) {
  Graph g;
  const TensorId x = g.eltwise(g.input("x", {2, 4, 4}), {tanh});
  g.output(g.binary(g.matmul(x, g.input("w", {2, 4, 4})), x));
  fuse(g);
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[1].kind, Kind::matmul);
  EXPECT_EQ(g.nodes[1].post_sources, 0u);
}

TEST(Fuse, OfTwoProductsOneJoins) {
  Graph g;
  const TensorId x = g.input("x", {2, 4, 4}), w = g.input("w", {2, 4, 4});
  g.output(g.eltwise(g.binary(g.matmul(x, w), g.matmul(w, x)), {relu}));
  fuse(g);
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[1].post_ops.size(), 2u);
}

TEST(Fuse, KeepsToTheLimitOfSources) {
  Graph g;
  TensorId x = g.input("x", {4, 4});
  for (int i = 0; i < 20; ++i) x = g.binary(x, g.input("y" + std::to_string(i), {4, 4}));
  g.output(x);
  fuse(g);
  for (const Node& node : g.nodes) EXPECT_LE(node.src.size(), kMostFusedSources);
  EXPECT_EQ(g.nodes.size(), 4u) << "each takes in six further tensors";
}

/// Random elementwise nodes over tensors of two dims, some of which repeat.
struct RandomElementwise {
  explicit RandomElementwise(unsigned seed) : rng(seed) {
    const int64_t rows = pick(1, 3);
    const Dims dims{rows, pick(0, 1) == 0 ? rows : pick(1, 9)};
    std::vector<TensorId> pool;
    for (int64_t i = pick(1, 5); i >= 0; --i) pool.push_back(input(i == 0 || pick(0, 1) == 0 ? dims : part_of(dims)));
    for (int64_t i = pick(2, 14); i > 0; --i) pool.push_back(add(pool));
    for (std::size_t i = 0; i < pool.size(); ++i) {
      if (i + 1 == pool.size() || pick(0, 8) == 0) graph.output(pool[i]);
    }
  }

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); }
  Dims part_of(Dims dims) {
    for (int64_t& dim : dims) dim = pick(0, 1) == 0 ? 1 : dim;
    return dims;
  }
  TensorId input(const Dims& dims) {
    const TensorId out = graph.input("x" + std::to_string(graph.inputs.size()), dims);
    Values& contents = values.emplace_back(random_values(checked_product(dims).value(), rng, -3, 3));
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double special[] = {std::nan(""), kInfinity, -kInfinity, 1e-42, -0.0};
    for (double& value : contents) value = pick(0, 9) == 0 ? special[pick(0, 4)] : value;
    return out;
  }
  TensorId add(const std::vector<TensorId>& pool) {
    const auto any = [&] { return pool[static_cast<std::size_t>(pick(0, std::ssize(pool) - 1))]; };
    const TensorId x = any(), y = any();
    switch (pick(0, 3)) {
      case 0: return graph.eltwise(x, {static_cast<EltwiseAlgorithm>(pick(0, kEltwiseCount - 1)), 0.5, 2});
      case 1:
        if (graph.tensor(x).dims == graph.tensor(y).dims)
          return graph.add(Kind::sum, SumAttributes{{0.5, 1, -2}}, {x, y, x})[0];
        [[fallthrough]];
      case 2:
        if (graph.tensor(x).dims[0] == graph.tensor(x).dims[1] && graph.tensor(y).dims[0] == graph.tensor(x).dims[0])
          return graph.matmul(x, y);
        [[fallthrough]];
      default: return graph.binary(x, y, static_cast<BinaryAlgorithm>(pick(0, kBinaryCount - 1)));
    }
  }

  std::mt19937 rng;
  Graph graph;
  std::vector<Values> values;
};

TEST(Fuse, ChangesNoBitOfRandomGraphs) {
  std::size_t before = 0, after = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomElementwise random(seed);
    const std::vector<Values> expected = evaluate(random.graph, random.values);
    before += random.graph.nodes.size();
    fuse(random.graph);
    after += random.graph.nodes.size();
    const std::vector<Values> got = evaluate(random.graph, random.values);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].size(), expected[i].size());
      for (std::size_t k = 0; k < got[i].size(); ++k) {
        EXPECT_TRUE(got[i][k] == expected[i][k] || (std::isnan(got[i][k]) && std::isnan(expected[i][k])))
            << got[i][k] << " " << expected[i][k];
      }
    }
  }
  EXPECT_LT(after, before / 2);
}

TEST(PostOps, AreInTheKeyOfACost) {
  const auto key = [](const std::vector<PostOp>& ops) {
    Graph g;
    const TensorId x = g.input("x", {4, 4});
    g.add({.kind = Kind::binary, .attributes = BinaryAttributes{}, .src = {x, x}, .post_ops = ops}, 0);
    return CostContext(g).node_key(0);
  };
  const std::vector<std::vector<PostOp>> all = {
      {},
      {{EltwiseAttributes{relu}, {2}}},
      {{EltwiseAttributes{relu, 0.5}, {2}}},
      {{EltwiseAttributes{relu}, {0}}},
      {{EltwiseAttributes{relu}, {2}}, {EltwiseAttributes{relu}, {3}}},
      {{BinaryAttributes{BinaryAlgorithm::add}, {2, 0}}},
      {{BinaryAttributes{BinaryAlgorithm::mul}, {2, 0}}},
      {{SumAttributes{{1, 2}}, {2, 0}}},
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) EXPECT_EQ(key(all[i]) == key(all[j]), i == j) << i << " " << j;
  }
  std::vector<PostOp> named = all[1];
  named[0].name = "relu_7";
  EXPECT_EQ(key(named), key(all[1])) << "a name costs nothing";
}

TEST(PostOps, ThatDoNotFitAreRefused) {
  const auto refused = [](PostOp op, std::size_t post_sources = 1, Pass pass = Pass::forward_inference) {
    Graph g;
    const TensorId x = g.input("x", {4, 3}), y = g.input("y", {4, 1}), z = g.input("z", {4, 2}),
                   s = g.input("s", {4, 3}, DType::s32);
    Node node{.kind = Kind::binary, .pass = pass, .attributes = BinaryAttributes{}, .src = {x, x, y, z, s}};
    node.post_ops = {std::move(op)};
    node.post_sources = post_sources;
    try {
      g.add(std::move(node), 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return true;
    }
    return false;
  };
  const BinaryAttributes add;
  EXPECT_FALSE(refused({add, {5, 2}}, 3));
  EXPECT_TRUE(refused({add, {5, 3}}, 3)) << "dims that do not fit";
  EXPECT_TRUE(refused({add, {5, 4}}, 3)) << "another type";
  EXPECT_TRUE(refused({add, {5, 6}}, 3)) << "its own result";
  EXPECT_TRUE(refused({add, {5, -1}}, 3));
  EXPECT_TRUE(refused({add, {5}}, 3)) << "a source too few";
  EXPECT_TRUE(refused({EltwiseAttributes{}, {5, 2}}, 3)) << "a source too many";
  EXPECT_TRUE(refused({SumAttributes{{1}}, {5, 2}}, 3)) << "a scale too few";
  EXPECT_TRUE(refused({add, {5, 2}}, 2)) << "a binary node has two sources of its own";
  EXPECT_TRUE(refused({add, {5, 2}}, 9)) << "more than there are";
  EXPECT_TRUE(refused({add, {5, 2}}, 3, Pass::forward_training));
}

}  // namespace
}  // namespace relayout::graph
