// Attributes of ONNX nodes: those that an operator does not have in the model's opset are errors, and those that it
// has are taken even where they change no value.
#include <gtest/gtest.h>

#include "tests/support/onnx_net.h"
#include "tests/support/testing.h"

namespace relayout::graph::test {
namespace {

using relayout::test::error_of;

TEST(OnnxAttributes, OneThatTheOperatorDoesNotHaveIsNamedWithItsOpset) {
  const Net net = one("SpaceToDepth", {1, 1, 2, 2}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}}, 13);
  const Error error = error_of([&] { import(net); });
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  EXPECT_EQ(error.field(), "mode");
  for (const char* part : {"SpaceToDepth", "\"mode\"", "opset 13", "opset 28 and later"}) {
    EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
  }
  EXPECT_EQ(code(one("Relu", {2}, {{"alpha", 0.5}})), ErrorCode::corrupt);
  EXPECT_NE(message(one("Relu", {2}, {{"al\x1bpha", 0.5}})).find("al\\x1bpha"), std::string::npos);
}

TEST(OnnxAttributes, EachInItsOpsetsAlone) {
  const auto mean = [](int64_t opset) { return one("ReduceMean", {2, 3}, {{"axes", Integers{1}}}, opset); };
  expect_near(run(mean(17), {counted(6)})[0], {2, 5});
  EXPECT_EQ(code(mean(18)), ErrorCode::corrupt);
  EXPECT_NE(message(mean(18)).find("opsets 7 to 17"), std::string::npos);
  const auto clip = [](int64_t opset) { return one("Clip", {1}, {{"max", 1.0}}, opset); };
  expect_near(run(clip(10), {{3}})[0], {1});
  EXPECT_EQ(code(clip(11)), ErrorCode::corrupt);
  // A range begins in its first opset.
  const auto shape = [](int64_t opset) { return one("Shape", {2, 3}, {{"start", int64_t{1}}}, opset); };
  EXPECT_EQ(code(shape(14)), ErrorCode::corrupt);
  EXPECT_EQ(run(shape(15), {counted(6)})[0], Values{3});
  // A prefix of an attribute's name is not that attribute.
  EXPECT_EQ(code(one("Softmax", {2}, {{"axi", int64_t{0}}})), ErrorCode::corrupt);
  EXPECT_EQ(code(one("Softmax", {2}, {{"", int64_t{0}}})), ErrorCode::corrupt);
}

TEST(OnnxAttributes, TwiceIsAnError) {
  EXPECT_EQ(code(one("Softmax", {2}, {{"axis", int64_t{0}}, {"axis", int64_t{0}}})), ErrorCode::corrupt);
}

TEST(OnnxAttributes, ThoseThatChangeNothingAreTaken) {
  EXPECT_TRUE(import(one("Dropout", {2}, {{"ratio", 0.5}}, 10)).warnings.empty());
  EXPECT_TRUE(import(one("Dropout", {2}, {{"seed", int64_t{3}}}, 13)).warnings.empty());
  Net pool = one("MaxPool", {1, 1, 4}, {{"kernel_shape", Integers{2}}, {"storage_order", int64_t{1}}}, 12);
  expect_near(run(pool, {{1, 3, 2, 4}})[0], {3, 3, 4});
  Net layer(17);
  layer.input("x", {1, 2}).constant("s", {2}, {1, 1});
  layer.node("LayerNormalization", {"x", "s"}, {"y"}, {{"stash_type", int64_t{1}}, {"epsilon", 0.0}}).output("y");
  expect_near(run(layer, {{1, 3}})[0], {-1, 1});
}

TEST(OnnxAttributes, UnknownOperatorsMayHaveAny) {
  EXPECT_EQ(import(one("Frobnicate", {2}, {{"anything", 0.5}})).warnings.size(), 1u);
}

}  // namespace
}  // namespace relayout::graph::test
