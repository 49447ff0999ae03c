// ONNX operators that multiply matrices, normalize, reduce or work element by element: what the reference makes of
// their import is what ONNX's specification says, by its formulas or by values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

TEST(OnnxGemm, EveryFormAgainstTheFormula) {
  const int64_t m = 2, k = 3, n = 4;
  const Values a = scattered(m * k), b = scattered(k * n, 1);
  for (int form = 0; form < 24; ++form) {
    const bool trans_a = form % 2 != 0, trans_b = form / 2 % 2 != 0;
    const double alpha = form < 12 ? 1 : 0.5, beta = form < 12 ? 1 : 2;
    const std::vector<Integers> biases = {{n}, {1}, {m, n}, {m, 1}, {1, n}, {}};
    const Integers bias = biases[static_cast<std::size_t>(form / 4 % 6)];
    int64_t count = 1;
    for (const int64_t dim : bias) count *= dim;
    const Values c = scattered(count, 2);
    Net net;
    net.input("a", trans_a ? Integers{k, m} : Integers{m, k});
    net.constant("b", trans_b ? Integers{n, k} : Integers{k, n}, b).constant("c", bias, c);
    net.node("Gemm", {"a", "b", "c"}, {"y"},
             {{"alpha", alpha}, {"beta", beta}, {"transA", int64_t{trans_a}}, {"transB", int64_t{trans_b}}});
    net.output("y");
    Values expected;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += a[static_cast<std::size_t>(trans_a ? l * m + i : i * k + l)] *
                 b[static_cast<std::size_t>(trans_b ? j * k + l : l * n + j)];
        }
        const int64_t row = bias.size() == 2 && bias[0] == m ? i : 0;
        const int64_t width = bias.empty() ? 1 : bias.back(), column = width == n ? j : 0;
        expected.push_back(alpha * sum + beta * c[static_cast<std::size_t>(row * width + column)]);
      }
    }
    SCOPED_TRACE(form);
    expect_near(run(net, {a})[0], expected);
  }
}

TEST(OnnxGemm, TakesTheDimsBeforeAFlatten) {
  Net net;
  net.input("x", {2, 3, 2, 2}).node("Flatten", {"x"}, {"f"}).constant("w", {5, 12}, scattered(60));
  net.node("Gemm", {"f", "w"}, {"y"}, {{"transB", int64_t{1}}}).output("y");
  const OnnxModel model = import(net);
  EXPECT_EQ(kinds(model.graph), std::vector{Kind::inner_product});
  EXPECT_EQ(model.graph.tensor(model.graph.nodes[0].src[1]).dims, (Dims{5, 3, 2, 2}));
  const Values x = scattered(24, 3), w = scattered(60);
  Values expected;
  for (std::size_t i = 0; i < 10; ++i) {
    double sum = 0;
    for (std::size_t l = 0; l < 12; ++l) sum += x[i / 5 * 12 + l] * w[i % 5 * 12 + l];
    expected.push_back(sum);
  }
  expect_near(run(model, {x})[0], expected);
}

TEST(OnnxMatMul, RanksAreBroadcast) {
  Net net;
  net.input("a", {2, 1, 2, 3}).constant("b", {3, 2}, {1, 2, 3, 4, 5, 6}).node("MatMul", {"a", "b"}, {"y"}).output("y");
  expect_near(run(net, {counted(12)})[0], {22, 28, 49, 64, 76, 100, 103, 136});
  Net vector;
  vector.input("a", {3}).constant("b", {3}, {1, 2, 3}).node("MatMul", {"a", "b"}, {"y"}).output("y");
  EXPECT_EQ(dims_of(import(vector)), Dims{});
  expect_near(run(vector, {{4, 5, 6}})[0], {32});
}

TEST(OnnxNormalization, Batch) {
  for (const Integers& dims : {Integers{1, 2, 2}, Integers{1, 2, 1, 2, 1, 1, 1}}) {
    Net net(9);
    net.input("x", dims).constant("s", {2}, {2, 3}).constant("b", {2}, {1, -1}).constant("m", {2}, {1, 2});
    net.constant("v", {2}, {4, 9}).node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}, {{"epsilon", 0.0}});
    net.output("y");
    expect_near(run(net, {{3, 5, 2, 8}})[0], {3, 5, -1, 5});
    EXPECT_EQ(dims_of(import(net)), Dims(std::span<const int64_t>(dims)));
  }
}

