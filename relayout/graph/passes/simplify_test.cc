// Simplify: the outputs of random graphs and of models stay what the reference computes; constants are folded,
// identities and unused nodes removed.
#include "relayout/graph/passes/simplify.h"

#include <gtest/gtest.h>

#include <functional>

#include "relayout/graph/models/models.h"
#include "tests/support/nodes.h"
#include "tests/support/simplify_graphs.h"

namespace relayout::graph {
namespace {

using test::count_of;
using test::expect_close;
using test::expect_sound;
using Maker = test::SimplifyGraph;

TEST(Simplify, OutputsOfRandomGraphsStay) {
  std::size_t before = 0, after = 0;
  for (unsigned seed = 0; seed < 10000; ++seed) {
    Maker m(seed);
    Graph& g = m.graph;
    std::vector<TensorId> open{g.input("x", {m.pick(1, 2), m.pick(1, 4), m.pick(2, 4), m.pick(2, 4)})};
    for (int64_t steps = m.pick(2, 8); steps > 0; --steps) {
      open.push_back(m.step(m.coin() ? open.back() : open[static_cast<std::size_t>(m.pick(0, std::ssize(open) - 1))]));
    }
    g.output(open.back());
    if (m.coin()) g.output(open[open.size() / 2]);
    if (m.coin()) {  // a vector at the end
      const Dims shape = m.dims(open.back());
      const TensorId flat = g.reshape(open.back(), {shape[0], shape[1] * shape[2] * shape[3]});
      g.output(m.normalize(g.inner_product(flat, m.weights({3, m.dims(flat)[1]}), m.coin() ? m.constant({3}) : kNone)));
    }
    const Values x = m.values(m.dims(open[0]));
    const std::vector<Values> expected = evaluate(g, std::vector<Values>{x});
    std::vector<std::string> names;
    for (TensorId t : g.outputs) names.push_back(g.tensor(t).name);
    before += g.nodes.size();
    simplify(g);
    after += g.nodes.size();
    expect_sound(g);
    expect_close(expected, evaluate(g, std::vector<Values>{x}));
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(g.tensor(g.outputs[i]).name, names[i]);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_LT(after * 2, before);
}

TEST(Simplify, ModelsStayAndNormalizationGoesIntoConvolutions) {
  for (const ModelBuilder& model : models()) {
    SCOPED_TRACE(model.name);
    Graph g = model.build({});
    Maker m(2);
    std::vector<Values> in;
    for (TensorId t : g.inputs) in.push_back(m.values(g.tensor(t).dims));
    const std::vector<Values> expected = evaluate(g, in);
    simplify(g);
    expect_sound(g);
    expect_close(expected, evaluate(g, in));
    const std::vector<NodeId> makers = producers(g);
    const std::vector<std::vector<NodeId>> readers = consumers(g);
    for (const Node& node : g.nodes) {
      if (node.kind != Kind::batch_normalization || makers[static_cast<std::size_t>(node.src[0])] == kNone) continue;
      const Node& maker = g.node(makers[static_cast<std::size_t>(node.src[0])]);
      EXPECT_TRUE(maker.kind != Kind::convolution || readers[static_cast<std::size_t>(node.src[0])].size() > 1)
          << node.name;
    }
  }
}

TEST(Simplify, ConstantsFoldWithinTheBudget) {
  const auto nodes_left = [](int64_t bytes) {
    Maker m(7);
    Graph& g = m.graph;
    const TensorId c = m.constant({2, 3});
    const TensorId viewed = g.reshape(g.transpose(g.eltwise(c, {.algorithm = EltwiseAlgorithm::exp}), {1, 0}), {6});
    g.output(g.binary(g.input("x", {6}), viewed));
    fold_constants(g, bytes);
    return g.nodes.size();
  };
  EXPECT_EQ(nodes_left(48), 1u);  // the reshape shares the transpose's bytes
  EXPECT_EQ(nodes_left(47), 3u);
  EXPECT_EQ(nodes_left(23), 4u);
}

TEST(Simplify, ReshapedConstantsShareTheirData) {
  Maker m(8);
  const TensorId c = m.constant({2, 3}), r = m.graph.reshape(c, {6});
  fold_constants(m.graph, 0);
  EXPECT_EQ(m.graph.tensor(r).data, m.graph.tensor(c).data);
}

TEST(Simplify, LargeIntegersAndBarriersAreNotFolded) {
  Graph g;
  for (const int64_t value : {(int64_t{1} << 53) + 1, int64_t{1} << 53}) {
    const int64_t values[2] = {value, 1};
    const auto bytes = std::as_bytes(std::span(values));
    const auto data = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    g.transpose(g.constant("c", {1, 2}, DType::s64, data), {1, 0});
  }
  g.add(Kind::barrier, BarrierAttributes{"Foo", {{2}}}, {});
  fold_constants(g);
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].kind, Kind::transpose);
  EXPECT_FALSE(g.tensor(g.nodes[0].dst[0]).constant());
  EXPECT_EQ(g.nodes[1].kind, Kind::barrier);
}

TEST(Simplify, IdentitiesGoUnlessTheirLayoutIsFixedOrTheyAreOutputs) {
  for (int which = 0; which < Maker::kIdentities; ++which) {
    for (const std::string end : {"read", "fixed", "output"}) {
      Maker m(0);
      Graph& g = m.graph;
      const TensorId x = g.input("x", {2, 3, 4, 5}), y = m.identity(x, which);
      if (end == "fixed") g.tensor(y).layout = Format::parse("nhwc").bind({2, 3, 4, 5});
      g.output(end == "output" ? y : g.eltwise(y, {}));
      remove_identities(g);
      prune(g);
      EXPECT_EQ(g.nodes.size(), end == "fixed" ? 2u : 1u) << which << " " << end;
      EXPECT_EQ(g.nodes[0].src[0], 0) << which << " " << end;
      EXPECT_EQ(g.nodes.back().kind == Kind::eltwise, end != "output" || which == 9) << which << " " << end;
    }
  }
}

TEST(Simplify, WhatChangesValuesOrTypesIsNoIdentity) {
  const auto left = [](const std::function<TensorId(Maker&, TensorId)>& step) {
    Maker m(0);
    m.graph.output(m.graph.eltwise(step(m, m.graph.input("x", {2, 4, 3, 3})), {}));
    remove_identities(m.graph);
    return m.graph.nodes.size();
  };
  using M = Maker&;
  EXPECT_EQ(left([](M m, TensorId x) { return m.one(Kind::reorder, ReorderAttributes{DType::bf16}, {x}); }), 2u);
  EXPECT_EQ(left([](M m, TensorId x) { return m.one(Kind::reorder, ReorderAttributes{.shift = 1}, {x}); }), 2u);
  EXPECT_EQ(left([](M m, TensorId x) { return m.graph.transpose(x, {0, 1, 3, 2}); }), 2u);
  EXPECT_EQ(left([](M m, TensorId x) { return m.one(Kind::shuffle, ShuffleAttributes{.groups = 2}, {x}); }), 2u);
  EXPECT_EQ(left([](M m, TensorId x) { return m.one(Kind::sum, SumAttributes{{2}}, {x}); }), 2u);
  EXPECT_EQ(left([](M m, TensorId x) { return m.graph.concat({x, x}); }), 2u);
  EXPECT_EQ(left([](M m, TensorId x) {
              return m.one(Kind::slice, SliceAttributes{{0, 0, 0, 2}, {2, 4, 3, -1}, {1, 1, 1, -1}}, {x});
            }),
            2u);
}

TEST(Simplify, TransposesJoin) {
  Graph g;
  const TensorId x = g.input("x", {2, 3, 4, 5});
  g.output(g.transpose(g.transpose(g.transpose(x, {3, 0, 1, 2}), {1, 0, 3, 2}), {2, 3, 0, 1}));
  const Dims dims = g.tensor(g.outputs[0]).dims;
  simplify(g);
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.tensor(g.outputs[0]).dims, dims);
  expect_sound(g);
}

