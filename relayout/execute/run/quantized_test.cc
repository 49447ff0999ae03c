// Models of quantised numbers, as exporters write them: (u8 - zero) * scale before a product, and rounding behind it.
// Scales are powers of two and sums are small, so that f32 holds every number: results must be those of the
// model as it was, to the bit, in every plan, on processors that multiply bytes and on others.
#include <gtest/gtest.h>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/prepare.h"
#include "tests/support/node_check.h"
#include "tests/support/run_model.h"
#include "tests/support/simple_costs.h"

namespace relayout::execute {
namespace {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::Graph;
using graph::Kind;
using graph::Node;
using graph::TensorId;
using graph::Values;

/// What a random model has.
struct Case {
  Kind kind = Kind::convolution;
  Dims src{}, weights{};
  graph::ConvolutionAttributes window{};
  DType src_type = DType::u8, dst_type = DType::u8;
  int src_zero = 0, dst_zero = 0;
  bool extreme = false, one_scale = false, bias = true, relu = true, clip = false;
};

class QuantizedModels : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
  }

  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(rng_); }
  bool coin() { return pick(0, 1) == 1; }

  static TensorId constant(Graph& graph, const Dims& dims, DType dtype, const Values& values) {
    const auto data = std::make_shared<const std::vector<std::byte>>(graph::store(values, dtype));
    return graph.constant("c" + std::to_string(graph.tensors.size()), dims, dtype, data);
  }

  /// (tensor - zero) * scale, with dims that repeat.
  static TensorId dequantized(Graph& graph, TensorId t, int zero, const Dims& dims, const Values& scales) {
    TensorId out = graph.add(Kind::reorder, graph::ReorderAttributes{.dtype = DType::f32}, {t})[0];
    const Dims ones(graph.tensor(t).dims.size(), 1);
    if (zero != 0) {
      out = graph.binary(out, constant(graph, ones, DType::f32, {static_cast<double>(zero)}), BinaryAlgorithm::sub);
    }
    return graph.binary(out, constant(graph, dims, DType::f32, scales), BinaryAlgorithm::mul);
  }

  Case random_case() {
    Case out;
    out.kind = std::array{Kind::convolution, Kind::inner_product, Kind::matmul}[static_cast<std::size_t>(pick(0, 2))];
    int64_t channels = pick(1, 40), made = pick(1, 40);
    if (out.kind == Kind::convolution) {
      const bool depthwise = pick(0, 3) == 0;
      if (depthwise) channels = made = 1;
      const int64_t groups = depthwise ? pick(2, 40) : coin() ? 1 : pick(2, 4), kernel = pick(1, 3), image = pick(4, 9);
      out.src = {pick(1, 2), channels * groups, image, image};
      out.weights = {made, channels, kernel, kernel};
      if (groups > 1) out.weights.insert(0, groups);
      const int64_t pad = pick(0, 1), stride = pick(1, 2);
      out.window = {.strides = {stride, stride}, .pads_begin = {pad, pad}, .pads_end = {pad, pad}, .groups = groups};
    } else {
      out.src = {pick(1, 9), channels};
      out.weights = out.kind == Kind::matmul ? Dims{channels, made} : Dims{made, channels};
    }
    out.src_type = coin() ? DType::u8 : DType::s8;
    out.dst_type = coin() ? DType::u8 : DType::s8;
    out.src_zero = pick(0, 2) == 0 ? 0 : pick(out.src_type == DType::u8 ? 0 : -128, 127);
    out.dst_zero = pick(out.dst_type == DType::u8 ? 0 : -128, 127);
    out.extreme = pick(0, 3) == 0;
    out.one_scale = coin();
    out.bias = coin();
    out.relu = coin();
    out.clip = !out.relu && coin();
    return out;
  }

  Graph model(const Case& c) {
    Graph graph;
    const int rank = c.src.size();
    const TensorId x = graph.input("x", c.src, c.src_type);
    Values weights(static_cast<std::size_t>(*checked_product(c.weights)));
    for (double& each : weights) each = c.extreme ? (coin() ? 127 : -128) : pick(-127, 127);
    const TensorId w = constant(graph, c.weights, DType::s8, weights);
    const bool grouped = c.window.groups > 1;
    const int64_t made = c.kind == Kind::matmul ? c.weights[1] : grouped ? c.weights[0] * c.weights[1] : c.weights[0];
    Dims scales(c.weights.size(), 1);
    if (!c.one_scale && !grouped) scales[c.kind == Kind::matmul ? 1 : 0] = made;
    Values factors(static_cast<std::size_t>(*checked_product(scales)));
    for (double& each : factors) each = std::ldexp(1, -pick(6, 9));
    const TensorId a = dequantized(graph, x, c.src_zero, Dims(rank, 1), {std::ldexp(1, -3)});
    const TensorId b = dequantized(graph, w, 0, scales, factors);
    TensorId bias = graph::kNone;
    if (c.bias) {
      Values values(static_cast<std::size_t>(made));
      for (double& each : values) each = std::ldexp(pick(-100, 100), -4);
      bias = constant(graph, {made}, DType::f32, values);
    }
    TensorId y = c.kind == Kind::convolution ? graph.convolution(a, b, bias, c.window)
                 : c.kind == Kind::matmul    ? graph.matmul(a, b, bias)
                                             : graph.inner_product(a, b, bias);
    if (c.relu) y = graph.eltwise(y, {EltwiseAlgorithm::relu});
    if (c.clip) y = graph.eltwise(y, {EltwiseAlgorithm::clip, 0, 6});
    const Dims ones(rank, 1);
    y = graph.binary(y, constant(graph, ones, DType::f32, {c.extreme ? 8.0 : 0.5}), BinaryAlgorithm::div);
    y = graph.eltwise(y, {EltwiseAlgorithm::round});
    const double zero = c.dst_zero;
    if (zero != 0) y = graph.binary(y, constant(graph, ones, DType::f32, {zero}), BinaryAlgorithm::add);
    y = graph.add(Kind::reorder, graph::ReorderAttributes{.dtype = c.dst_type}, {y})[0];
    graph.output(y);
    return graph;
  }

  static std::string text(const Case& c) {
    return std::string(name(c.kind)) + " of " + join(c.src, "x") + " by " + join(c.weights, "x") + ", zero points " +
           std::to_string(c.src_zero) + " and " + std::to_string(c.dst_zero);
  }

  Values random_bytes(const Case& c) {
    Values out(static_cast<std::size_t>(*checked_product(c.src)));
    const int least = c.src_type == DType::u8 ? 0 : -128, most = c.src_type == DType::u8 ? 255 : 127;
    for (double& each : out) each = c.extreme ? (pick(0, 4) == 0 ? least : most) : pick(least, most);
    return out;
  }

  void check(const Case& c) {
    const Graph given = model(c);
    const std::vector<Values> inputs{random_bytes(c)};
    const Values expected = graph::evaluate(given, inputs)[0];
    Graph graph = given;
    graph::prepare(graph, [](const Graph&, graph::NodeId) { return true; });
    ASSERT_EQ(graph.nodes.size(), 1U);
    EXPECT_EQ(graph.nodes[0].kind, c.kind);
    EXPECT_EQ(graph.tensor(graph.nodes[0].src[1]).dtype, DType::s8);
    EXPECT_EQ(graph::evaluate(graph, inputs)[0], expected);
    for (const graph::Policy policy : test::all_policies()) {
      SCOPED_TRACE(name(policy));
      run(graph, graph::propagate(graph, *backend_, {.policy = policy, .block = 8}), inputs, expected);
    }
    SCOPED_TRACE("optimal");
    run(graph, graph::optimize(graph, *backend_, costs_).plan, inputs, expected);
  }

  void run(const Graph& graph, const graph::LayoutPlan& plan, const std::vector<Values>& inputs,
           const Values& expected) {
    SCOPED_TRACE(plan.nodes[0].implementation);
    Model ready(graph, plan, *backend_, {.check_padding = true});
    for (int run = 0; run < 2; ++run) {  // constants are converted in the first one alone
      EXPECT_EQ(test::run_model(ready, inputs)[0], expected) << plan.nodes[0].implementation;
    }
  }

  std::unique_ptr<graph::Backend> backend_;
  test::ByteCosts costs_;
  std::mt19937 rng_{7};
};

TEST_F(QuantizedModels, GiveTheSameBits) {
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    const Case c = random_case();
    SCOPED_TRACE(text(c));
    check(c);
  }
}

/// Every implementation in every layout that the backend offers; half of the sums are such that 16 bits do not hold two
/// of their products.
TEST_F(QuantizedModels, EveryImplementationIsExact) {
  Random random(5);
  NodeCheck every(random);
  for (int i = 0; i < 24 && !HasFailure(); ++i) {
    Case c = random_case();
    c.extreme = coin();
    SCOPED_TRACE(text(c));
    Graph graph = model(c);
    graph::prepare(graph, [](const Graph&, graph::NodeId) { return true; });
    ASSERT_EQ(graph.nodes.size(), 1U);
    CheckOptions options{.terms = 0, .relative = 0, .exact = true, .given = {{0, random_bytes(c)}}};
    for (std::size_t k = 1; k < graph.nodes[0].src.size(); ++k)
      options.given[k] = graph::values_of(graph.tensor(graph.nodes[0].src[k]));
    every.check(graph, 0, options);
  }
  every.print();
}

}  // namespace
}  // namespace relayout::execute
