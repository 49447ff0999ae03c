// ONNX operators that are made of several nodes: what the reference makes of their import is what ONNX's specification
// says, by its formulas or by values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

using ::onnx::TensorProto;

Net einsum(const std::string& equation, const Integers& a, const Integers& b = {}) {
  Net net;
  net.input("a", a);
  Texts src = {"a"};
  if (!b.empty()) net.input("b", b), src.push_back("b");
  return net.node("Einsum", src, {"y"}, {{"equation", equation}}).output("y");
}

TEST(OnnxEinsum, EveryKindOfLabel) {
  const Values a = {1, 2, 3, 4}, b = {5, 6, 7, 8};
  EXPECT_EQ(run(einsum("ij,jk->ik", {2, 2}, {2, 2}), {a, b})[0], (Values{19, 22, 43, 50}));
  EXPECT_EQ(run(einsum("ij,ij", {2, 2}, {2, 2}), {a, b})[0], (Values{70}));
  EXPECT_EQ(run(einsum("ij,ij->ij", {2, 2}, {2, 2}), {a, b})[0], (Values{5, 12, 21, 32}));
  EXPECT_EQ(run(einsum("ij->ji", {2, 2}), {a})[0], (Values{1, 3, 2, 4}));
  EXPECT_EQ(run(einsum("ij->i", {2, 2}), {a})[0], (Values{3, 7}));
  EXPECT_EQ(run(einsum("ii", {2, 2}), {a})[0], (Values{5}));
  EXPECT_EQ(run(einsum("ii->i", {2, 2}), {a})[0], (Values{1, 4}));
  EXPECT_EQ(run(einsum("i,j->ij", {2}, {2}), {{1, 2}, {3, 4}})[0], (Values{3, 4, 6, 8}));
  EXPECT_EQ(run(einsum("...ij,...jk->...ik", {2, 1, 2}, {2, 2, 1}), {a, b})[0], (Values{17, 53}));
  EXPECT_EQ(dims_of(import(einsum("bhwc,hkc->bhwk", {2, 3, 4, 5}, {3, 6, 5}))), (Dims{2, 3, 4, 6}));
  EXPECT_EQ(code(einsum("ij,jk->il", {2, 2}, {2, 2})), ErrorCode::corrupt);
  EXPECT_EQ(code(einsum("ijk->ij", {2, 2})), ErrorCode::corrupt);
}

TEST(OnnxReduce, OfSquaresAndLogarithms) {
  const Values x = {1, 2, 3, 4};
  const std::vector<Attribute> rows = {{"axes", Integers{1}}, {"keepdims", int64_t{0}}};
  expect_near(run(one("ReduceSumSquare", {2, 2}, rows), {x})[0], {5, 25});
  expect_near(run(one("ReduceLogSum", {2, 2}, rows), {x})[0], {std::log(3), std::log(7)});
  expect_near(run(one("ReduceLogSumExp", {2, 2}, rows), {{1000, 1000, -1000, -1000}})[0],
              {1000 + std::log(2), -1000 + std::log(2)});
  EXPECT_EQ(run(one("ReduceLogSumExp", {0, 2}, {{"axes", Integers{0}}}), {{}})[0], Values(2, -INFINITY));
}

TEST(OnnxNormalization, ScalesOfALayerRepeat) {
  const auto net = [](const Integers& scale, int64_t axis) {
    int64_t count = 1;
    for (const int64_t extent : scale) count *= extent;
    Net out(17);
    out.input("x", {1, 2, 2}).constant("s", scale, counted(count));
    return out.node("LayerNormalization", {"x", "s"}, {"y"}, {{"axis", axis}, {"epsilon", 0.0}}).output("y");
  };
  // 1 1 3 3 becomes -1 -1 1 1.
  expect_near(run(net({2}, 1), {{1, 1, 3, 3}})[0], {-1, -2, 1, 2});
  expect_near(run(net({2, 1}, 1), {{1, 1, 3, 3}})[0], {-1, -1, 2, 2});
  expect_near(run(net({1, 2, 2}, 1), {{1, 1, 3, 3}})[0], {-1, -2, 3, 4});
  expect_near(run(net({2, 1}, 2), {{1, 3, 1, 3}})[0], {-1, 1, -2, 2});  // differs outside the normalized dim
  EXPECT_EQ(code(net({4}, 1)), ErrorCode::corrupt);
  EXPECT_EQ(code(net({3}, 2)), ErrorCode::corrupt);
}

TEST(OnnxNormalization, StatisticsOfALayerAndRms) {
  Net net(17);
  net.input("x", {2, 2}).constant("s", {2}, {1, 1});
  net.node("LayerNormalization", {"x", "s"}, {"y", "m", "d"}, {{"epsilon", 0.0}}).output("m").output("d");
  const std::vector<Values> out = run(net, {{1, 3, 2, 6}});
  expect_near(out[0], {2, 4});
  expect_near(out[1], {1, 0.5});
  Net rms(23);
  rms.input("x", {1, 2}).constant("s", {2}, {1, 10}).node("RMSNormalization", {"x", "s"}, {"y"}, {{"epsilon", 0.0}});
  expect_near(run(rms.output("y"), {{3, 4}})[0], {3 / std::sqrt(12.5), 40 / std::sqrt(12.5)});
  expect_near(run(one("LpNormalization", {2, 2}, {{"axis", int64_t{1}}}), {{3, 4, 0, 0}})[0], {0.6, 0.8, 0, 0});
}

