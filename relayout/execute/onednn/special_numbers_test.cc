// NaN, infinities, the least numbers and -0 among the elements: every implementation of the kinds that work on
// elements, on windows or on rows gives what the reference gives for them.
#include <gtest/gtest.h>

#include "tests/support/node_check.h"
#include "tests/support/random_nodes.h"
#include "tests/support/slow_tests.h"

namespace relayout::execute {
namespace {

using graph::EltwiseAlgorithm;
using graph::Kind;

void check_special(Kind kind, int nodes, uint64_t seed, DType dtype = DType::f32) {
  Random random(seed);
  NodeCheck check(random);
  for (int i = 0; i < (test::slow_tests() ? 4 * nodes : nodes); ++i) {
    RandomNode node = random_node(random, kind, graph::Pass::forward_inference, dtype);
    if (onednn_backend(1)->implementations(node.graph, node.id, {}, {}, nullptr).empty()) {
      GTEST_SKIP() << "no instructions for " << name(dtype);
    }
    node.options.special = true;
    // Where few elements are finite, the largest of them may be small.
    node.options.relative = 2e-3;
    check.check(node.graph, node.id, node.options);
  }
}

TEST(OwnSpecialNumbers, Sum) { check_special(Kind::sum, 8, 2); }
TEST(OwnSpecialNumbers, Prelu) { check_special(Kind::prelu, 8, 3); }
TEST(OwnSpecialNumbers, Pooling) { check_special(Kind::pooling, 20, 4); }
TEST(OwnSpecialNumbers, PoolingBf16) { check_special(Kind::pooling, 10, 5, DType::bf16); }
TEST(OwnSpecialNumbers, Reduction) { check_special(Kind::reduction, 16, 6); }
TEST(OwnSpecialNumbers, Softmax) { check_special(Kind::softmax, 12, 7); }
TEST(OwnSpecialNumbers, LayerNormalization) { check_special(Kind::layer_normalization, 8, 8); }
TEST(OwnSpecialNumbers, BatchNormalization) { check_special(Kind::batch_normalization, 8, 9); }
/// Of products, infinity and NaN among the weights meet padding of the source, and zeros that pad channels.
TEST(OwnSpecialNumbers, Convolution) { check_special(Kind::convolution, 24, 13); }
TEST(OwnSpecialNumbers, Deconvolution) { check_special(Kind::deconvolution, 12, 15); }
TEST(OwnSpecialNumbers, InnerProduct) { check_special(Kind::inner_product, 8, 16); }
TEST(OwnSpecialNumbers, InnerProductBf16) { check_special(Kind::inner_product, 8, 19, DType::bf16); }
TEST(OwnSpecialNumbers, Matmul) { check_special(Kind::matmul, 8, 17); }
TEST(OwnSpecialNumbers, ConvolutionBf16) { check_special(Kind::convolution, 16, 14, DType::bf16); }
TEST(OwnSpecialNumbers, DeconvolutionBf16) { check_special(Kind::deconvolution, 12, 18, DType::bf16); }
TEST(OwnSpecialNumbers, MatmulBf16) { check_special(Kind::matmul, 12, 20, DType::bf16); }
TEST(OwnSpecialNumbers, Resampling) { check_special(Kind::resampling, 16, 21); }
TEST(OwnSpecialNumbers, ResamplingBf16) { check_special(Kind::resampling, 8, 22, DType::bf16); }
TEST(OwnSpecialNumbers, Concat) { check_special(Kind::concat, 6, 10); }

TEST(OwnSpecialNumbers, Binary) {
  Random random(1);
  NodeCheck check(random);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (int k = 0; k < static_cast<int>(graph::BinaryAlgorithm::bitwise_and); ++k) {
      graph::Graph graph;
      const Dims dims{2, 19, 5, 3};
      graph.binary(graph.input("a", dims, dtype), graph.input("b", k % 2 == 0 ? dims : Dims{1, 19, 1, 1}, dtype),
                   static_cast<graph::BinaryAlgorithm>(k));
      check.check(graph, 0, {.low = 0.5, .high = 4, .relative = 1e-4, .special = true});
    }
  }
}

/// Every elementwise function, with the bounds that models use.
TEST(OwnSpecialNumbers, Eltwise) {
  Random random(12);
  NodeCheck check(random);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (int k = 0; k < graph::kEltwiseCount; ++k) {
      const auto algorithm = static_cast<EltwiseAlgorithm>(k);
      if (dtype == DType::bf16 && (algorithm == EltwiseAlgorithm::pow)) continue;
      if (algorithm == EltwiseAlgorithm::bitwise_not) continue;  // of whole numbers
      for (const double alpha : {0.0, 0.5}) {
        if (algorithm == EltwiseAlgorithm::pow && alpha == 0) continue;  // infinity times 0
        graph::Graph graph;
        graph.eltwise(graph.input("x", {2, 19, 5, 3}, dtype), {algorithm, alpha, 2});
        SCOPED_TRACE(name(algorithm));
        check.check(graph, 0, {.low = -4, .high = 4, .relative = 1e-4, .special = true});
      }
    }
  }
}

/// Powers for which libraries have short cuts.
TEST(OwnSpecialNumbers, Powers) {
  Random random(23);
  NodeCheck check(random);
  for (const double power : {0.5, -0.5, 1.0, -1.0, 2.0, 3.0, -2.0, 1.5, 0.0}) {
    SCOPED_TRACE(power);
    graph::Graph graph;
    graph.eltwise(graph.input("x", {2, 19, 5, 3}), {EltwiseAlgorithm::pow, 1, power});
    check.check(graph, 0, {.low = -4, .high = 4, .relative = 1e-4, .special = true});
  }
}

}  // namespace
}  // namespace relayout::execute
