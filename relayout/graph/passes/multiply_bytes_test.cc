// Multiply bytes: which products of dequantized bytes become products of bytes, and which stay as they are; the values
// stay the same. (execute/run/quantized_test.cc runs random ones.)
#include "relayout/graph/passes/multiply_bytes.h"

#include <gtest/gtest.h>

#include "relayout/graph/passes/fuse.h"
#include "relayout/graph/passes/simplify.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::graph {
namespace {

/// x of 1x2x3x3 by weights of 4x2x2x2, as exporters write it; fields may be changed.
struct Net {
  DType x_type = DType::u8, w_type = DType::s8;
  Values x_scale{0.5}, x_zero{3}, w_scale{0.25, 0.5, 1, 2}, w_zero{};
  Dims x_dims{1, 1, 1, 1}, w_dims{4, 1, 1, 1};
  double largest = 100;
  bool bias_is_input = false, weights_are_input = false;

  static TensorId constant(Graph& graph, const Dims& dims, DType dtype, const Values& values) {
    return graph.constant("", dims, dtype, std::make_shared<const std::vector<std::byte>>(store(values, dtype)));
  }
  static TensorId dequantized(Graph& graph, TensorId t, const Values& zero, const Values& scale, const Dims& dims) {
    TensorId out = graph.add(Kind::reorder, ReorderAttributes{.dtype = DType::f32}, {t})[0];
    const auto dims_of = [&](const Values& values) { return values.size() == 1 ? Dims{1, 1, 1, 1} : dims; };
    if (!zero.empty()) out = graph.binary(out, constant(graph, dims_of(zero), DType::f32, zero), BinaryAlgorithm::sub);
    return graph.binary(out, constant(graph, dims_of(scale), DType::f32, scale), BinaryAlgorithm::mul);
  }

  Graph graph() const {
    Graph out;
    const TensorId x = out.input("x", {1, 2, 3, 3}, x_type);
    Values values(32);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = w_type == DType::u8 ? static_cast<double>(i * 7 % 250) : largest - static_cast<double>(i) * 6;
    const TensorId w =
        weights_are_input ? out.input("w", {4, 2, 2, 2}, w_type) : constant(out, {4, 2, 2, 2}, w_type, values);
    const TensorId b =
        bias_is_input ? out.input("b", {4}, DType::f32) : constant(out, {4}, DType::f32, {1, -2, 0.5, 0});
    const TensorId wide_x = dequantized(out, x, x_zero, x_scale, x_dims);
    const TensorId wide_w = dequantized(out, w, w_zero, w_scale, w_dims);
    out.output(out.convolution(wide_x, wide_w, b, {.pads_begin = {1, 1}, .pads_end = {0, 0}}));
    return out;
  }
};

Values some(const Graph& graph, TensorId t) {
  Values out(static_cast<std::size_t>(*checked_product(graph.tensor(t).dims)));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(i * 13 % 100);
  return out;
}

/// Whether the convolution is one of bytes after the pass; the values must be the same either way.
bool changes(const Net& net) {
  const Graph before = net.graph();
  Graph after = before;
  multiply_bytes(after);
  std::vector<Values> inputs;
  for (const TensorId t : before.inputs) inputs.push_back(some(before, t));
  EXPECT_EQ(evaluate(before, inputs), evaluate(after, inputs));
  simplify(after);
  EXPECT_EQ(evaluate(before, inputs), evaluate(after, inputs));
  for (const Node& node : after.nodes) {
    if (node.kind == Kind::convolution) return after.tensor(node.src[1]).dtype == DType::s8;
  }
  ADD_FAILURE() << "no convolution";
  return false;
}

TEST(MultiplyBytes, TakesTheFormsOfExporters) {
  EXPECT_TRUE(changes({}));
  EXPECT_TRUE(changes({.x_type = DType::s8}));
  EXPECT_TRUE(changes({.x_zero = {}}));
  EXPECT_TRUE(changes({.w_scale = {0.25}}));
  EXPECT_TRUE(changes({.w_type = DType::u8, .w_zero = {125}}));
  EXPECT_TRUE(changes({.w_zero = {0, 1, -2, 3}, .largest = 90}));
}

TEST(MultiplyBytes, LeavesWhatBytesDoNotExpress) {
  EXPECT_FALSE(changes({.x_scale = {0.5, 0.25}, .x_dims = {1, 2, 1, 1}})) << "a scale for each channel of the source";
  EXPECT_FALSE(changes({.w_scale = {0.5, 0.25}, .w_dims = {1, 2, 1, 1}})) << "and of the weights";
  EXPECT_FALSE(changes({.x_zero = {0.5}})) << "a zero point that is no whole number";
  EXPECT_FALSE(changes({.x_zero = {256}})) << "and one that is no byte";
  EXPECT_FALSE(changes({.w_zero = {-100}})) << "weights beyond 8 bits with a sign";
  EXPECT_FALSE(changes({.w_type = DType::u8, .w_zero = {}}));
  EXPECT_FALSE(changes({.w_scale = {0}}));
  EXPECT_FALSE(changes({.bias_is_input = true}));
  EXPECT_FALSE(changes({.weights_are_input = true}));
}

/// A product whose rows of weights are `weight` throughout: behind it a sum of 2,000 * weight * zero is subtracted.
bool multiplies(double weight, double zero) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 2000}, DType::u8);
  const TensorId w = Net::constant(graph, {3, 2000}, DType::s8, Values(6000, weight));
  const auto wide = [&](TensorId t, double by) {
    TensorId out = graph.add(Kind::reorder, ReorderAttributes{.dtype = DType::f32}, {t})[0];
    if (by != 0) out = graph.binary(out, Net::constant(graph, {1, 1}, DType::f32, {by}), BinaryAlgorithm::sub);
    return graph.binary(out, Net::constant(graph, {1, 1}, DType::f32, {0.5}), BinaryAlgorithm::mul);
  };
  graph.output(graph.inner_product(wide(x, zero), wide(w, 0), kNone));
  multiply_bytes(graph);
  return graph.nodes[0].kind == Kind::inner_product;
}

