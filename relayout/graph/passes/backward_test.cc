// Gradients of whole graphs: those of random graphs equal central differences, and a small network learns.
#include "relayout/graph/passes/backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "relayout/graph/reference/reference.h"
#include "tests/support/nodes.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_net.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::code_of;
using test::elements;
using test::random_values;
using test::RandomGraph;
using test::SmallNet;

/// The sum of all output values, each multiplied by a weight.
double loss(const Graph& graph, const std::vector<Values>& inputs, const std::vector<Values>& weights) {
  const std::vector<Values> out = evaluate(graph, inputs);
  double sum = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    for (std::size_t i = 0; i < weights[k].size(); ++i) sum += out[k][i] * weights[k][i];
  }
  return sum;
}

TEST(Backward, RandomGraphsAgainstCentralDifferences) {
  constexpr double kStep = 1e-5;
  constexpr int kGraphs = 1000;
  std::vector<int> graphs_with(RandomGraph::kOperations.size(), 0);
  int64_t derivatives = 0, independent = 0;
  for (unsigned seed = 0; seed < kGraphs; ++seed) {
    RandomGraph random(seed, 1 + static_cast<int>(seed % 8));
    for (std::size_t i = 0; i < random.used.size(); ++i) graphs_with[i] += random.used[i];
    const Graph forward = random.graph;
    const Gradients gradients = append_backward(random.graph, forward.inputs);
    std::mt19937 rng(seed);
    std::vector<Values> weights, inputs = random.values;
    for (TensorId t : forward.outputs) weights.push_back(random_values(elements(forward, t), rng));
    inputs.insert(inputs.end(), weights.begin(), weights.end());
    const std::vector<Values> out = evaluate(random.graph, inputs);
    std::size_t result = forward.outputs.size();
    for (std::size_t k = 0; k < forward.inputs.size(); ++k) {
      const bool depends = gradients.of[k] != kNone;
      independent += !depends;
      Values& x = random.values[k];
      for (std::size_t i = 0; i < x.size(); i += 1 + x.size() / 8) {
        const double at = x[i];
        x[i] = at + kStep;
        const double above = loss(forward, random.values, weights);
        x[i] = at - kStep;
        const double below = loss(forward, random.values, weights);
        x[i] = at;
        const double want = (above - below) / (2 * kStep), got = depends ? out[result][i] : 0;
        ASSERT_NEAR(got, want, 1e-5 * (1 + std::fabs(want))) << "graph " << seed << ", input " << k << "[" << i << "]";
        ++derivatives;
      }
      result += depends;
    }
  }
  for (std::size_t i = 0; i < graphs_with.size(); ++i) EXPECT_GT(graphs_with[i], 20) << "operation " << i;
  std::printf("%lld derivatives of %d graphs; %lld inputs without influence\n", static_cast<long long>(derivatives),
              kGraphs, static_cast<long long>(independent));
}

TEST(Backward, SmallNetworkLearns) {
  SmallNet net;
  const Graph forward = net.graph;
  std::vector<TensorId> parameters(forward.inputs.begin() + 1, forward.inputs.end());
  append_backward(net.graph, parameters);
  double first = 0, last = 0;
  for (int step = 0; step <= 50; ++step) {
    std::vector<Values> inputs = net.values;
    inputs.emplace_back();
    last = SmallNet::cross_entropy(evaluate(forward, net.values)[0], inputs.back());
    if (step == 0) first = last;
    const std::vector<Values> out = evaluate(net.graph, inputs);
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      for (std::size_t i = 0; i < out[k + 1].size(); ++i) net.values[k + 1][i] -= 0.3 * out[k + 1][i];
    }
  }
  std::printf("loss %.4f, after 50 steps %.4f\n", first, last);
  EXPECT_GT(first, 0.9);
  EXPECT_LT(last, first / 10);
}

TEST(Backward, OnlyWhatIsAskedFor) {
  SmallNet net;
  const std::size_t before = net.graph.nodes.size();
  const TensorId bias = net.graph.inputs.back(), images = net.graph.inputs[0];
  const TensorId unused = net.graph.input("unused", {2});
  const TensorId wrt[] = {bias, unused, bias};
  const Gradients g = append_backward(net.graph, wrt);
  // The gradient of the last layer's bias needs only those of the softmax and the inner product.
  EXPECT_EQ(net.graph.nodes.size(), before + 2);
  EXPECT_EQ(net.graph.node(static_cast<int>(before) + 1).hint, static_cast<int>(before) - 2);
  EXPECT_EQ(g.of[1], kNone);
  EXPECT_EQ(g.of[0], g.of[2]);
  EXPECT_EQ(net.graph.tensor(g.of[0]).dims, net.graph.tensor(bias).dims);
  EXPECT_EQ(g.diff_outputs.size(), 1u);
  EXPECT_EQ(net.graph.tensor(g.diff_outputs[0]).dims, (Dims{SmallNet::kBatch, SmallNet::kClasses}));
  // The input gets a gradient if it is asked for.
  SmallNet other;
  const Gradients of_images = append_backward(other.graph, std::span(&images, 1));
  EXPECT_EQ(other.graph.tensor(of_images.of[0]).dims, (Dims{SmallNet::kBatch, 1, 8, 8}));
  for (const Node& node : other.graph.nodes) EXPECT_NE(node.pass, Pass::backward_weights) << node.name;
}

