// Simplify: the outputs of random graphs stay what the reference computes, and each pass does and leaves what it says.
#include "relayout/graph/passes/simplify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "relayout/graph/ir/ops.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::graph {
namespace {

/// Makes tensors with random values, and graphs of what simplify looks for.
struct Maker {
  explicit Maker(unsigned seed) : engine(seed) {}

  int64_t pick(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(engine); }
  bool coin() { return pick(0, 1) == 0; }
  Values values(const Dims& dims, double least = -1, double most = 1) {
    Values out(static_cast<std::size_t>(*checked_product(dims)));
    for (double& v : out) v = std::uniform_real_distribution<double>(least, most)(engine);
    return out;
  }
  TensorId constant(const Dims& dims, double least = -1, double most = 1, DType dtype = DType::f32) {
    auto data = std::make_shared<const std::vector<std::byte>>(store(values(dims, least, most), dtype));
    return graph.constant("c" + std::to_string(graph.tensors.size()), dims, dtype, data);
  }
  TensorId one(Kind kind, NodeAttributes attributes, std::vector<TensorId> src) {
    return graph.add(kind, std::move(attributes), std::move(src))[0];
  }
  const Dims& dims(TensorId t) const { return graph.tensor(t).dims; }

  TensorId normalize(TensorId x) {
    const Dims channel{dims(x)[1]};
    return one(Kind::batch_normalization, NormalizationAttributes{},
               {x, coin() ? constant(channel, 0.5, 2) : kNone, coin() ? constant(channel) : kNone, constant(channel),
                constant(channel, 0.2, 2)});
  }
  TensorId channel_binary(TensorId x) {
    Dims channel(dims(x).size(), 1);
    if (pick(0, 3) > 0) channel[1] = dims(x)[1];
    const TensorId c = constant(channel, 0.5, 2);
    const auto algorithm = static_cast<BinaryAlgorithm>(pick(0, 5));  // to min
    // Not c / x: it would magnify rounding where x is near zero.
    return coin() || algorithm == BinaryAlgorithm::div ? graph.binary(x, c, algorithm) : graph.binary(c, x, algorithm);
  }
  /// Weights that only views separate from their constant.
  TensorId weights(const Dims& wanted) {
    switch (pick(0, 2)) {
      case 0: return graph.reshape(constant({*checked_product(wanted)}), wanted);
      case 1: {
        Dims swapped = wanted;
        std::swap(swapped[0], swapped[1]);
        std::vector<int> order(static_cast<std::size_t>(wanted.size()));
        std::iota(order.begin(), order.end(), 0);
        std::swap(order[0], order[1]);
        return graph.transpose(constant(swapped), order);
      }
      default: return constant(wanted);
    }
  }
  TensorId convolve(TensorId x) {
    const int64_t channels = dims(x)[1], groups = channels % 2 == 0 && coin() ? 2 : 1, out = pick(1, 3);
    Dims shape{out, channels / groups, pick(1, 2), pick(1, 2)};
    if (groups > 1) shape.insert(0, groups);
    const TensorId w = weights(shape), b = coin() ? constant({out * groups}) : kNone;
    const ConvolutionAttributes a{.pads_begin = {1, 0}, .pads_end = {0, 1}, .groups = groups};
    return coin() ? graph.convolution(x, w, b, a) : graph.deconvolution(x, w, b, {.groups = groups});
  }
  static constexpr int kIdentities = 10;
  TensorId identity(TensorId x, int64_t which) {
    const Dims shape = dims(x);
    switch (which) {
      case 0: return graph.transpose(graph.transpose(x, {0, 2, 3, 1}), {0, 3, 1, 2});
      case 1: return graph.reshape(graph.reshape(x, {shape[0], shape[1] * shape[2], shape[3]}), shape);
      case 2: return graph.sum({x});
      case 3: return graph.concat({x});
      case 4: return one(Kind::slice, SliceAttributes{Dims(4, 0), shape, Dims(4, 1)}, {x});
      case 5: return one(Kind::reorder, ReorderAttributes{}, {x});
      case 6: return one(Kind::pad, PadAttributes{Dims(4, 0), Dims(4, 0)}, {x});
      case 7: return one(Kind::broadcast, BroadcastAttributes{shape}, {x});
      case 8: return one(Kind::shuffle, ShuffleAttributes{.groups = shape[1]}, {x});
      default: return graph.eltwise(x, {.algorithm = EltwiseAlgorithm::linear, .alpha = 1});
    }
  }
  TensorId identity(TensorId x) { return identity(x, pick(0, kIdentities - 1)); }
  TensorId step(TensorId x) {
    switch (pick(0, 7)) {
      case 0:
      case 1: return convolve(x);
      case 2: return normalize(x);
      case 3: return channel_binary(x);
      case 4: return identity(x);
      case 5: return graph.concat({x, normalize(x)});
      case 6: return graph.sum({x, identity(x)});
      default:
        return graph.eltwise(
            x, {.algorithm = coin() ? EltwiseAlgorithm::tanh : EltwiseAlgorithm::linear, .alpha = 0.5, .beta = 0.25});
    }
  }

  std::mt19937 engine;
  Graph graph{};
};

/// Every node reads what is there, gives what infer says, and every tensor comes from one place.
void expect_sound(const Graph& graph) {
  std::vector<int> made(graph.tensors.size(), 0);
  for (std::size_t t = 0; t < made.size(); ++t) made[t] = graph.tensors[t].constant() ? 1 : 0;
  for (TensorId t : graph.inputs) ++made[static_cast<std::size_t>(t)];
  for (const Node& node : graph.nodes) {
    for (TensorId t : node.src) {
      if (t != kNone) ASSERT_EQ(made.at(static_cast<std::size_t>(t)), 1);
    }
    const auto specs = infer(graph, node, static_cast<int>(node.dst.size()));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (node.dst[i] == kNone) continue;
      ++made.at(static_cast<std::size_t>(node.dst[i]));
      ASSERT_EQ(graph.tensor(node.dst[i]).dims, specs[i]->dims);
    }
  }
  for (int count : made) ASSERT_EQ(count, 1);
}

void expect_close(const std::vector<Values>& a, const std::vector<Values>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    double largest = 1;
    for (double v : a[i]) largest = std::max(largest, std::abs(v));
    for (std::size_t k = 0; k < a[i].size(); ++k) ASSERT_NEAR(a[i][k], b[i][k], 1e-4 * largest) << i << " " << k;
  }
}

int count_of(const Graph& graph, Kind kind) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.kind == kind; }));
}

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

}  // namespace
}  // namespace relayout::graph
