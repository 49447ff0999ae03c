// ONNX operators that divide integers, repeat, average, take powers or are several primitives here: what the reference
// makes of their import is what ONNX's specification says, by its formulas or by values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

using ::onnx::TensorProto;

TEST(OnnxDiv, IntegersTruncateTowardZero) {
  for (const int type : {TensorProto::INT8, TensorProto::INT16, TensorProto::INT32, TensorProto::INT64}) {
    Net net(14);
    net.input("a", {8}, type).input("b", {8}, type).node("Div", {"a", "b"}, {"y"}).output("y");
    EXPECT_EQ(run(net, {{7, -7, 7, -7, 1, -1, 5, 0}, {2, 2, -2, -2, 2, 2, 3, 4}})[0],
              (Values{3, -3, -3, 3, 0, 0, 1, 0}))
        << type;
  }
  for (const int type : {TensorProto::UINT8, TensorProto::UINT16, TensorProto::UINT32}) {
    Net net(14);
    net.input("a", {4}, type).input("b", {4}, type).node("Div", {"a", "b"}, {"y"}).output("y");
    EXPECT_EQ(run(net, {{255, 7, 1, 200}, {2, 4, 2, 200}})[0], (Values{127, 1, 0, 1})) << type;
  }
  Net large(14);
  large.input("a", {2}, TensorProto::INT32).input("b", {2}, TensorProto::INT32).node("Div", {"a", "b"}, {"y"});
  large.output("y");
  EXPECT_EQ(run(large, {{2147483647, -2147483647}, {2147483646, 2147483646}})[0], (Values{1, -1}));
}

TEST(OnnxDiv, ByZeroAndBeyondTheTypeAreAsDocumented) {
  Net net(14);
  net.input("a", {3}, TensorProto::INT8).input("b", {3}, TensorProto::INT8).node("Div", {"a", "b"}, {"y"}).output("y");
  EXPECT_EQ(run(net, {{5, -5, -128}, {0, 0, -1}})[0], (Values{0, 0, 127}));
}

TEST(OnnxDiv, OfConstantsTruncatesToo) {
  Net net;
  net.input("x", {2}).integers("a", {-7, 7}).integers("b", {2, -2}).node("Div", {"a", "b"}, {"q"});
  net.node("Cast", {"q"}, {"f"}, {{"to", int64_t{TensorProto::FLOAT}}}).node("Add", {"x", "f"}, {"y"}).output("y");
  expect_near(run(net, {{0, 0}})[0], {-3, -3});
  EXPECT_EQ(kinds(import(net).graph).size(), 1u);
}

TEST(OnnxMod, SignIsThatOfTheDivisorOrOfTheDividend) {
  const auto rests = [](int64_t fmod) {
    Net net;
    net.integers("a", {-7, 7, -7, 7}).integers("b", {3, -3, -3, 3}).node("Mod", {"a", "b"}, {"y"}, {{"fmod", fmod}});
    net.output("y");
    return run(net, {})[0];
  };
  EXPECT_EQ(rests(0), (Values{2, -2, -1, 1}));
  EXPECT_EQ(rests(1), (Values{-1, 1, -1, 1}));
}

double gelu_of(double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }

TEST(OnnxErf, ErfAndSign) {
  expect_near(run(one("Erf", {3}), {{-1, 0, 0.5}})[0], {std::erf(-1), 0, std::erf(0.5)});
  expect_near(run(one("Sign", {4}), {{-2.5, 0, 1e-9, 3}})[0], {-1, 0, 1, 1});
  Net constant;
  constant.input("x", {2}).constant("c", {2}, {0.5, -2}).node("Erf", {"c"}, {"e"}).node("Sign", {"c"}, {"s"});
  constant.node("Mul", {"e", "s"}, {"p"}).node("Add", {"x", "p"}, {"y"}).output("y");
  EXPECT_EQ(kinds(import(constant).graph), std::vector{Kind::binary});
  expect_near(run(constant, {{0, 0}})[0], {std::erf(0.5), std::erf(2)});
}

/// Adds x / sqrt(2), erf and + 1; the result is called "u".
Net gelu_head() {
  Net net;
  net.input("x", {2, 3}).constant("root", {}, {std::sqrt(2.0)}).constant("one", {}, {1}).constant("half", {}, {0.5});
  return net.node("Div", {"x", "root"}, {"d"}).node("Erf", {"d"}, {"e"}).node("Add", {"e", "one"}, {"u"});
}