TEST(Backward, NamesAreDistinct) {
  const auto check = [](Graph& graph) {
    append_backward(graph, std::vector<TensorId>(graph.inputs));
    std::vector<std::string> names;
    for (const Tensor& t : graph.tensors) names.push_back(t.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    EXPECT_TRUE(twice == names.end()) << *twice;
  };
  SmallNet net;
  check(net.graph);
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomGraph random(seed, 8);
    check(random.graph);
  }
}

TEST(Backward, PowersOfTensors) {
  Graph g;
  g.pass = Pass::forward_training;
  const TensorId a = g.input("a", {2, 3}, DType::f64), b = g.input("b", {1, 3}, DType::f64);
  g.output(g.binary(a, b, BinaryAlgorithm::pow));
  append_backward(g, std::vector{a, b});
  const Values bases = {1, 2, 3, 0.5, 4, 5}, exponents = {2, -1, 0.5}, weights = {1, 2, 3, 4, 5, 6};
  const std::vector<Values> out = evaluate(g, std::vector{bases, exponents, weights});
  ASSERT_EQ(out.size(), 3u);
  Values of_exponents(3, 0);
  for (std::size_t i = 0; i < 6; ++i) {
    const double x = bases[i], y = exponents[i % 3];
    EXPECT_NEAR(out[1][i], weights[i] * y * std::pow(x, y - 1), 1e-12) << i;
    of_exponents[i % 3] += weights[i] * std::pow(x, y) * std::log(x);
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(out[2][i], of_exponents[i], 1e-12) << i;
}

TEST(Backward, RefusesWhatHasNoGradient) {
  using Build = std::function<TensorId(Graph&, TensorId)>;
  const auto code = [](const Build& build, Pass pass = Pass::forward_training) {
    Graph g;
    g.pass = pass;
    const TensorId x = g.input("x", {2, 2, 3, 3});
    g.output(build(g, x));
    return code_of([&] { append_backward(g, std::span(&x, 1)); });
  };
  const auto eltwise = [](EltwiseAlgorithm algorithm) {
    return [algorithm](Graph& g, TensorId x) { return g.eltwise(x, {algorithm}); };
  };
  EXPECT_EQ(code(eltwise(EltwiseAlgorithm::round)), ErrorCode::unsupported);
  EXPECT_EQ(code(eltwise(EltwiseAlgorithm::sign)), ErrorCode::unsupported);
  EXPECT_EQ(code(eltwise(EltwiseAlgorithm::relu), Pass::forward_inference), ErrorCode::unsupported);
  EXPECT_EQ(
      code([](Graph& g, TensorId x) { return g.add(Kind::batch_normalization, NormalizationAttributes{}, {x})[1]; }),
      ErrorCode::unsupported);
  EXPECT_EQ(code([](Graph& g, TensorId x) {
              return g.add(Kind::reduction, ReductionAttributes{ReductionAlgorithm::max, {1}}, {x})[0];
            }),
            ErrorCode::unsupported);
  EXPECT_EQ(code([](Graph& g, TensorId x) {
              return g.add(Kind::gather, GatherAttributes{}, {x, g.input("i", {1}, DType::s32)})[0];
            }),
            ErrorCode::unsupported);
  EXPECT_EQ(code([](Graph& g, TensorId x) {
              const PadAttributes a{{0, 0, 1, 1}, {0, 0, 0, 0}, PadMode::edge};
              return g.add(Kind::pad, a, {x})[0];
            }),
            ErrorCode::unsupported);
  Graph g;
  const TensorId index = g.input("i", {1}, DType::s32), none = 7;
  EXPECT_EQ(code_of([&] { append_backward(g, std::span(&index, 1)); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { append_backward(g, std::span(&none, 1)); }), ErrorCode::invalid_argument);
}

TEST(Backward, ATrainingStepHasItsWeightsAsInputs) {
  Graph graph;
  graph.pass = Pass::forward_training;
  const TensorId x = graph.input("x", {2, 3, 5, 5});
  const TensorId w = graph.constant("w", {4, 3, 3, 3}, std::vector<float>(108, 1));
  graph.constant("unused", {7}, std::vector<float>(7, 1));
  graph.output(graph.convolution(x, w));
  const Gradients gradients = append_training(graph);
  // The inputs are x, w and the gradient of the result; the outputs are the result and the gradient of w.
  ASSERT_EQ(graph.inputs.size(), 3U);
  ASSERT_EQ(graph.outputs.size(), 2U);
  EXPECT_EQ(graph.tensor(graph.inputs[1]).name, "w");
  EXPECT_FALSE(graph.tensor(graph.inputs[1]).constant());
  EXPECT_FALSE(graph.tensor(graph.inputs[1]).layout);
  ASSERT_EQ(gradients.of.size(), 1U);
  EXPECT_EQ(graph.outputs[1], gradients.of[0]);
  EXPECT_EQ(graph.tensor(gradients.of[0]).dims, (Dims{4, 3, 3, 3}));
}

}  // namespace
}  // namespace relayout::graph
