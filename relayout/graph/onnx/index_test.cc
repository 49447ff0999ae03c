// ONNX operators that move elements by indices or order them: what the reference makes of their import is what ONNX's
// specification says, by values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

using ::onnx::TensorProto;

TEST(OnnxIndex, GathersByElementAndByIndex) {
  Net elements;
  elements.input("x", {2, 2})
      .integers("i", {2, 2}, {0, 0, 1, -2})
      .node("GatherElements", {"x", "i"}, {"y"}, {{"axis", int64_t{1}}});
  elements.output("y");
  EXPECT_EQ(run(elements, {{1, 2, 3, 4}})[0], (Values{1, 1, 4, 3}));
  Net nd(13);
  nd.input("x", {2, 2}).integers("i", {2, 1}, {1, 0}).node("GatherND", {"x", "i"}, {"y"}).output("y");
  EXPECT_EQ(run(nd, {{1, 2, 3, 4}})[0], (Values{3, 4, 1, 2}));
  Net batch(13);
  batch.input("x", {2, 3})
      .integers("i", {2, 1}, {2, 0})
      .node("GatherND", {"x", "i"}, {"y"}, {{"batch_dims", int64_t{1}}});
  batch.output("y");
  EXPECT_EQ(run(batch, {{1, 2, 3, 4, 5, 6}})[0], (Values{3, 4}));
  Net beyond;
  beyond.input("x", {2}).input("i", {1}, TensorProto::INT64).node("GatherElements", {"x", "i"}, {"y"}).output("y");
  EXPECT_EQ(relayout::test::code_of([&] { run(beyond, {{1, 2}, {2}}); }), ErrorCode::invalid_argument);
}

TEST(OnnxIndex, ScattersWithEachReduction) {
  const auto scattered_by = [](const std::string& reduction) {
    Net net(18);
    net.input("x", {3}).integers("i", {2}, {1, 1}).input("u", {2});
    net.node("ScatterElements", {"x", "i", "u"}, {"y"}, {{"reduction", reduction}}).output("y");
    return run(net, {{1, 2, 3}, {5, 4}})[0];
  };
  EXPECT_EQ(scattered_by("none"), (Values{1, 4, 3}));
  EXPECT_EQ(scattered_by("add"), (Values{1, 11, 3}));
  EXPECT_EQ(scattered_by("mul"), (Values{1, 40, 3}));
  EXPECT_EQ(scattered_by("max"), (Values{1, 5, 3}));
  EXPECT_EQ(scattered_by("min"), (Values{1, 2, 3}));
  Net nd(16);
  nd.input("x", {2, 2}).integers("i", {1, 1}, {-1}).input("u", {1, 2}).node("ScatterND", {"x", "i", "u"}, {"y"});
  nd.output("y");
  EXPECT_EQ(run(nd, {{1, 2, 3, 4}, {7, 8}})[0], (Values{1, 2, 7, 8}));
}

TEST(OnnxIndex, ExtremesAndOrder) {
  const Values x = {3, 1, 3, 1, 2, 2};
  expect_near(run(one("ArgMax", {2, 3}, {{"axis", int64_t{1}}}), {x})[0], {0, 1});
  expect_near(run(one("ArgMax", {2, 3}, {{"axis", int64_t{1}}, {"select_last_index", int64_t{1}}}), {x})[0], {2, 2});
  expect_near(run(one("ArgMin", {2, 3}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}}), {x})[0], {1, 0, 1});
  expect_near(run(one("ArgMax", {3}), {{1, NAN, 5}})[0], {1});
  Net top(11);
  top.input("x", {2, 3}).integers("k", {2}).node("TopK", {"x", "k"}, {"v", "i"}).output("v").output("i");
  const std::vector<Values> out = run(top, {x});
  EXPECT_EQ(out[0], (Values{3, 3, 2, 2}));
  EXPECT_EQ(out[1], (Values{0, 2, 1, 2}));
  Net least(11);
  least.input("x", {3}).integers("k", {2}).node("TopK", {"x", "k"}, {"v", "i"}, {{"largest", int64_t{0}}}).output("v");
  EXPECT_EQ(run(least, {{3, 1, 2}})[0], (Values{1, 2}));
}

