// Tests of run --check: which differences from the reference are errors, and which are explained by rounding.
#include "tools/checking/run_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace relayout::tools {
namespace {

using graph::Graph;
using graph::TensorId;

/// A graph that computes scale * (x - 1). With x near 1 and a large scale, rounding x changes the output much.
Graph difference(float scale) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 4});
  const TensorId one = graph.constant("one", {1, 1}, std::vector<float>{1});
  const TensorId d = graph.binary(x, one, graph::BinaryAlgorithm::sub);
  graph.output(graph.eltwise(d, {.algorithm = graph::EltwiseAlgorithm::linear, .alpha = scale}));
  return graph;
}

/// Checks an output of `graph` whose first element is wrong by `off`. All elements of the input are `x`.
OutputCheck checked(const Graph& graph, double x, double off) {
  const std::vector<graph::Values> values = {graph::Values(4, x)};
  const graph::Values want = graph::evaluate(graph, values)[0];
  std::vector<float> got(want.begin(), want.end());
  got[0] += static_cast<float>(off);
  std::vector<std::byte> bytes(got.size() * sizeof(float));
  std::memcpy(bytes.data(), got.data(), bytes.size());
  return check_outputs(graph, values, {bytes});
}

TEST(RunCheck, ToleratesAThousandthOfTheLargestValue) {
  const Graph graph = difference(1);
  EXPECT_TRUE(checked(graph, 3, 0).equal);
  const OutputCheck little = checked(graph, 3, 0.9e-3 * 2);
  EXPECT_TRUE(little.equal);
  EXPECT_EQ(little.by_rounding, 0);
  const OutputCheck much = checked(graph, 3, 0.5);
  EXPECT_FALSE(much.equal);
  EXPECT_EQ(much.by_rounding, 0);
  EXPECT_NEAR(much.difference, 0.5 / 2, 1e-3);
}

TEST(RunCheck, ToleratesRoundingsToTheTypesOfTheModel) {
  for (const auto& [dtype, share] : {std::pair{DType::bf16, 4 * 0x1p-8}, {DType::f16, 4 * 0x1p-11}}) {
    Graph graph;
    const TensorId x = graph.input("x", {4});
    graph.output(graph.add(graph::Kind::reorder, graph::ReorderAttributes{.dtype = dtype}, {x})[0]);
    for (const auto& [off, equal] : {std::pair{0.75, true}, {1.5, false}}) {
      const graph::Values got{2 * (1 + off * share), 2, 2, 2};
      EXPECT_EQ(check_outputs(graph, {graph::Values(4, 2)}, {graph::store(got, dtype)}).equal, equal) << off;
    }
  }
}

// Four roundings of x, 4.8e-7, make 0.48 of an output of about 1. Sixteen times that is allowed, and as much for d.
TEST(RunCheck, AllowsWhatRoundingExplains) {
  const Graph graph = difference(1e6f);
  const OutputCheck explained = checked(graph, 1 + 0x1p-20, 0.5);
  EXPECT_TRUE(explained.equal);
  EXPECT_EQ(explained.by_rounding, 1);
  const OutputCheck wrong = checked(graph, 1 + 0x1p-20, 30);
  EXPECT_FALSE(wrong.equal);
  EXPECT_EQ(wrong.by_rounding, 0);
}

TEST(RunCheck, CountsOutputsThatAreZero) {
  EXPECT_EQ(checked(difference(1), 3, 0).zero, 0);
  EXPECT_EQ(checked(difference(1), 1, 0).zero, 1);  // the summands cancel completely
}

TEST(RunCheck, WhatIsNoNumberIsWrong) {
  EXPECT_FALSE(checked(difference(1), 3, NAN).equal);
  EXPECT_FALSE(checked(difference(1e6f), 1 + 0x1p-20, INFINITY).equal);
}

}  // namespace
}  // namespace relayout::tools