TEST(MultiplyBytes, LeavesSumsInWhichTheZeroPointTakesAllDigits) {
  EXPECT_TRUE(multiplies(60, 128));
  EXPECT_FALSE(multiplies(70, 128)) << "2,000 * 70 * 128 is over 2^24";
  EXPECT_TRUE(multiplies(70, 0));
}

TEST(MultiplyBytes, WeightsInGroupsKeepTheirScales) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 4, 3, 3}, DType::u8);
  Values values(16);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) - 8;
  const TensorId w = Net::constant(graph, {4, 1, 2, 2}, DType::s8, values);
  const TensorId wide = Net::dequantized(graph, w, {}, {1, 2, 4, 8}, {4, 1, 1, 1});
  const TensorId y = graph.convolution(Net::dequantized(graph, x, {7}, {0.5}, {}), graph.reshape(wide, {4, 1, 1, 2, 2}),
                                       kNone, {.groups = 4});
  graph.output(y);
  const std::vector<Values> inputs{some(graph, x)}, expected = evaluate(graph, inputs);
  multiply_bytes(graph);
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].as<ConvolutionAttributes>().src_zero_point, 7);
  EXPECT_EQ(evaluate(graph, inputs), expected);
}

/// relu(x * 2) as bytes; `also` reads the result before it is bytes.
Graph stored(bool also) {
  Graph graph;
  const TensorId x = graph.input("x", {2, 3});
  TensorId y = graph.binary(x, Net::constant(graph, {1, 1}, DType::f32, {2}), BinaryAlgorithm::mul);
  y = graph.eltwise(y, {EltwiseAlgorithm::relu});
  graph.output(graph.add(Kind::reorder, ReorderAttributes{.dtype = DType::s8}, {y})[0]);
  if (also) graph.output(graph.reshape(y, {6}));
  fuse(graph);
  return graph;
}

TEST(StoreBytes, MakesTheConversionThatOfTheNodeBefore) {
  Graph graph = stored(false);
  const std::vector<Values> inputs{{-1, 0, 0.25, 0.75, 63.2, 100}}, expected = evaluate(graph, inputs);
  ASSERT_EQ(graph.nodes.size(), 2U);
  store_bytes(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(evaluate(graph, inputs), expected);
  EXPECT_EQ(expected[0], (Values{0, 0, 0, 2, 126, 127}));
}

TEST(StoreBytes, LeavesResultsThatOthersRead) {
  Graph graph = stored(true);
  const std::size_t nodes = graph.nodes.size();
  store_bytes(graph);
  EXPECT_EQ(graph.nodes.size(), nodes);
}

}  // namespace
}  // namespace relayout::graph