TEST(Simplify, PruneKeepsInputsAndHints) {
  Graph g;
  g.pass = Pass::forward_training;
  const TensorId x = g.input("x", {2, 3}), unused = g.input("unused", {7}), diff = g.input("diff", {2, 3});
  g.eltwise(x, {.algorithm = EltwiseAlgorithm::exp});
  g.softmax(x);
  const TensorId same = g.eltwise(x, {.algorithm = EltwiseAlgorithm::linear, .alpha = 1});
  g.output(g.add({.kind = Kind::eltwise,
                  .pass = Pass::backward_data,
                  .attributes = g.nodes[2].attributes,
                  .src = {x, diff},
                  .hint = 2},
                 1)[0]);
  simplify(g);
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[1].hint, 0);
  EXPECT_EQ(g.tensor(g.nodes[0].dst[0]).name, "eltwise_2");
  EXPECT_EQ(g.inputs, (std::vector<TensorId>{x, unused, diff}));
  EXPECT_EQ(same, 5);
  expect_sound(g);
}

std::vector<Kind> kinds_of_product(const Dims& a, const Dims& b) {
  Graph graph;
  std::mt19937 rng(3);
  const auto values = [&](const Dims& dims) { return test::random_values(*checked_product(dims), rng, -1, 1); };
  const TensorId x = graph.input("x", a), y = graph.input("y", b);
  const TensorId bias = graph.constant("b", {b.back()}, std::vector<float>(static_cast<std::size_t>(b.back()), 0.5f));
  graph.output(graph.matmul(x, y, bias));
  const std::vector<Values> inputs{values(a), values(b)}, expected = evaluate(graph, inputs);
  simplify(graph);
  EXPECT_EQ(evaluate(graph, inputs), expected);
  std::vector<Kind> out;
  for (const Node& node : graph.nodes) out.push_back(node.kind);
  return out;
}

TEST(Simplify, SingleRowsByOneMatrixAreOneProduct) {
  const std::vector<Kind> alone{Kind::matmul}, joined{Kind::reshape, Kind::matmul, Kind::reshape};
  EXPECT_EQ(kinds_of_product({5, 1, 4}, {1, 4, 3}), joined);
  EXPECT_EQ(kinds_of_product({2, 3, 1, 4}, {1, 1, 4, 3}), joined);
  EXPECT_EQ(kinds_of_product({5, 2, 4}, {1, 4, 3}), alone);
  EXPECT_EQ(kinds_of_product({5, 1, 4}, {5, 4, 3}), alone);
  EXPECT_EQ(kinds_of_product({1, 1, 4}, {1, 4, 3}), alone);
}

}  // namespace
}  // namespace relayout::graph
