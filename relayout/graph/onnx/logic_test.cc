// ONNX operators that compare, choose, work on bits or change types: what the reference makes of their import is what
// ONNX's specification says, by values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

using ::onnx::TensorProto;

/// The operator on two inputs of these values.
Values of_two(const std::string& operation, const Values& a, const Values& b, int type = TensorProto::FLOAT,
              const std::vector<Attribute>& attributes = {}) {
  Net net(20);
  net.input("a", {static_cast<int64_t>(a.size())}, type).input("b", {static_cast<int64_t>(b.size())}, type);
  net.node(operation, {"a", "b"}, {"y"}, attributes).output("y");
  return run(net, {a, b})[0];
}

TEST(OnnxLogic, ComparisonsGiveBool) {
  const Values a = {1, 2, 3, NAN}, b = {2, 2, 2, 2};
  EXPECT_EQ(of_two("Less", a, b), (Values{1, 0, 0, 0}));
  EXPECT_EQ(of_two("LessOrEqual", a, b), (Values{1, 1, 0, 0}));
  EXPECT_EQ(of_two("Greater", a, b), (Values{0, 0, 1, 0}));
  EXPECT_EQ(of_two("GreaterOrEqual", a, b), (Values{0, 1, 1, 0}));
  EXPECT_EQ(of_two("Equal", a, b), (Values{0, 1, 0, 0}));
  Net net;
  net.input("a", {2}).input("b", {2}).node("Less", {"a", "b"}, {"y"}).output("y");
  const OnnxModel model = import(net);
  EXPECT_EQ(model.graph.tensor(model.graph.outputs[0]).dtype, DType::boolean);
}

TEST(OnnxLogic, TruthValues) {
  const Values a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
  EXPECT_EQ(of_two("And", a, b, TensorProto::BOOL), (Values{0, 0, 0, 1}));
  EXPECT_EQ(of_two("Or", a, b, TensorProto::BOOL), (Values{0, 1, 1, 1}));
  EXPECT_EQ(of_two("Xor", a, b, TensorProto::BOOL), (Values{0, 1, 1, 0}));
  Net net;
  net.input("x", {2}, TensorProto::BOOL).node("Not", {"x"}, {"y"}).output("y");
  EXPECT_EQ(run(net, {{0, 1}})[0], (Values{1, 0}));
}

TEST(OnnxLogic, RestsOfIntegersAndFloats) {
  const Values a = {-7, 7, -7, 7}, b = {3, -3, -3, 3};
  EXPECT_EQ(of_two("Mod", a, b, TensorProto::INT32), (Values{2, -2, -1, 1}));
  EXPECT_EQ(of_two("Mod", a, b, TensorProto::INT32, {{"fmod", int64_t{1}}}), (Values{-1, 1, -1, 1}));
  EXPECT_EQ(of_two("Mod", {-7.5, 7.5}, {2, -2}, TensorProto::FLOAT, {{"fmod", int64_t{1}}}), (Values{-1.5, 1.5}));
  EXPECT_EQ(of_two("Mod", {5, -5}, {0, 0}, TensorProto::INT64), (Values{0, 0}));
}

TEST(OnnxLogic, Bits) {
  EXPECT_EQ(of_two("BitwiseAnd", {12, -1}, {10, 7}, TensorProto::INT8), (Values{8, 7}));
  EXPECT_EQ(of_two("BitwiseOr", {12, -8}, {10, 1}, TensorProto::INT8), (Values{14, -7}));
  EXPECT_EQ(of_two("BitwiseXor", {12, 255}, {10, 1}, TensorProto::UINT8), (Values{6, 254}));
  const std::vector<Attribute> left = {{"direction", std::string("LEFT")}},
                               right = {{"direction", std::string("RIGHT")}};
  EXPECT_EQ(of_two("BitShift", {1, 200, 3}, {4, 1, 8}, TensorProto::UINT8, left), (Values{16, 144, 0}));
  EXPECT_EQ(of_two("BitShift", {16, -16, -1}, {2, 2, 9}, TensorProto::INT8, right), (Values{4, -4, -1}));
  Net floating(18);
  floating.input("x", {2}).node("BitwiseNot", {"x"}, {"y"}).output("y");
  EXPECT_EQ(code(floating), ErrorCode::corrupt);
  for (const int type : {TensorProto::UINT8, TensorProto::INT64}) {
    Net net(18);
    net.input("x", {2}, type).node("BitwiseNot", {"x"}, {"y"}).output("y");
    EXPECT_EQ(run(net, {{0, 5}})[0], type == TensorProto::UINT8 ? (Values{255, 250}) : (Values{-1, -6}));
  }
}