TEST(OnnxGelu, EveryOrderOfItsFactorsIsOneNode) {
  const Values x = {-2, -0.5, 0, 0.25, 1, 3};
  Values expected;
  for (const double value : x) expected.push_back(gelu_of(value));
  const std::vector<std::vector<Texts>> orders = {{{"x", "u", "a"}, {"a", "half", "y"}},
                                                  {{"x", "half", "a"}, {"a", "u", "y"}},
                                                  {{"u", "half", "a"}, {"x", "a", "y"}},
                                                  {{"half", "x", "a"}, {"u", "a", "y"}}};
  for (const std::vector<Texts>& order : orders) {
    Net net = gelu_head();
    for (const Texts& names : order) net.node("Mul", {names[0], names[1]}, {names[2]});
    const OnnxModel model = import(net.output("y"));
    ASSERT_EQ(kinds(model.graph), std::vector{Kind::eltwise});
    EXPECT_EQ(model.graph.nodes[0].as<EltwiseAttributes>().algorithm, EltwiseAlgorithm::gelu_erf);
    expect_near(run(model, {x})[0], expected);
  }
  Net divided = gelu_head();
  divided.constant("two", {}, {2}).node("Mul", {"x", "u"}, {"a"}).node("Div", {"a", "two"}, {"y"}).output("y");
  EXPECT_EQ(kinds(import(divided).graph).size(), 1u);
}

TEST(OnnxGelu, WhatIsNearlyOneStays) {
  const auto nodes = [](Net net, const std::string& factor) {
    net.node("Mul", {"x", "u"}, {"a"}).node("Mul", {"a", factor}, {"y"}).output("y");
    const OnnxModel model = import(net);
    const Values x = {-2, -0.5, 0, 0.25, 1, 3};
    Values expected;
    for (const double value : x) expected.push_back((factor == "half" ? 1 : 0.5) * gelu_of(value));
    if (factor != "half") expect_near(run(model, {x})[0], expected);
    return model.graph.nodes.size();
  };
  EXPECT_EQ(nodes(gelu_head().constant("quarter", {}, {0.25}), "quarter"), 5u);
  // The factor beside erf is another tensor than x.
  Net other = gelu_head();
  other.input("z", {2, 3}).node("Mul", {"z", "u"}, {"a"}).node("Mul", {"a", "half"}, {"y"}).output("y");
  EXPECT_EQ(import(other).graph.nodes.size(), 5u);
  // x is a factor twice.
  Net twice = gelu_head();
  twice.node("Mul", {"x", "u"}, {"a"}).node("Mul", {"a", "x"}, {"b"}).node("Mul", {"b", "half"}, {"y"}).output("y");
  EXPECT_EQ(import(twice).graph.nodes.size(), 6u);
  // Nodes that others read stay in the graph.
  Net read = gelu_head();
  read.node("Mul", {"x", "u"}, {"a"}).node("Mul", {"a", "half"}, {"y"}).output("y").output("e");
  EXPECT_EQ(import(read).graph.nodes.size(), 3u);
}

TEST(OnnxSwish, WithItsFactor) {
  expect_near(run(one("Swish", {2}, {{"alpha", 2.0}}, 24), {{1, -1}})[0],
              {1 / (1 + std::exp(-2)), -1 / (1 + std::exp(2))});
}

TEST(OnnxTile, RepeatsEachDim) {
  Net net;
  net.input("x", {2, 1, 3}).integers("r", {2, 3, 2}).node("Tile", {"x", "r"}, {"y"}).output("y");
  const OnnxModel model = import(net);
  EXPECT_EQ(dims_of(model), (Dims{4, 3, 6}));
  const Values x = counted(6), y = run(model, {x})[0];
  for (std::size_t i = 0; i < 4 * 3 * 6; ++i) EXPECT_EQ(y[i], x[i / 18 % 2 * 3 + i % 3]) << i;
  Net constant;
  constant.integers("c", {1, 2}).integers("r", {2}).node("Tile", {"c", "r"}, {"y"}).output("y");
  EXPECT_EQ(run(constant, {})[0], (Values{1, 2, 1, 2}));
  EXPECT_TRUE(import(constant).graph.nodes.empty());
  Net none;
  none.input("x", {2}).integers("r", {1}).node("Tile", {"x", "r"}, {"y"}).output("y");
  EXPECT_EQ(run(none, {{1, 2}})[0], (Values{1, 2}));
  Net wrong;
  wrong.input("x", {2, 2}).integers("r", {2}).node("Tile", {"x", "r"}, {"y"}).output("y");
  EXPECT_EQ(code(wrong), ErrorCode::corrupt);
  Net often;
  often.input("x", {2, 3}).integers("r", {1, int64_t{1} << 62}).node("Tile", {"x", "r"}, {"y"}).output("y");
  const Error error = relayout::test::error_of([&] { import(often); });
  EXPECT_EQ(error.code(), ErrorCode::overflow);
  EXPECT_EQ(error.field(), "repeats[1]");
  EXPECT_NE(error.message().find("dim 1 of extent 3, repeated 4611686018427387904 times"), std::string::npos)
      << error.message();
}

TEST(OnnxMean, OfEqualDimsAndBroadcast) {
  Net net;
  net.input("a", {2}).input("b", {2}).input("c", {2}).node("Mean", {"a", "b", "c"}, {"y"}).output("y");
  expect_near(run(net, {{1, 2}, {10, 20}, {100, 200}})[0], {37, 74});
  Net uneven;
  uneven.input("a", {2, 2}).input("b", {2}).node("Mean", {"a", "b"}, {"y"}).output("y");
  expect_near(run(uneven, {{1, 2, 3, 4}, {10, 20}})[0], {5.5, 11, 6.5, 12});
  expect_near(run(one("Mean", {2}), {{3, 4}})[0], {3, 4});
}