TEST(OnnxNormalization, InstanceAndLayer) {
  Net instance;
  instance.input("x", {1, 2, 2, 1}).constant("s", {2}, {2, 3}).constant("b", {2}, {1, -1});
  instance.node("InstanceNormalization", {"x", "s", "b"}, {"y"}, {{"epsilon", 0.0}}).output("y");
  expect_near(run(instance, {{1, 3, 4, 8}})[0], {-1, 3, -4, 2});

  Net layer(17);
  layer.input("x", {1, 2, 2}).constant("s", {2, 2}, {1, 2, 3, 4}).constant("b", {2, 2}, {0, 0, 0, 10});
  layer.node("LayerNormalization", {"x", "s", "b"}, {"y"}, {{"axis", int64_t{1}}, {"epsilon", 0.0}}).output("y");
  expect_near(run(layer, {{1, 1, 3, 3}})[0], {-1, -2, 3, 14});
}

TEST(OnnxNormalization, Lrn) {
  const Values x = scattered(5);
  Net net = one("LRN", {1, 5, 1}, {{"size", int64_t{3}}, {"alpha", 0.3}, {"beta", 0.5}, {"bias", 2.0}});
  Values expected;
  for (int c = 0; c < 5; ++c) {
    double sum = 0;
    for (int j = std::max(c - 1, 0); j <= std::min(c + 1, 4); ++j)
      sum += x[static_cast<std::size_t>(j)] * x[static_cast<std::size_t>(j)];
    expected.push_back(x[static_cast<std::size_t>(c)] / std::sqrt(2 + static_cast<double>(0.3f) / 3 * sum));
  }
  expect_near(run(net, {x})[0], expected);
  net = one("LRN", {1, 5, 1, 1, 1, 1, 1}, {{"size", int64_t{3}}, {"alpha", 0.3}, {"beta", 0.5}, {"bias", 2.0}});
  expect_near(run(net, {x})[0], expected);
  EXPECT_EQ(dims_of(import(net)), (Dims{1, 5, 1, 1, 1, 1, 1}));
  Net even = one("LRN", {1, 5, 1}, {{"size", int64_t{4}}});
  EXPECT_EQ(import(even).warnings.size(), 1u);
}

TEST(OnnxNormalization, SoftmaxBeforeAndSince13) {
  const Values x = scattered(12);
  const auto over = [&](const std::function<bool(std::size_t, std::size_t)>& together) {
    Values out;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < x.size(); ++j) sum += together(i, j) ? std::exp(x[j]) : 0;
      out.push_back(std::exp(x[i]) / sum);
    }
    return out;
  };
  const Values flattened = over([](std::size_t i, std::size_t j) { return i / 6 == j / 6; });
  expect_near(run(one("Softmax", {2, 3, 2}, {}, 11), {x})[0], flattened);
  expect_near(run(one("Softmax", {2, 3, 2}, {{"axis", int64_t{1}}}, 13), {x})[0],
              over([](std::size_t i, std::size_t j) { return i / 6 == j / 6 && i % 2 == j % 2; }));
  expect_near(run(one("Softmax", {2, 3, 2}, {}, 13), {x})[0],
              over([](std::size_t i, std::size_t j) { return i / 2 == j / 2; }));
  Values logs = flattened;
  for (double& value : logs) value = std::log(value);
  expect_near(run(one("LogSoftmax", {2, 3, 2}, {}, 11), {x})[0], logs);
}

struct Function {
  const char* operation;
  std::vector<Attribute> attributes;
  std::function<double(double)> f;
};