TEST(OnnxLogic, TestsOfNumbers) {
  const Values x = {1, NAN, INFINITY, -INFINITY};
  EXPECT_EQ(run(one("IsNaN", {4}, {}, 20), {x})[0], (Values{0, 1, 0, 0}));
  EXPECT_EQ(run(one("IsInf", {4}, {}, 20), {x})[0], (Values{0, 0, 1, 1}));
  EXPECT_EQ(run(one("IsInf", {4}, {{"detect_negative", int64_t{0}}}, 20), {x})[0], (Values{0, 0, 1, 0}));
}

TEST(OnnxWhere, DimsRepeatAndTypesStay) {
  for (const int type : {TensorProto::FLOAT, TensorProto::INT64, TensorProto::UINT8}) {
    Net net;
    net.input("c", {2, 1}, TensorProto::BOOL).input("a", {3}, type).input("b", {1, 1}, type);
    net.node("Where", {"c", "a", "b"}, {"y"}).output("y");
    const OnnxModel model = import(net);
    EXPECT_EQ(dims_of(model), (Dims{2, 3}));
    EXPECT_EQ(run(model, {{1, 0}, {1, 2, 3}, {9}})[0], (Values{1, 2, 3, 9, 9, 9}));
  }
}

Values cast(const Values& x, int from, int to) {
  Net net(19);
  net.input("x", {static_cast<int64_t>(x.size())}, from);
  net.node("Cast", {"x"}, {"y"}, {{"to", int64_t{to}}}).output("y");
  return run(net, {x})[0];
}

TEST(OnnxCast, BetweenIntegersFloatsAndBool) {
  EXPECT_EQ(cast({1.9, -1.9, 0}, TensorProto::FLOAT, TensorProto::INT32), (Values{1, -1, 0}));
  EXPECT_EQ(cast({200, -129, 300}, TensorProto::INT32, TensorProto::INT8), (Values{-56, 127, 44}));
  EXPECT_EQ(cast({-1, 5}, TensorProto::INT64, TensorProto::UINT16), (Values{65535, 5}));
  EXPECT_EQ(cast({0, 0.5, -3}, TensorProto::FLOAT, TensorProto::BOOL), (Values{0, 1, 1}));
  EXPECT_EQ(cast({0, 1}, TensorProto::BOOL, TensorProto::INT8), (Values{0, 1}));
  Net saturated(19);
  saturated.input("x", {3}).node("Cast", {"x"}, {"y"}, {{"to", int64_t{17}}}).output("y");
  const Values y = run(saturated, {{1000, -INFINITY, NAN}})[0];
  EXPECT_EQ(y[0], 448);
  EXPECT_EQ(y[1], -448);
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST(OnnxCast, OfBits) {
  Net net(26);
  net.input("x", {2}).node("BitCast", {"x"}, {"y"}, {{"to", int64_t{TensorProto::INT32}}}).output("y");
  EXPECT_EQ(run(net, {{1, -2}})[0], (Values{0x3f800000, -0x40000000}));
}

TEST(OnnxQuantize, ByTensorAxisAndBlock) {
  Net net(21);
  net.input("x", {4}).constant("s", {}, {0.5});
  net.graph().add_initializer()->set_name("z");
  net.graph().mutable_initializer(1)->set_data_type(TensorProto::UINT8);
  net.graph().mutable_initializer(1)->add_int32_data(10);
  net.node("QuantizeLinear", {"x", "s", "z"}, {"q"}).node("DequantizeLinear", {"q", "s", "z"}, {"y"});
  net.output("q").output("y");
  const std::vector<Values> out = run(net, {{0.25, 0.75, -100, 200}});
  EXPECT_EQ(out[0], (Values{10, 12, 0, 255}));  // 0.5 and 1.5 are rounded to even
  EXPECT_EQ(out[1], (Values{0, 1, -5, 122.5}));

  Net axis(21);
  axis.input("x", {2, 2}, TensorProto::INT8).constant("s", {2}, {1, 10});
  axis.node("DequantizeLinear", {"x", "s"}, {"y"}, {{"axis", int64_t{0}}}).output("y");
  EXPECT_EQ(run(axis, {{1, 2, 3, 4}})[0], (Values{1, 2, 30, 40}));

  Net block(21);
  block.input("x", {1, 3}, TensorProto::INT8).constant("s", {1, 2}, {1, 10});
  block.node("DequantizeLinear", {"x", "s"}, {"y"}, {{"axis", int64_t{1}}, {"block_size", int64_t{2}}}).output("y");
  EXPECT_EQ(run(block, {{1, 2, 3}})[0], (Values{1, 2, 30}));
}

TEST(OnnxQuantize, ByTheExtremesOfTheSource) {
  Net net(11);
  net.input("x", {3}).node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"}).output("y").output("s").output("z");
  const std::vector<Values> out = run(net, {{-1, 0, 4.1}});
  expect_near(out[1], {5.1 / 255});
  EXPECT_EQ(out[2], (Values{50}));
  EXPECT_EQ(out[0], (Values{0, 50, 255}));
}

}  // namespace
}  // namespace relayout::graph::test
