// NaN, infinities, -0 and numbers near the ends of f32 in operators of ONNX: what the reference makes of their import
// is what ONNX's reference gives, by values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

using ::onnx::TensorProto;
using Limits = std::numeric_limits<float>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Equal, the signs of zeros too; a NaN equals a NaN.
void expect_same(const Values& got, const Values& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
      continue;
    }
    EXPECT_EQ(got[i], want[i]) << "element " << i;
    EXPECT_EQ(std::signbit(got[i]), std::signbit(want[i])) << "element " << i;
  }
}

Values of_scalar(const char* operation, const Values& x, double scalar, bool left = false) {
  Net net;
  net.input("x", {static_cast<int64_t>(x.size())}).constant("s", {}, {scalar});
  net.node(operation, left ? Texts{"s", "x"} : Texts{"x", "s"}, {"y"}).output("y");
  return run(net, {x})[0];
}

TEST(OnnxSpecial, ProductsKeepTheSignOfZero) {
  expect_same(run(one("Neg", {4}), {{0, -0.0, 1, kInfinity}})[0], {-0.0, 0, -1, -kInfinity});
  expect_same(of_scalar("Mul", {0, -0.0, 1}, -2), {-0.0, 0, -2});
  expect_same(of_scalar("Mul", {0, -0.0}, 3), {0, -0.0});
  expect_same(of_scalar("Div", {0, -0.0}, -4), {-0.0, 0});
  // While a difference from 0 is 0 for both.
  expect_same(of_scalar("Sub", {0, -0.0}, 0, true), {0, 0});
}

TEST(OnnxSpecial, DivisionByNumbersWhoseReciprocalIsNone) {
  const double least = Limits::denorm_min(), most = Limits::max();
  expect_same(of_scalar("Div", {0, least, -1, kInfinity}, least), {0, 1, -kInfinity, kInfinity});
  expect_same(of_scalar("Div", {most, kInfinity, kNaN}, most), {1, kInfinity, kNaN});
  expect_same(of_scalar("Div", {1, 0, kInfinity}, kInfinity), {0, 0, kNaN});
  expect_same(of_scalar("Div", {1, 0, kNaN}, 0), {kInfinity, kNaN, kNaN});
}

TEST(OnnxSpecial, APowerOfAHalfIsNoSquareRoot) {
  expect_same(of_scalar("Pow", {-kInfinity, -0.0, kInfinity, kNaN, -1, 4}, 0.5),
              {kInfinity, 0, kInfinity, kNaN, kNaN, 2});
}

TEST(OnnxSpecial, ThresholdedReluOfNaNIsZero) {
  expect_same(run(one("ThresholdedRelu", {4}), {{kNaN, kInfinity, -kInfinity, 1}})[0], {0, kInfinity, 0, 0});
}

TEST(OnnxSpecial, ABoundThatIsLeftOutIsNoBound) {
  for (const int type : {TensorProto::FLOAT, TensorProto::DOUBLE}) {
    Net net(13);
    net.input("x", {4}, type).constant("low", {}, {-1});
    net.node("Cast", {"low"}, {"bound"}, {{"to", int64_t{type}}});
    net.node("Clip", {"x", "bound"}, {"y"}).node("Clip", {"x", "", "bound"}, {"z"}).output("y").output("z");
    const std::vector<Values> out = run(net, {{kInfinity, -kInfinity, kNaN, 3}});
    expect_same(out[0], {kInfinity, -1, kNaN, 3});
    expect_same(out[1], {-1, -kInfinity, kNaN, -1});
  }
  // Before opset 11 the bounds are attributes, and their defaults are the ends of f32.
  expect_same(run(one("Clip", {3}, {{"min", 0.0}}, 7), {{kInfinity, -kInfinity, kNaN}})[0], {Limits::max(), 0, kNaN});
}

TEST(OnnxSpecial, ConstantsKeepNaN) {
  for (const char* operation : {"Min", "Max"}) {
    Net net;
    net.constant("a", {3}, {kNaN, 1, 2}).constant("b", {3}, {1, kNaN, 3}).input("x", {3});
    net.node(operation, {"a", "b", "x"}, {"y"}).output("y");
    const double third = operation == std::string("Min") ? 2 : 3;
    expect_same(run(net, {{2.5, 2.5, third}})[0], {kNaN, kNaN, third});
  }
}

TEST(OnnxSpecial, LogOfSumOfExponentialsOfInfinity) {
  for (const int type : {TensorProto::FLOAT, TensorProto::FLOAT16, TensorProto::BFLOAT16}) {
    Net net(18);
    net.input("x", {3, 2}, type).integers("axes", {1});
    net.node("ReduceLogSumExp", {"x", "axes"}, {"y"}, {{"keepdims", int64_t{0}}}).output("y");
    expect_same(run(net, {{kInfinity, 1, -kInfinity, -kInfinity, kNaN, kInfinity}})[0], {kInfinity, -kInfinity, kNaN});
  }
}

TEST(OnnxSpecial, PReluOfOneNumber) {
  Net net;
  net.input("x", {}).input("slope", {}).node("PRelu", {"x", "slope"}, {"y"}).output("y");
  expect_same(run(net, {{2}, {kNaN}})[0], {2});
  expect_same(run(net, {{-2}, {0.5}})[0], {-1});
}

TEST(OnnxSpecial, TypesKeepTheSignOfWhatIsTooSmall) {
  Net net(19);
  net.input("x", {2}).node("Cast", {"x"}, {"y"}, {{"to", int64_t{TensorProto::FLOAT16}}});
  net.node("Cast", {"y"}, {"z"}, {{"to", int64_t{TensorProto::FLOAT}}}).output("z");
  expect_same(run(net, {{-1e-40, -0.0}})[0], {-0.0, -0.0});
}

/// Resized along one dim, by scales that do not give whole extents, as taps.
TEST(OnnxSpecial, ElementsWithoutWeightAreNotInAResize) {
  for (const char* mode : {"linear", "cubic"}) {
    Net net;
    net.input("x", {1, 1, 7}).constant("scales", {3}, {1, 1, 1.25});
    net.node("Resize", {"x", "", "scales"}, {"y"},
             {{"mode", std::string(mode)}, {"coordinate_transformation_mode", std::string("asymmetric")}});
    net.output("y");
    // Elements 0 and 5 of the result lie at elements 0 and 4 of the source; the others have weights on both sides.
    const Values y = run(net, {{kInfinity, 2, 2, kNaN, -kInfinity, kNaN, 2}})[0];
    EXPECT_EQ(y[0], kInfinity) << mode;
    EXPECT_EQ(y[5], -kInfinity) << mode;
    EXPECT_TRUE(std::isnan(y[4])) << mode;
  }
}

}  // namespace
}  // namespace relayout::graph::test
