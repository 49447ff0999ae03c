// Requantize: functions between a sum of bytes and the bytes that it is stored as keep their values, and become as few
// as can be. (execute/run/quantized_test.cc runs whole layers.)
#include "relayout/graph/passes/requantize.h"

#include <gtest/gtest.h>

#include <random>

#include "relayout/graph/ir/post_ops.h"
#include "relayout/graph/passes/fuse.h"
#include "relayout/graph/passes/multiply_bytes.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::graph {
namespace {

/// A product of bytes and what stands behind it. All numbers are powers of two or small, so that f32 holds each result.
struct Layer {
  DType dtype = DType::u8;
  Values scale{0.25}, bias{}, divisor{2};
  std::optional<EltwiseAttributes> clip{};
  bool rounds = true;
  double zero = 0;

  static TensorId constant(Graph& graph, const Values& values) {
    return graph.constant("c", {1, std::ssize(values)}, std::vector<float>(values.begin(), values.end()));
  }

  Graph graph() const {
    Graph out;
    const TensorId x = out.input("x", {2, 3}, DType::s8);
    const Values weights{1, -2, 3, 4, 5, -6, 7, 8, -9, 10, 11, 12};
    const TensorId w =
        out.constant("w", {4, 3}, DType::s8, std::make_shared<const std::vector<std::byte>>(store(weights, DType::s8)));
    TensorId y = out.inner_product(x, w, kNone);
    y = out.binary(y, constant(out, scale), BinaryAlgorithm::mul);
    if (!bias.empty()) y = out.binary(y, constant(out, bias), BinaryAlgorithm::add);
    if (clip) y = out.eltwise(y, *clip);
    y = out.binary(y, constant(out, divisor), BinaryAlgorithm::div);
    if (rounds) y = out.eltwise(y, {EltwiseAlgorithm::round});
    if (zero != 0) y = out.binary(y, constant(out, {zero}), BinaryAlgorithm::add);
    out.output(out.add(Kind::reorder, ReorderAttributes{.dtype = dtype}, {y})[0]);
    fuse(out);
    store_bytes(out);
    return out;
  }
};

/// The functions of the layer's node behind the pass: "mul add clip". The values must be those before.
std::string functions(const Layer& layer) {
  const Graph before = layer.graph();
  EXPECT_EQ(before.nodes.size(), 1U);
  Graph after = before;
  requantize(after);
  std::mt19937 rng(5);
  for (int i = 0; i < 20; ++i) {
    Values x(6);
    for (double& each : x) each = std::uniform_int_distribution<int>(-128, 127)(rng);
    EXPECT_EQ(evaluate(before, {{x}}), evaluate(after, {{x}}));
  }
  std::string out;
  for (const PostOp& op : after.nodes[0].post_ops) out += (out.empty() ? "" : " ") + std::string(function_name(op));
  return out;
}

constexpr EltwiseAttributes kRelu{EltwiseAlgorithm::relu}, kRelu6{EltwiseAlgorithm::clip, 0, 6};

TEST(Requantize, OneScaleAndOneOffset) {
  EXPECT_EQ(functions({}), "mul");
  EXPECT_EQ(functions({.bias = {1, -2, 0.5, 0}}), "mul add");
  EXPECT_EQ(functions({.dtype = DType::s8, .scale = {0.5, 2, 0.25, 1}, .bias = {1, -2, 0.5, 0}}), "mul add");
  EXPECT_EQ(functions({.divisor = {0.5, 1, 2, 4}}), "mul") << "each channel has a scale";
  EXPECT_EQ(functions({.scale = {-1, 2, -0.5, 1}, .bias = {1, -2, 0.5, 0}}), "mul add");
}

TEST(Requantize, AnEvenZeroPointIsPartOfTheOffset) {
  EXPECT_EQ(functions({.bias = {1, -2, 0.5, 0}, .zero = 128}), "mul add");
  EXPECT_EQ(functions({.zero = 4}), "mul add");
  EXPECT_EQ(functions({.dtype = DType::s8, .zero = -128}), "mul add");
  EXPECT_EQ(functions({.zero = 3}), "mul round add") << "with an odd one halves would round the other way";
  EXPECT_EQ(functions({.dtype = DType::s8, .bias = {0.5}, .zero = -7}), "mul add round add");
}

TEST(Requantize, ClipsWhatTheTypeHolds) {
  EXPECT_EQ(functions({.clip = kRelu}), "mul") << "0 is the least number of u8";
  EXPECT_EQ(functions({.dtype = DType::s8, .clip = kRelu, .zero = -128}), "mul add");
  EXPECT_EQ(functions({.dtype = DType::s8, .clip = kRelu}), "mul clip");
  EXPECT_EQ(functions({.clip = kRelu, .zero = 128}), "mul add clip");
  EXPECT_EQ(functions({.clip = kRelu, .zero = 7}), "mul clip round add");
  EXPECT_EQ(functions({.divisor = {1.0 / 64}, .clip = kRelu6}), "mul") << "6 * 64 is no u8";
  EXPECT_EQ(functions({.divisor = {0.125}, .clip = kRelu6}), "mul clip");
  EXPECT_EQ(functions({.divisor = {0.0625}, .clip = EltwiseAttributes{EltwiseAlgorithm::clip, -3, 5}, .zero = 50}),
            "mul add clip");
}

TEST(Requantize, OtherFunctionsStay) {
  const EltwiseAttributes leaky{EltwiseAlgorithm::relu, 0.5}, square{EltwiseAlgorithm::square};
  EXPECT_EQ(functions({.rounds = false}), "mul div") << "a type that saturates without a rounding would round";
  EXPECT_EQ(functions({.clip = leaky}), "mul relu div round");
  EXPECT_EQ(functions({.clip = square}), "mul square div round");
  EXPECT_EQ(functions({.divisor = {1, 2, 4, 8}, .clip = kRelu6}), "mul clip div round") << "bounds for each channel";
  EXPECT_EQ(functions({.divisor = {-2}, .clip = kRelu}), "mul relu div round") << "bounds in the other order";
  EXPECT_EQ(functions({.scale = {0}}), "mul div round");
  EXPECT_EQ(functions({.scale = {1e-30}, .divisor = {1e30}}), "mul div round") << "f32 does not hold the quotient";
  EXPECT_EQ(functions({.zero = 0.5}), "mul div round add");
}

}  // namespace
}  // namespace relayout::graph