TEST(OnnxAttention, CausalWithAPastAndMaskedRows) {
  // One head of one number: the scores are products of numbers.
  Net net(23);
  net.input("q", {1, 1, 2, 1}).input("k", {1, 1, 2, 1}).input("v", {1, 1, 2, 1});
  net.node("Attention", {"q", "k", "v"}, {"y"}, {{"is_causal", int64_t{1}}, {"scale", 1.0}}).output("y");
  const double weight = 1 / (1 + std::exp(2.0 * 3 - 2.0 * 4));
  expect_near(run(net, {{1, 2}, {3, 4}, {10, 20}})[0], {10, 10 * (1 - weight) + 20 * weight}, 1e-5);
  Net masked(23);
  masked.input("q", {1, 1, 2, 1}).input("k", {1, 1, 2, 1}).input("v", {1, 1, 2, 1});
  masked.input("m", {2, 2}, TensorProto::BOOL).node("Attention", {"q", "k", "v", "m"}, {"y"}).output("y");
  expect_near(run(masked, {{1, 2}, {3, 4}, {10, 20}, {0, 1, 0, 0}})[0], {20, 0});
  // Scores of minus infinity alone, as of a row that is masked, give 0; and so does a masked row whatever its scores
  // are.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(run(net, {{1, 2}, {-kInfinity, 4}, {10, 20}})[0], (Values{0, 20}));
  EXPECT_EQ(run(masked, {{1, 2}, {kInfinity, 4}, {10, 20}, {0, 1, 0, 0}})[0][1], 0);
  Net past(23);
  past.input("q", {1, 1, 1, 1}).input("k", {1, 1, 1, 1}).input("v", {1, 1, 1, 1});
  past.input("pk", {1, 1, 1, 1}).input("pv", {1, 1, 1, 1});
  past.node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "nk", "nv"}).output("y").output("nk").output("nv");
  const std::vector<Values> out = run(past, {{0}, {1}, {10}, {2}, {30}});
  expect_near(out[0], {20});
  EXPECT_EQ(out[1], (Values{2, 1}));
  EXPECT_EQ(out[2], (Values{30, 10}));
}

TEST(OnnxAttention, HeadsOfQueriesShareKeys) {
  Net net(23);
  net.input("q", {1, 1, 2}).input("k", {1, 1, 1}).input("v", {1, 1, 1});
  net.node("Attention", {"q", "k", "v"}, {"y"}, {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}});
  EXPECT_EQ(run(net.output("y"), {{1, 2}, {3}, {7}})[0], (Values{7, 7}));
}

TEST(OnnxRotary, HalvesAndPairs) {
  const auto rotated = [](int64_t interleaved) {
    Net net(23);
    net.input("x", {1, 1, 1, 4}).constant("c", {1, 1, 2}, {0, 1}).constant("s", {1, 1, 2}, {1, 0});
    net.node("RotaryEmbedding", {"x", "c", "s"}, {"y"}, {{"interleaved", interleaved}}).output("y");
    return run(net, {{1, 2, 3, 4}})[0];
  };
  EXPECT_EQ(rotated(0), (Values{-3, 2, 1, 4}));
  EXPECT_EQ(rotated(1), (Values{-2, 1, 3, 4}));
}

TEST(OnnxLoss, IgnoresTargetsAndWeighsClasses) {
  Net net(13);
  net.input("x", {3, 2}).input("t", {3}, TensorProto::INT64).constant("w", {2}, {1, 3});
  net.node("NegativeLogLikelihoodLoss", {"x", "t", "w"}, {"y"}, {{"ignore_index", int64_t{-1}}}).output("y");
  expect_near(run(net, {{1, 2, 3, 4, 5, 6}, {0, 1, -1}})[0], {-(1 * 1 + 3 * 4) / 4.0});
  Net entropy(13);
  entropy.input("x", {1, 2}).input("t", {1}, TensorProto::INT64);
  entropy.node("SoftmaxCrossEntropyLoss", {"x", "t"}, {"y", "p"}, {{"reduction", std::string("sum")}});
  const std::vector<Values> out = run(entropy.output("y").output("p"), {{0, std::log(3)}, {1}});
  expect_near(out[0], {-std::log(0.75)});
  expect_near(out[1], {std::log(0.25), std::log(0.75)});
}

TEST(OnnxSignal, TransformAndItsInverse) {
  Net net(20);
  net.input("x", {1, 4, 1}).node("DFT", {"x"}, {"f"}).node("DFT", {"f"}, {"y"}, {{"inverse", int64_t{1}}});
  const std::vector<Values> out = run(net.output("f").output("y"), {{1, 2, 3, 4}});
  expect_near(out[0], {10, 0, -2, 2, -2, 0, -2, -2}, 1e-5);
  expect_near(out[1], {1, 0, 2, 0, 3, 0, 4, 0}, 1e-5);
  Net half(20);
  half.input("x", {1, 4, 1}).node("DFT", {"x"}, {"f"}, {{"onesided", int64_t{1}}});
  half.node("DFT", {"f"}, {"y"}, {{"inverse", int64_t{1}}, {"onesided", int64_t{1}}}).output("y");
  expect_near(run(half, {{1, 2, 3, 4}})[0], {1, 2, 3, 4}, 1e-5);
}

TEST(OnnxPad, Wraps) {
  Net net(19);
  net.input("x", {3}).integers("p", {2, 4}).node("Pad", {"x", "p"}, {"y"}, {{"mode", std::string("wrap")}});
  EXPECT_EQ(run(net.output("y"), {{1, 2, 3}})[0], (Values{2, 3, 1, 2, 3, 1, 2, 3, 1}));
}

}  // namespace
}  // namespace relayout::graph::test
