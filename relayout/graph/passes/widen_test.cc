// Widen: nodes that cannot be computed in their types are computed in f32, with conversions where they are needed and
// nowhere else; outputs stay those of the model but for the rounding between its nodes.
#include "relayout/graph/passes/widen.h"

#include <gtest/gtest.h>

#include <cmath>

#include "relayout/graph/reference/reference.h"

namespace relayout::graph {
namespace {

/// Elementwise nodes and moves run in all types; all others in f32 alone, with `also` in one more.
Computable only_f32(DType also = DType::f32) {
  return [also](const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    if (node.kind == Kind::eltwise || node.kind == Kind::binary || node.kind == Kind::reorder) return true;
    for (const auto* operands : {&node.src, &node.dst}) {
      for (const TensorId t : *operands) {
        if (t != kNone && graph.tensor(t).dtype != DType::f32 && graph.tensor(t).dtype != also) return false;
      }
    }
    return true;
  };
}

std::vector<Kind> kinds_of(const Graph& graph) {
  std::vector<Kind> out;
  for (const Node& node : graph.nodes) out.push_back(node.kind);
  return out;
}

Values some_values(int64_t count, double step) {
  Values out;
  for (int64_t i = 0; i < count; ++i) out.push_back(std::sin(static_cast<double>(i) * step));
  return out;
}

TensorId weights(Graph& graph, const std::string& name, const Dims& dims, DType dtype) {
  return graph.constant(
      name, dims, dtype,
      std::make_shared<const std::vector<std::byte>>(store(some_values(*checked_product(dims), 0.7), dtype)));
}

/// conv - relu - reshape - product, all in one type.
Graph net(DType dtype) {
  Graph graph;
  const TensorId x = graph.input("x", {2, 3, 4, 4}, dtype);
  TensorId y = graph.convolution(x, weights(graph, "w", {5, 3, 3, 3}, dtype), weights(graph, "b", {5}, dtype));
  y = graph.eltwise(y, {EltwiseAlgorithm::relu});
  y = graph.reshape(y, {2, 20});
  graph.output(graph.inner_product(y, weights(graph, "v", {7, 20}, dtype)), {}, "y");
  return graph;
}

void expect_same_outputs(const Graph& before, const Graph& after, const Values& x, double tolerance) {
  const auto expected = evaluate(before, std::vector<Values>{x}), got = evaluate(after, std::vector<Values>{x});
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t o = 0; o < got.size(); ++o) {
    EXPECT_EQ(after.tensor(after.outputs[o]).dtype, before.tensor(before.outputs[o]).dtype);
    EXPECT_EQ(after.output_name(o), before.output_name(o));
    ASSERT_EQ(got[o].size(), expected[o].size());
    for (std::size_t i = 0; i < got[o].size(); ++i) EXPECT_NEAR(got[o][i], expected[o][i], tolerance) << o << " " << i;
  }
}

TEST(Widen, ConvertsAtTheEdgesOfTheModelAlone) {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f16, 0.02}, {DType::bf16, 0.2}, {DType::f64, 1e-5}}) {
    SCOPED_TRACE(name(dtype));
    const Graph before = net(dtype);
    Graph after = before;
    const Widened changed = widen(after, only_f32());
    EXPECT_EQ(changed.nodes, 4);
    EXPECT_EQ(changed.types, std::vector{dtype});
    EXPECT_EQ(kinds_of(after), (std::vector{Kind::reorder, Kind::convolution, Kind::eltwise, Kind::reshape,
                                            Kind::inner_product, Kind::reorder}));
    for (std::size_t n = 1; n + 1 < after.nodes.size(); ++n) {
      for (const auto* operands : {&after.nodes[n].src, &after.nodes[n].dst}) {
        for (const TensorId t : *operands) {
          if (t == kNone) continue;
          EXPECT_EQ(after.tensor(t).dtype, DType::f32);
        }
      }
    }
    EXPECT_EQ(after.tensor(after.inputs[0]).dtype, dtype);
    expect_same_outputs(before, after, some_values(96, 0.3), tolerance);
    const std::string type(name(dtype));
    EXPECT_EQ(text_of(changed, "onednn 2.6.3"),
              "4 primitives of " + type + " are computed in f32, as onednn 2.6.3 has none in " + type);
  }
}

TEST(Widen, LeavesWhatCanBeComputed) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Graph before = net(dtype);
    Graph after = before;
    const Widened changed = widen(after, only_f32(DType::bf16));
    EXPECT_EQ(changed.nodes, 0);
    EXPECT_EQ(kinds_of(after), kinds_of(before));
    EXPECT_EQ(text_of(changed, "onednn"), "");
  }
  // Elementwise nodes alone stay in the type that the model has them in.
  Graph graph;
  const TensorId x = graph.input("x", {8}, DType::f64);
  graph.output(graph.eltwise(x, {EltwiseAlgorithm::tanh}));
  EXPECT_EQ(widen(graph, only_f32()).nodes, 0);
  EXPECT_EQ(kinds_of(graph), std::vector{Kind::eltwise});
}

