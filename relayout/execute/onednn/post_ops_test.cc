// Post-ops behind products: those that oneDNN computes and those that follow as a pass of their own, in every layout
// that is offered, against the reference; and that a plan may choose either.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/passes/fuse.h"
#include "relayout/graph/passes/multiply_bytes.h"
#include "tests/support/node_check.h"
#include "tests/support/random_nodes.h"
#include "tests/support/slow_tests.h"

namespace relayout::execute {
namespace {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::Kind;
using graph::Pass;

/// Adds elementwise nodes behind the node's result and makes post-ops of them.
void follow(Random& random, RandomNode& node) {
  graph::Graph& g = node.graph;
  TensorId y = g.node(node.id).dst[0];
  const Dims dims = g.tensor(y).dims;
  const DType dtype = g.tensor(y).dtype;
  for (int64_t i = random.between(1, 4); i > 0; --i) {
    using A = EltwiseAlgorithm;
    using B = BinaryAlgorithm;
    Dims other = dims;
    if (random.one_in(2)) other = Dims(dims.size(), 1);
    if (random.one_in(2)) other[dims.size() - 1] = dims[dims.size() - 1];
    if (random.one_in(2)) other[1] = dims[1];
    switch (random.between(0, 3)) {
      case 0:
        y = g.eltwise(y, {random.of({A::relu, A::gelu_erf, A::gelu_tanh, A::logistic, A::abs, A::clip}), 0, 0.5});
        break;
      case 1: y = g.eltwise(y, {random.of({A::linear, A::tanh, A::swish, A::elu}), 0.5, 0.25}); break;
      case 2: y = g.binary(g.input("", other, dtype), y, random.of({B::add, B::mul, B::sub, B::max})); break;
      default: y = g.binary(y, g.input("", other, dtype), random.of({B::add, B::mul, B::sub})); break;
    }
  }
  g.output(y);
  graph::fuse(g);
  node.id = static_cast<NodeId>(g.nodes.size()) - 1;
}

void check_post_ops(Kind kind, int nodes, uint64_t seed, bool special = false) {
  Random random(seed);
  NodeCheck check(random);
  for (int i = 0; i < (test::slow_tests() ? 4 * nodes : nodes); ++i) {
    RandomNode node = random_node(random, kind, Pass::forward_inference);
    follow(random, node);
    ASSERT_EQ(node.graph.nodes.size(), 1u);
    node.options.relative = std::max(node.options.relative, 1e-4);
    node.options.special = special;
    check.check(node.graph, node.id, node.options);
  }
  check.print();
}

TEST(OneDnnPostOps, Convolution) { check_post_ops(Kind::convolution, 12, 81); }
TEST(OneDnnPostOps, Deconvolution) { check_post_ops(Kind::deconvolution, 6, 82); }
TEST(OneDnnPostOps, Matmul) { check_post_ops(Kind::matmul, 20, 83); }
TEST(OneDnnPostOps, InnerProduct) { check_post_ops(Kind::inner_product, 12, 84); }
TEST(OneDnnPostOps, ConvolutionOfSpecialNumbers) { check_post_ops(Kind::convolution, 16, 88, true); }
TEST(OneDnnPostOps, DeconvolutionOfSpecialNumbers) { check_post_ops(Kind::deconvolution, 8, 89, true); }
TEST(OneDnnPostOps, MatmulOfSpecialNumbers) { check_post_ops(Kind::matmul, 12, 85, true); }
TEST(OneDnnPostOps, InnerProductOfSpecialNumbers) { check_post_ops(Kind::inner_product, 8, 86, true); }

/// Spellings of one layout differ in the strides of dims of one element: what is offered can be made in all of them.
TEST(OneDnnPostOps, ProductsOfDimsOfOne) {
  Random random(90);
  NodeCheck check(random);
  for (int round = 0; round < 32; ++round) {
    const int64_t in = random.of<int64_t>({1, 3, 16}), out = random.of<int64_t>({1, 4, 16});
    const int64_t width = random.between(1, 2), kernel = random.between(1, 2);
    graph::Graph g;
    const TensorId x = g.input("x", {1, in, width}), w = g.input("w", {out, in, kernel}), b = g.input("b", {out});
    if (round % 2 == 0 && kernel > width) continue;
    const TensorId y = round % 2 == 0 ? g.convolution(x, w, b) : g.deconvolution(x, w, b);
    const auto function = random.of({EltwiseAlgorithm::gelu_erf, EltwiseAlgorithm::logistic, EltwiseAlgorithm::tanh});
    g.output(g.eltwise(y, {function}));
    graph::fuse(g);
    check.check(g, 0, {.relative = 1e-4, .special = round % 4 < 2});
  }
}

/// Two and three functions behind each other, which share registers and tables in generated code.
TEST(OneDnnPostOps, FunctionsBehindEachOther) {
  using A = EltwiseAlgorithm;
  const std::vector<graph::EltwiseAttributes> functions = {{A::linear, 0.125, 0},
                                                           {A::linear, 8, 0},
                                                           {A::linear, 0.5, 0.25},
                                                           {A::tanh},
                                                           {A::logistic},
                                                           {A::gelu_erf},
                                                           {A::gelu_tanh},
                                                           {A::swish, 1},
                                                           {A::elu, 0.5},
                                                           {A::relu, 0.1},
                                                           {A::abs},
                                                           {A::square},
                                                           {A::mish},
                                                           {A::hardswish}};
  Random random(87);
  NodeCheck check(random);
  int round = 0;
  for (const auto& first : functions) {
    for (const auto& second : functions) {
      SCOPED_TRACE(std::string(name(first.algorithm)) + ", " + std::string(name(second.algorithm)));
      graph::Graph g;
      TensorId y = graph::kNone;
      switch (round++ % 3) {
        case 0: y = g.matmul(g.input("a", {2, 4, 8}), g.input("b", {2, 8, 4})); break;
        case 1: y = g.convolution(g.input("x", {1, 16, 4, 4}), g.input("w", {16, 16, 1, 1})); break;
        default: y = g.inner_product(g.input("x", {3, 16}), g.input("w", {16, 16})); break;
      }
      if (random.one_in(2)) y = g.eltwise(y, functions[static_cast<std::size_t>(random.between(0, 2))]);
      y = g.eltwise(g.eltwise(y, first), second);
      if (random.one_in(2)) y = g.eltwise(y, functions[static_cast<std::size_t>(random.between(0, 2))]);
      g.output(y);
      graph::fuse(g);
      check.check(g, 0, {.low = -1, .high = 1, .relative = 1e-4});
    }
  }
}

/// A product of bytes, and a constant scale and offset behind it, which the library may compute as output scales and a
/// bias: of any size and sign, one or one for each channel, stored as f32 or as bytes.
TEST(OneDnnPostOps, ScalesAndOffsetsBehindSumsOfBytes) {
  Random random(88);
  NodeCheck check(random);
  for (int i = 0; i < (test::slow_tests() ? 240 : 60); ++i) {
    graph::Graph g;
    const int64_t from = random.of({1, 3, 16, 17, 33}), to = random.of({1, 5, 16, 17, 40});
    const DType src = random.of({DType::u8, DType::s8});
    TensorId y = graph::kNone;
    switch (i % 3) {
      case 0: y = g.matmul(g.input("a", {2, 3, from}, src), g.input("b", {1, from, to}, DType::s8)); break;
      case 1: y = g.convolution(g.input("x", {2, from, 5, 4}, src), g.input("w", {to, from, 1, 1}, DType::s8)); break;
      default: y = g.inner_product(g.input("x", {3, from}, src), g.input("w", {to, from}, DType::s8));
    }
    const Dims dims = g.tensor(y).dims;
    CheckOptions options{.low = -127, .high = 127, .relative = 1e-5};
    const auto function = [&](double size, BinaryAlgorithm algorithm) {
      Dims of(dims.size(), 1);
      const int channel = i % 3 == 0 ? dims.size() - 1 : 1;
      if (random.one_in(2)) of[channel] = dims[channel];
      std::vector<float> values(static_cast<std::size_t>(checked_product(of).value()));
      for (float& each : values) each = static_cast<float>(size * random.real(0.1, 1) * random.of({-1, 1}));
      y = g.binary(y, g.constant("", of, std::move(values)), algorithm);
    };
    function(std::exp2(random.between(-30, 4)), BinaryAlgorithm::mul);
    if (!random.one_in(4)) function(std::exp2(random.between(-10, 10)), BinaryAlgorithm::add);
    if (random.one_in(2)) y = g.eltwise(y, {EltwiseAlgorithm::clip, -50, 60});
    const bool stores_bytes = random.one_in(2);
    if (stores_bytes) {
      y = g.eltwise(y, {EltwiseAlgorithm::round});
      y = g.add(Kind::reorder, graph::ReorderAttributes{.dtype = random.of({DType::u8, DType::s8})}, {y})[0];
    }
    g.output(y);
    graph::fuse(g);
    graph::store_bytes(g);
    ASSERT_EQ(g.nodes.size(), 1U);
    const graph::Node& node = g.nodes[0];
    for (std::size_t k = node.own_sources(); k < node.src.size(); ++k)
      options.given[k] = graph::values_of(g.tensor(node.src[k]));
    check.check(g, 0, options);
  }
  check.print();
}

}  // namespace
}  // namespace relayout::execute