TEST(OnnxIndex, SumsAndProductsAlongADim) {
  const auto sums = [](const std::string& operation, int64_t exclusive, int64_t reverse) {
    Net net(26);
    net.input("x", {4}).integers("a", {}, {0});
    net.node(operation, {"x", "a"}, {"y"}, {{"exclusive", exclusive}, {"reverse", reverse}}).output("y");
    return run(net, {{1, 2, 3, 4}})[0];
  };
  EXPECT_EQ(sums("CumSum", 0, 0), (Values{1, 3, 6, 10}));
  EXPECT_EQ(sums("CumSum", 1, 0), (Values{0, 1, 3, 6}));
  EXPECT_EQ(sums("CumSum", 0, 1), (Values{10, 9, 7, 4}));
  EXPECT_EQ(sums("CumProd", 1, 1), (Values{24, 12, 4, 1}));
}

TEST(OnnxIndex, TrianglesOneHotAndHardmax) {
  Net lower(14);
  lower.input("x", {2, 3}).integers("k", {}, {-1}).node("Trilu", {"x", "k"}, {"y"}, {{"upper", int64_t{0}}});
  EXPECT_EQ(run(lower.output("y"), {{1, NAN, 3, 4, 5, 6}})[0], (Values{0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(run(one("Trilu", {2, 2}, {}, 14), {{1, 2, 3, 4}})[0], (Values{1, 2, 0, 4}));
  Net hot(11);
  hot.input("i", {3}, TensorProto::INT64).integers("d", {}, {3}).constant("v", {2}, {-1, 2});
  hot.node("OneHot", {"i", "d", "v"}, {"y"}).output("y");
  EXPECT_EQ(run(hot, {{0, -1, 7}})[0], (Values{2, -1, -1, -1, -1, 2, -1, -1, -1}));
  EXPECT_EQ(run(one("Hardmax", {2, 2}), {{1, 2, 5, 5}})[0], (Values{0, 1, 1, 0}));
}

TEST(OnnxIndex, SequencesReversed) {
  Net net(10);
  net.input("x", {3, 2}).integers("n", {2, 3}).node("ReverseSequence", {"x", "n"}, {"y"}).output("y");
  EXPECT_EQ(run(net, {{1, 2, 3, 4, 5, 6}})[0], (Values{3, 6, 1, 4, 5, 2}));
}

TEST(OnnxIndex, WhatDependsOnAConstant) {
  Net net;
  net.constant("c", {2, 2}, {0, 3, 0, -1}).node("NonZero", {"c"}, {"y"}).output("y");
  EXPECT_EQ(run(net, {})[0], (Values{0, 1, 1, 1}));
  Net open;
  open.input("x", {2}).value("y", {1, 2}, TensorProto::INT64).node("NonZero", {"x"}, {"y"}).output("y");
  ASSERT_EQ(import(open).warnings.size(), 1u);
  EXPECT_NE(import(open).warnings[0].find("how many elements it gives is known at run time only"), std::string::npos);
}

TEST(OnnxGridSample, OfLinearNearestAndPadding) {
  const auto sampled = [](const std::string& mode, const std::string& padding, const Values& at) {
    Net net(16);
    net.input("x", {1, 1, 1, 2}).input("g", {1, 1, 1, 2});
    net.node("GridSample", {"x", "g"}, {"y"}, {{"mode", mode}, {"padding_mode", padding}}).output("y");
    return run(net, {{10, 20}, at})[0][0];
  };
  EXPECT_EQ(sampled("bilinear", "zeros", {0, 0}), 15);
  EXPECT_EQ(sampled("bilinear", "zeros", {1, 0}), 10);  // half of 20 and half of nothing
  EXPECT_EQ(sampled("bilinear", "border", {1, 0}), 20);
  EXPECT_EQ(sampled("nearest", "zeros", {-0.4, 0}), 10);
  EXPECT_EQ(sampled("nearest", "reflection", {1.9, 0}), 20);
}

}  // namespace
}  // namespace relayout::graph::test