TEST(Widen, OneNodeOfManyIsConvertedByItself) {
  // All but pooling is computed in bf16.
  const auto computable = [](const Graph& graph, NodeId id) {
    return graph.node(id).kind != Kind::pooling || graph.tensor(graph.node(id).src[0]).dtype == DType::f32;
  };
  Graph before;
  TensorId y = before.input("x", {1, 4, 6, 6}, DType::bf16);
  y = before.convolution(y, weights(before, "w", {4, 4, 1, 1}, DType::bf16));
  y = before.pooling(y, {.kernel = {2, 2}, .strides = {2, 2}});
  y = before.eltwise(y, {EltwiseAlgorithm::relu});
  before.output(before.convolution(y, weights(before, "v", {4, 4, 1, 1}, DType::bf16)));
  Graph after = before;
  const Widened changed = widen(after, computable);
  EXPECT_EQ(changed.nodes, 1);
  EXPECT_EQ(kinds_of(after), (std::vector{Kind::convolution, Kind::reorder, Kind::pooling, Kind::reorder, Kind::eltwise,
                                          Kind::convolution}));
  expect_same_outputs(before, after, some_values(144, 0.3), 0.2);
  EXPECT_EQ(text_of(changed, "a"), "1 primitive of bf16 is computed in f32, as a has none in bf16");
}

TEST(Widen, ConversionsOfTheModelLeaveNothingBehind) {
  // The model computes its softmax in f32, between products in f16.
  Graph before;
  TensorId y = before.input("x", {3, 4}, DType::f16);
  y = before.inner_product(y, weights(before, "w", {5, 4}, DType::f16));
  y = before.add(Kind::reorder, ReorderAttributes{.dtype = DType::f32}, {y})[0];
  y = before.softmax(y);
  y = before.add(Kind::reorder, ReorderAttributes{.dtype = DType::f16}, {y})[0];
  before.output(before.inner_product(y, weights(before, "v", {2, 5}, DType::f16)));
  Graph after = before;
  EXPECT_EQ(widen(after, only_f32()).nodes, 2);
  EXPECT_EQ(kinds_of(after),
            (std::vector{Kind::reorder, Kind::inner_product, Kind::softmax, Kind::inner_product, Kind::reorder}));
  expect_same_outputs(before, after, some_values(12, 0.3), 0.01);
}

TEST(Widen, ParametersOfOneDimAreWidenedFirst) {
  // As oneDNN has it: data in bf16, statistics in f32.
  const auto computable = [](const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    for (std::size_t i = 1; i < node.src.size(); ++i) {
      if (graph.tensor(node.src[i]).dtype != DType::f32) return false;
    }
    return true;
  };
  Graph before;
  const TensorId x = before.input("x", {2, 3, 4, 4}, DType::bf16);
  std::vector<TensorId> src{x};
  for (const char* name : {"scale", "shift", "mean"}) src.push_back(weights(before, name, {3}, DType::bf16));
  src.push_back(before.constant("variance", {3}, DType::bf16,
                                std::make_shared<const std::vector<std::byte>>(store(Values{1, 2, 3}, DType::bf16))));
  before.output(before.add(Kind::batch_normalization, NormalizationAttributes{}, src)[0]);
  Graph after = before;
  EXPECT_EQ(widen(after, computable).nodes, 0);
  ASSERT_EQ(kinds_of(after), std::vector{Kind::batch_normalization});
  EXPECT_EQ(after.tensor(after.nodes[0].src[0]).dtype, DType::bf16);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(after.tensor(after.nodes[0].src[i]).dtype, DType::f32);
  expect_same_outputs(before, after, some_values(96, 0.3), 1e-12);
}

TEST(Widen, ResultsBetweenAreOutputsInTheirTypes) {
  Graph before;
  const TensorId x = before.input("x", {2, 4}, DType::f16);
  const TensorId y = before.inner_product(x, weights(before, "w", {4, 4}, DType::f16));
  before.output(y, {}, "between");
  before.output(before.inner_product(y, weights(before, "v", {3, 4}, DType::f16)), {}, "last");
  before.output(x, {}, "x again");
  Graph after = before;
  EXPECT_EQ(widen(after, only_f32()).nodes, 2);
  expect_same_outputs(before, after, some_values(8, 0.3), 0.01);
}

}  // namespace
}  // namespace relayout::graph