TEST(OnnxElementwise, Functions) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::vector<Function> functions = {
      {"Relu", {}, [](double x) { return std::max(x, 0.0); }},
      {"LeakyRelu", {}, [](double x) { return x < 0 ? 0.01 * x : x; }},
      {"LeakyRelu", {{"alpha", 0.25}}, [](double x) { return x < 0 ? 0.25 * x : x; }},
      {"Sigmoid", {}, sigmoid},
      {"Tanh", {}, [](double x) { return std::tanh(x); }},
      {"Elu", {{"alpha", 2.0}}, [](double x) { return x < 0 ? 2 * (std::exp(x) - 1) : x; }},
      {"Selu", {}, [](double x) { return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * (std::exp(x) - 1) : x); }},
      {"HardSigmoid", {}, [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"HardSwish", {}, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"Softplus", {}, [](double x) { return std::log1p(std::exp(x)); }},
      {"Mish", {}, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Gelu", {}, [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"Exp", {}, [](double x) { return std::exp(x); }},
      {"Abs", {}, [](double x) { return std::abs(x); }},
      {"Neg", {}, [](double x) { return -x; }},
      {"Round", {}, [](double x) { return std::nearbyint(x); }},
  };
  Values x;
  for (double value = -4; value <= 4; value += 0.5) x.push_back(value);
  for (const Function& function : functions) {
    SCOPED_TRACE(function.operation);
    Values expected;
    for (const double value : x) expected.push_back(function.f(value));
    expect_near(run(one(function.operation, {17}, function.attributes, 20), {x})[0], expected, 2e-6);
  }
  expect_near(run(one("Sqrt", {3}), {{0, 4, 9}})[0], {0, 2, 3});
  expect_near(run(one("Log", {2}), {{1, 4}})[0], {0, std::log(4)});
  expect_near(run(one("Reciprocal", {2}), {{2, -4}})[0], {0.5, -0.25});
  const double tanh_form = 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (1 + 0.044715)));
  expect_near(run(one("Gelu", {1}, {{"approximate", std::string("tanh")}}, 20), {{1}})[0], {tanh_form});
}