TEST(OnnxExpand, BothSidesRepeat) {
  Net net;
  net.input("x", {3, 1}).integers("shape", {2, 1, 2}).node("Expand", {"x", "shape"}, {"y"}).output("y");
  EXPECT_EQ(dims_of(import(net)), (Dims{2, 3, 2}));
  expect_near(run(net, {{1, 2, 3}})[0], {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3});
}

TEST(OnnxGroupNormalization, ScalesAreOfGroupsAndThenOfChannels) {
  const auto net = [](int64_t opset, const Integers& dims, const Numbers& scale, const Numbers& shift) {
    Net out(opset);
    out.input("x", {1, 4, 1}).constant("s", dims, scale).constant("b", dims, shift);
    out.node("GroupNormalization", {"x", "s", "b"}, {"y"}, {{"num_groups", int64_t{2}}, {"epsilon", 0.0}}).output("y");
    return out;
  };
  const Values x = {1, 3, 4, 8};
  expect_near(run(net(18, {2}, {2, 3}, {1, -1}), {x})[0], {-1, 3, -4, 2});
  expect_near(run(net(21, {4}, {1, 2, 3, 4}, {0, 0, 0, 1}), {x})[0], {-1, 2, -3, 5});
  EXPECT_EQ(code(net(21, {2}, {2, 3}, {1, -1})), ErrorCode::corrupt);
  EXPECT_EQ(code(net(18, {4}, {1, 2, 3, 4}, {0, 0, 0, 1})), ErrorCode::corrupt);
}

TEST(OnnxPow, OfTensors) {
  Net net;
  net.input("a", {2, 2}).input("b", {2}).node("Pow", {"a", "b"}, {"y"}).output("y");
  expect_near(run(net, {{2, 3, -2, -3}, {3, 2}})[0], {8, 9, -8, 9});
  Net constant;
  constant.input("x", {2}).integers("e", {3, -1}).node("Pow", {"x", "e"}, {"y"}).output("y");
  expect_near(run(constant, {{-2, 4}})[0], {-8, 0.25});
  Net integers;
  integers.input("x", {2}, TensorProto::INT32).input("e", {2}, TensorProto::FLOAT).node("Pow", {"x", "e"}, {"y"});
  expect_near(run(integers.output("y"), {{3, 2}, {2, 0.5}})[0], {9, 1});
}

TEST(OnnxPrelu, SlopesOfSeveralDims) {
  Net net;
  net.input("x", {1, 2, 2}).constant("slope", {2}, {0.5, 0.25}).node("PRelu", {"x", "slope"}, {"y"}).output("y");
  expect_near(run(net, {{-2, -4, -8, 4}})[0], {-1, -1, -4, 4});
  Net wide;
  wide.input("x", {2}).constant("slope", {2, 2}, {1, 2, 3, 4}).node("PRelu", {"x", "slope"}, {"y"}).output("y");
  EXPECT_EQ(code(wide), ErrorCode::corrupt);
}

TEST(OnnxSpaceToDepth, BothOrders) {
  // Channel c has the value 100 c + 10 y + x at (y, x) of the blocks.
  Values x;
  for (int c = 0; c < 2; ++c) {
    for (int i = 0; i < 4; ++i) x.push_back(100 * c + 10 * (i / 2) + i % 2);
  }
  const auto order = [&](const std::string& mode) {
    return run(one("SpaceToDepth", {1, 2, 2, 2}, {{"blocksize", int64_t{2}}, {"mode", mode}}, 28), {x})[0];
  };
  expect_near(order("DCR"), {0, 100, 1, 101, 10, 110, 11, 111});
  expect_near(order("CRD"), {0, 1, 10, 11, 100, 101, 110, 111});
}

TEST(OnnxCastLike, TakesTheTypeOfItsSecondSource) {
  Net net(19);
  net.input("x", {2}, TensorProto::INT32).input("like", {1}).node("CastLike", {"x", "like"}, {"y"}).output("y");
  const OnnxModel model = import(net);
  EXPECT_EQ(model.graph.tensor(model.graph.outputs[0]).dtype, DType::f32);
  EXPECT_EQ(run(model, {{-3, 4}, {0}})[0], (Values{-3, 4}));
}

TEST(OnnxDropout, TrainingInAnInferenceGraphCannotRun) {
  Net net(13);
  net.input("x", {2}).constant("ratio", {}, {0.5}).integers("training", {}, {1});
  net.node("Dropout", {"x", "ratio", "training"}, {"y"}).output("y");
  EXPECT_EQ(import(net).warnings.size(), 1u);
}

}  // namespace
}  // namespace relayout::graph::test
