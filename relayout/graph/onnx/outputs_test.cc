// Names of a model's outputs: they are the model's own, whatever tensor stands behind them.
#include <gtest/gtest.h>

#include "relayout/graph/passes/simplify.h"
#include "tests/support/onnx_net.h"

namespace relayout::graph::test {
namespace {

Texts names(const Graph& graph) {
  Texts out;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) out.push_back(graph.output_name(i));
  return out;
}

TEST(OnnxOutputs, BehindAnIdentityKeepTheirNames) {
  Net net;
  net.input("x", {2}).node("Relu", {"x"}, {"r"}).node("Identity", {"r"}, {"y"}).output("y");
  Graph graph = import(net).graph;
  EXPECT_EQ(names(graph), (Texts{"y"}));
  simplify(graph);
  EXPECT_EQ(names(graph), (Texts{"y"}));
}

TEST(OnnxOutputs, OneTensorUnderSeveralNames) {
  Net net;
  net.input("x", {2}).node("Relu", {"x"}, {"r"}).node("Identity", {"r"}, {"a"}).node("Dropout", {"a"}, {"b"});
  net.output("b").output("r").output("a");
  OnnxModel model = import(net);
  simplify(model.graph);
  EXPECT_EQ(names(model.graph), (Texts{"b", "r", "a"}));
  const std::vector<Values> out = run(model, {{-1, 2}});
  for (const Values& values : out) EXPECT_EQ(values, (Values{0, 2}));
}

TEST(OnnxOutputs, InputsAndConstantsGivenOut) {
  Net net;
  net.input("x", {1}).constant("w", {1}, {3}).node("Identity", {"x"}, {"y"}).node("Identity", {"w"}, {"v"});
  net.output("y").output("v").output("w").output("x");
  OnnxModel model = import(net);
  simplify(model.graph);
  EXPECT_EQ(names(model.graph), (Texts{"y", "v", "w", "x"}));
  EXPECT_EQ(run(model, {{5}}), (std::vector<Values>{{5}, {3}, {3}, {5}}));
}

TEST(GraphOutputs, WithoutNamesAreCalledAsTheirTensors) {
  Graph graph;
  const TensorId x = graph.input("x", {1});
  graph.output(x);
  graph.output(x, {}, "named");
  EXPECT_EQ(names(graph), (Texts{"x", "named"}));
  graph.outputs.push_back(x);
  EXPECT_EQ(names(graph), (Texts{"x", "named", "x"}));
}

}  // namespace
}  // namespace relayout::graph::test