TEST(OnnxElementwise, ClipByAttributesAndBySources) {
  const Values x = {-2, 0, 3, 8};
  expect_near(run(one("Clip", {4}, {{"min", 0.0}, {"max", 6.0}}, 7), {x})[0], {0, 0, 3, 6});
  expect_near(run(one("Clip", {4}, {{"max", 1.0}}, 7), {x})[0], {-2, 0, 1, 1});
  Net bounded(11);
  bounded.input("x", {4}).constant("low", {}, {-1}).constant("high", {}, {5});
  bounded.node("Clip", {"x", "low", "high"}, {"y"}).output("y");
  expect_near(run(bounded, {x})[0], {-1, 0, 3, 5});
  Net above(11);
  above.input("x", {4}).constant("high", {}, {2}).node("Clip", {"x", "", "high"}, {"y"}).output("y");
  expect_near(run(above, {x})[0], {-2, 0, 2, 2});
  Net crossed(12);
  crossed.input("x", {4}).constant("low", {}, {2}).constant("high", {}, {1});
  crossed.node("Clip", {"x", "low", "high"}, {"y"}).output("y");
  expect_near(run(crossed, {x})[0], {1, 1, 1, 1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool is_low : {true, false}) {
    Net undefined(12);
    undefined.input("x", {4}).constant("low", {}, {is_low ? nan : -1}).constant("high", {}, {is_low ? 5 : nan});
    undefined.node("Clip", {"x", "low", "high"}, {"y"}).output("y");
    EXPECT_TRUE(std::ranges::all_of(run(undefined, {x})[0], [](double y) { return std::isnan(y); })) << is_low;
  }
  Net relu(11);
  relu.input("x", {4}).constant("low", {}, {0}).node("Clip", {"x", "low"}, {"y"}).output("y");
  EXPECT_EQ(import(relu).graph.nodes[0].as<EltwiseAttributes>().algorithm, EltwiseAlgorithm::relu);
}

TEST(OnnxElementwise, PowAndPrelu) {
  for (const double exponent : {2.0, 0.5, 3.0, -1.0}) {
    Net net;
    net.input("x", {3}).constant("e", {}, {exponent}).node("Pow", {"x", "e"}, {"y"}).output("y");
    expect_near(run(net, {{1, 4, 9}})[0], {1, std::pow(4, exponent), std::pow(9, exponent)});
  }
  Net prelu;
  prelu.input("x", {1, 2, 2}).constant("slope", {2, 1}, {0.5, 0.25}).node("PRelu", {"x", "slope"}, {"y"}).output("y");
  expect_near(run(prelu, {{-2, 2, -4, 4}})[0], {-1, 2, -1, 4});
}

TEST(OnnxElementwise, BinaryWithTensorsAndScalarsOnEitherSide) {
  const auto scalar = [](const char* operation, bool left) {
    Net net;
    net.input("x", {2}).constant("c", {}, {4});
    net.node(operation, left ? Texts{"c", "x"} : Texts{"x", "c"}, {"y"}).output("y");
    return run(net, {{2, 8}})[0];
  };
  expect_near(scalar("Add", false), {6, 12});
  expect_near(scalar("Sub", false), {-2, 4});
  expect_near(scalar("Sub", true), {2, -4});
  expect_near(scalar("Mul", true), {8, 32});
  expect_near(scalar("Div", false), {0.5, 2});
  expect_near(scalar("Div", true), {2, 0.5});
  expect_near(scalar("Max", false), {4, 8});
  expect_near(scalar("Min", false), {2, 4});

  Net broadcast;
  broadcast.input("a", {2, 1, 2}).input("b", {3, 1}).node("Sub", {"a", "b"}, {"y"}).output("y");
  EXPECT_EQ(dims_of(import(broadcast)), (Dims{2, 3, 2}));
  expect_near(run(broadcast, {{1, 2, 3, 4}, {10, 20, 30}})[0],
              {-9, -8, -19, -18, -29, -28, -7, -6, -17, -16, -27, -26});

  Net sum;
  sum.input("a", {2}).input("b", {2}).input("c", {2}).node("Sum", {"a", "b", "c"}, {"y"}).output("y");
  EXPECT_EQ(kinds(import(sum).graph), std::vector{Kind::sum});
  expect_near(run(sum, {{1, 2}, {10, 20}, {100, 200}})[0], {111, 222});
  Net uneven;
  uneven.input("a", {2, 2}).input("b", {2}).node("Sum", {"a", "b"}, {"y"}).output("y");
  expect_near(run(uneven, {{1, 2, 3, 4}, {10, 20}})[0], {11, 22, 13, 24});
}

TEST(OnnxReduce, AxesAsAttributeAndSource) {
  const Values x = counted(6);
  expect_near(run(one("ReduceMean", {2, 3}, {{"axes", Integers{-1}}}), {x})[0], {2, 5});
  expect_near(run(one("ReduceMax", {2, 3}, {{"axes", Integers{0}}, {"keepdims", int64_t{0}}}), {x})[0], {4, 5, 6});
  expect_near(run(one("ReduceMin", {2, 3}), {x})[0], {1});
  expect_near(run(one("ReduceProd", {2, 3}, {{"axes", Integers{1}}}), {x})[0], {6, 120});
  expect_near(run(one("ReduceL1", {2, 2}, {{"axes", Integers{1}}}), {{-1, 2, -3, 4}})[0], {3, 7});
  expect_near(run(one("ReduceL2", {2, 2}, {{"axes", Integers{1}}}), {{3, 4, -6, 8}})[0], {5, 10});
  Net sourced(13);
  sourced.input("x", {2, 3}).integers("axes", {1});
  sourced.node("ReduceSum", {"x", "axes"}, {"y"}, {{"keepdims", int64_t{0}}}).output("y");
  EXPECT_EQ(dims_of(import(sourced)), Dims{2});
  expect_near(run(sourced, {x})[0], {6, 15});
  expect_near(run(one("ReduceSum", {2, 0}, {}, 12), {{}})[0], {0});
  expect_near(run(one("ReduceProd", {2, 0}, {{"axes", Integers{1}}}, 12), {{}})[0], {1, 1});
  EXPECT_EQ(run(one("ReduceMax", {2, 0}, {{"axes", Integers{1}}}, 12), {{}})[0], Values(2, -INFINITY));
  EXPECT_EQ(run(one("ReduceMin", {2, 0}, {{"axes", Integers{1}}}, 12), {{}})[0], Values(2, INFINITY));
  Net integers(12);
  integers.input("x", {0, 2}, ::onnx::TensorProto::INT8);
  integers.node("ReduceMax", {"x"}, {"y"}, {{"axes", Integers{0}}}).output("y");
  EXPECT_EQ(run(integers, {{}})[0], Values(2, -128));
  EXPECT_TRUE(import(one("ReduceSum", {2, 3}, {{"noop_with_empty_axes", int64_t{1}}})).graph.nodes.empty());
}

}  // namespace
}  // namespace relayout::graph::test
