// Every kind that the backend runs, forward, in every layout it offers, against the reference.
#include <gtest/gtest.h>

#include <array>
#include <oneapi/dnnl/dnnl.hpp>

#include "relayout/graph/ir/ops.h"
#include "tests/support/node_check.h"
#include "tests/support/random_nodes.h"
#include "tests/support/slow_tests.h"

namespace relayout::execute {
namespace {

/// Whether the machine computes with the type as exactly as the test wants.
bool has_type(DType dtype) {
  auto has = [](dnnl::cpu_isa isa) {  // one bit an extension
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & static_cast<unsigned>(isa)) ==
           static_cast<unsigned>(isa);
  };
  return dtype != DType::bf16 || has(dnnl::cpu_isa::avx512_core);
}

/// Random nodes of one kind, each checked: so many in the slow tier, and the first half of them otherwise.
void check_kind(graph::Kind kind, graph::Pass pass, int nodes, uint64_t seed, DType dtype = DType::f32,
                int threads = 1) {
  if (!has_type(dtype)) GTEST_SKIP() << "no instructions for " << name(dtype);
  Random random(seed);
  NodeCheck check(random, threads);
  const int count = test::slow_tests() ? nodes : (nodes + 1) / 2;
  for (int i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) {
    RandomNode node = random_node(random, kind, pass, dtype);
    check.check(node.graph, node.id, node.options);
  }
  check.print();
}

using graph::Kind;
using graph::Pass;

TEST(OneDnnForward, Convolution) { check_kind(Kind::convolution, Pass::forward_inference, 15, 1); }
TEST(OneDnnForward, Deconvolution) { check_kind(Kind::deconvolution, Pass::forward_inference, 8, 2); }
TEST(OneDnnForward, Matmul) { check_kind(Kind::matmul, Pass::forward_inference, 12, 3); }
TEST(OneDnnForward, InnerProduct) { check_kind(Kind::inner_product, Pass::forward_inference, 10, 4); }
TEST(OneDnnForward, Pooling) { check_kind(Kind::pooling, Pass::forward_inference, 15, 5); }
TEST(OneDnnForward, BatchNormalization) { check_kind(Kind::batch_normalization, Pass::forward_inference, 10, 6); }
TEST(OneDnnForward, LayerNormalization) { check_kind(Kind::layer_normalization, Pass::forward_inference, 10, 7); }
TEST(OneDnnForward, Lrn) { check_kind(Kind::lrn, Pass::forward_inference, 20, 8); }
TEST(OneDnnForward, Eltwise) { check_kind(Kind::eltwise, Pass::forward_inference, 60, 9); }
TEST(OneDnnForward, Prelu) { check_kind(Kind::prelu, Pass::forward_inference, 10, 10); }
TEST(OneDnnForward, Shuffle) { check_kind(Kind::shuffle, Pass::forward_inference, 10, 11); }
TEST(OneDnnForward, Softmax) { check_kind(Kind::softmax, Pass::forward_inference, 12, 12); }
TEST(OneDnnForward, Resampling) { check_kind(Kind::resampling, Pass::forward_inference, 20, 13); }
TEST(OneDnnForward, Reduction) { check_kind(Kind::reduction, Pass::forward_inference, 16, 14); }
TEST(OneDnnForward, Concat) { check_kind(Kind::concat, Pass::forward_inference, 15, 15); }
TEST(OneDnnForward, Sum) { check_kind(Kind::sum, Pass::forward_inference, 8, 16); }
TEST(OneDnnForward, Binary) { check_kind(Kind::binary, Pass::forward_inference, 36, 17); }
TEST(OneDnnForward, Reorder) { check_kind(Kind::reorder, Pass::forward_inference, 12, 18); }
TEST(OneDnnForward, Reshape) { check_kind(Kind::reshape, Pass::forward_inference, 10, 19); }
TEST(OneDnnForward, Transpose) { check_kind(Kind::transpose, Pass::forward_inference, 10, 20); }
TEST(OneDnnForward, Slice) { check_kind(Kind::slice, Pass::forward_inference, 15, 21); }
TEST(OneDnnForward, Broadcast) { check_kind(Kind::broadcast, Pass::forward_inference, 8, 22); }
TEST(OneDnnForward, Pad) { check_kind(Kind::pad, Pass::forward_inference, 15, 23); }
TEST(OneDnnForward, Gather) { check_kind(Kind::gather, Pass::forward_inference, 10, 24); }
TEST(OneDnnForward, Array) { check_kind(Kind::array, Pass::forward_inference, 80, 26); }
TEST(OneDnnForward, Rnn) { check_kind(Kind::rnn, Pass::forward_inference, 30, 25); }

/// Averages that the library refuses because windows step over the source; and windows without any element, of whose
/// maximum it makes the least number.
TEST(OneDnnForward, PoolingOfFewElements) {
  using graph::PoolingAlgorithm;
  Random random(27);
  NodeCheck check(random);
  for (const DType dtype : {DType::f32, DType::u8}) {
    for (const auto algorithm : {PoolingAlgorithm::average_exclude_padding, PoolingAlgorithm::max}) {
      for (const Dims& dims : {Dims{2, 17, 1, 3}, Dims{2, 16, 2, 2, 1}, Dims{1, 5, 2}}) {
        const int spatial = dims.size() - 2;
        graph::PoolingAttributes a{.algorithm = algorithm, .kernel = Dims(spatial, 3), .dilations = Dims(spatial, 1)};
        a.dilations[0] = 3;
        a.pads_begin = a.pads_end = Dims(spatial, 2);
        a.pads_begin[0] = a.pads_end[0] = 4;
        graph::Graph g;
        g.pooling(g.input("x", dims, dtype), a);
        check.check(g, 0, {});
      }
    }
  }
  EXPECT_TRUE(check.counts().at("pooling forward_inference").names.contains("relayout:reference"));
}

TEST(OneDnnTypes, ConvolutionBf16) { check_kind(Kind::convolution, Pass::forward_inference, 8, 51, DType::bf16); }
TEST(OneDnnTypes, ConvolutionU8) { check_kind(Kind::convolution, Pass::forward_inference, 8, 52, DType::u8); }
TEST(OneDnnTypes, ConvolutionS8) { check_kind(Kind::convolution, Pass::forward_inference, 6, 53, DType::s8); }
TEST(OneDnnTypes, MatmulBf16) { check_kind(Kind::matmul, Pass::forward_inference, 6, 54, DType::bf16); }
TEST(OneDnnTypes, MatmulU8) { check_kind(Kind::matmul, Pass::forward_inference, 6, 55, DType::u8); }
TEST(OneDnnTypes, MatmulS8) { check_kind(Kind::matmul, Pass::forward_inference, 6, 56, DType::s8); }
TEST(OneDnnTypes, InnerProductBf16) { check_kind(Kind::inner_product, Pass::forward_inference, 6, 57, DType::bf16); }
TEST(OneDnnTypes, InnerProductU8) { check_kind(Kind::inner_product, Pass::forward_inference, 6, 58, DType::u8); }
TEST(OneDnnTypes, PoolingU8) { check_kind(Kind::pooling, Pass::forward_inference, 6, 59, DType::u8); }
TEST(OneDnnTypes, PoolingBf16) { check_kind(Kind::pooling, Pass::forward_inference, 6, 60, DType::bf16); }
TEST(OneDnnTypes, ArrayS8) { check_kind(Kind::array, Pass::forward_inference, 40, 62, DType::s8); }
TEST(OneDnnTypes, ConcatU8) { check_kind(Kind::concat, Pass::forward_inference, 5, 61, DType::u8); }

TEST(OneDnnTypes, DeconvolutionBf16) { check_kind(Kind::deconvolution, Pass::forward_inference, 4, 62, DType::bf16); }
TEST(OneDnnTypes, DeconvolutionU8) { check_kind(Kind::deconvolution, Pass::forward_inference, 4, 63, DType::u8); }
TEST(OneDnnTypes, InnerProductS8) { check_kind(Kind::inner_product, Pass::forward_inference, 6, 64, DType::s8); }
TEST(OneDnnTypes, PoolingS8) { check_kind(Kind::pooling, Pass::forward_inference, 6, 65, DType::s8); }
TEST(OneDnnTypes, EltwiseBf16) { check_kind(Kind::eltwise, Pass::forward_inference, 20, 66, DType::bf16); }
TEST(OneDnnTypes, ConcatBf16) { check_kind(Kind::concat, Pass::forward_inference, 5, 67, DType::bf16); }
TEST(OneDnnTypes, ConcatS8) { check_kind(Kind::concat, Pass::forward_inference, 5, 68, DType::s8); }
TEST(OneDnnTypes, ConvolutionDataBf16) { check_kind(Kind::convolution, Pass::backward_data, 3, 69, DType::bf16); }
TEST(OneDnnTypes, ConvolutionWeightsBf16) { check_kind(Kind::convolution, Pass::backward_weights, 3, 70, DType::bf16); }

TEST(OneDnnBackward, ConvolutionData) { check_kind(Kind::convolution, Pass::backward_data, 5, 31); }
TEST(OneDnnBackward, ConvolutionWeights) { check_kind(Kind::convolution, Pass::backward_weights, 5, 32); }
TEST(OneDnnBackward, DeconvolutionData) { check_kind(Kind::deconvolution, Pass::backward_data, 4, 33); }
TEST(OneDnnBackward, DeconvolutionWeights) { check_kind(Kind::deconvolution, Pass::backward_weights, 4, 34); }
TEST(OneDnnBackward, InnerProductData) { check_kind(Kind::inner_product, Pass::backward_data, 6, 35); }
TEST(OneDnnBackward, InnerProductWeights) { check_kind(Kind::inner_product, Pass::backward_weights, 6, 36); }
TEST(OneDnnBackward, PoolingData) { check_kind(Kind::pooling, Pass::backward_data, 12, 37); }
TEST(OneDnnBackward, BatchNormalizationBoth) { check_kind(Kind::batch_normalization, Pass::backward, 20, 38); }
TEST(OneDnnBackward, LayerNormalizationBoth) { check_kind(Kind::layer_normalization, Pass::backward, 25, 39); }
TEST(OneDnnBackward, LrnData) { check_kind(Kind::lrn, Pass::backward_data, 25, 40); }
TEST(OneDnnBackward, EltwiseData) { check_kind(Kind::eltwise, Pass::backward_data, 60, 41); }
TEST(OneDnnBackward, PreluBoth) { check_kind(Kind::prelu, Pass::backward, 10, 42); }
TEST(OneDnnBackward, ShuffleData) { check_kind(Kind::shuffle, Pass::backward_data, 8, 43); }
TEST(OneDnnBackward, SoftmaxData) { check_kind(Kind::softmax, Pass::backward_data, 10, 44); }
TEST(OneDnnBackward, ResamplingData) { check_kind(Kind::resampling, Pass::backward_data, 12, 45); }
TEST(OneDnnBackward, RnnBoth) { check_kind(Kind::rnn, Pass::backward, 40, 46); }

/// Projections to fewer channels than the cell has, as many, and more, of one layer and two, in every direction; and
/// the gradient of every operand.
TEST(OneDnnBackward, ProjectedLstm) {
  Random random(3);
  NodeCheck check(random);
  const CheckOptions options{.low = -0.5, .high = 0.5, .terms = 100, .relative = 2e-5};
  for (const int64_t given : {3, 8, 19}) {
    for (int64_t i = 0; i < 4; ++i) {
      const graph::RnnAttributes lstm{.direction = static_cast<graph::RnnDirection>(i)};
      const int64_t time = 3, batch = 2, cell = 8, layers = 1 + i % 2, in = layers > 1 ? given : 5;
      const int64_t two = lstm.direction >= graph::RnnDirection::bidirectional_concat ? 2 : 1;
      graph::Graph g;
      const std::vector<TensorId> src = {g.input("x", {time, batch, in}),
                                         g.input("h", {layers, two, batch, given}),
                                         g.input("c", {layers, two, batch, cell}),
                                         g.input("w", {layers, two, in, 4, cell}),
                                         g.input("u", {layers, two, given, 4, cell}),
                                         g.input("b", {layers, two, 4, cell}),
                                         g.input("p", {layers, two, cell, given})};
      graph::Node node{.kind = Kind::rnn, .pass = Pass::forward_inference, .attributes = lstm, .src = src};
      g.add(node, 3);
      node.pass = Pass::forward_training;
      for (TensorId t : g.add(node, 3)) node.src.push_back(t);
      for (std::size_t k = 7; k < 10; ++k) {
        const Dims dims = g.tensor(node.src[k]).dims;
        node.src.push_back(g.input("diff", dims));
      }
      node.pass = Pass::backward;
      node.hint = 1;
      g.add(node, 7);
      check.check(g, 0, options);
      check.check(g, 2, options);
    }
  }
  const std::set<std::string>& backward = check.counts().at("rnn backward").names;
  EXPECT_TRUE(backward.contains("relayout:reference"));  // where the projection has more channels than the cell
  EXPECT_GT(backward.size(), 1u);
}

/// Spellings of one layout differ there in strides that mean nothing.
TEST(OneDnnBackward, SoftmaxOfDimsOfOne) {
  Random random(1);
  NodeCheck check(random);
  for (const Dims& dims : {Dims{3, 1, 3, 1}, Dims{2, 1, 3, 4}, Dims{1, 5, 1, 3}, Dims{3, 2, 1, 1}}) {
    for (int axis = 0; axis < 4; ++axis) {
      const graph::SoftmaxAttributes attributes{.axis = axis};
      graph::Graph g;
      g.pass = Pass::forward_training;
      const TensorId y = g.softmax(g.input("x", dims), attributes);
      g.add({.kind = Kind::softmax,
             .pass = Pass::backward_data,
             .attributes = attributes,
             .src = {y, g.input("diff", dims)},
             .hint = 0},
            1);
      check.check(g, 1, {.relative = 1e-4});
    }
  }
}

/// Weights of one block that they fill are plain ones as well, which gemm takes.
TEST(OneDnnImplementations, AreTheSameOfOneBlockAsOfNone) {
  const std::unique_ptr<graph::Backend> backend = onednn_backend(1);
  const Dims dims{32, 48, 1, 1};
  graph::Graph g;
  g.pass = Pass::forward_training;
  const TensorId x = g.input("x", {2, 48, 5, 5});
  const TensorId y = g.convolution(x, g.input("w", dims));
  g.add({.kind = Kind::convolution,
         .pass = Pass::backward_weights,
         .src = {x, g.input("diff", g.tensor(y).dims)},
         .hint = 0},
        1);
  const auto names = [&](const char* tag) {
    const Layout weights = Format::parse(tag).bind(dims), nhwc = Format::parse("acdb").bind(g.tensor(x).dims),
                 diff = Format::parse("acdb").bind(g.tensor(y).dims);
    const std::array<graph::LayoutRequest, 2> src{nhwc, diff};
    const std::array<graph::LayoutRequest, 1> dst{weights};
    std::vector<std::string> out;
    for (const graph::Implementation& implementation : backend->implementations(g, 1, src, dst, nullptr)) {
      EXPECT_EQ(implementation.dst[0], weights);
      out.push_back(implementation.name);
    }
    std::ranges::sort(out);
    return out;
  };
  EXPECT_FALSE(names("cdba").empty());
  EXPECT_EQ(names("Acdb32a"), names("cdba"));
}

/// Parts of concats and views begin within memory, which a primitive does not see.
TEST(OneDnnImplementations, AreTheSameWhereverAnOperandBegins) {
  const std::unique_ptr<graph::Backend> backend = onednn_backend(1);
  const auto names = [](const std::vector<graph::Implementation>& implementations) {
    std::vector<std::string> out;
    for (const graph::Implementation& each : implementations) out.push_back(each.name);
    return out;
  };
  Random random(7);
  int compared = 0;
  for (int k = 0; k < static_cast<int>(Kind::barrier); ++k) {
    const auto kind = static_cast<Kind>(k);
    for (Pass pass : {Pass::forward_inference, Pass::backward_data, Pass::backward_weights, Pass::backward}) {
      if (graph::is_view(kind) || graph::signature(kind, pass).src.empty()) continue;
      const RandomNode node = random_node(random, kind, pass, DType::f32);
      for (const graph::Implementation& implementation :
           backend->implementations(node.graph, node.id, {}, {}, nullptr)) {
        std::vector<graph::LayoutRequest> src = implementation.src;
        const std::vector<std::string> want =
            names(backend->implementations(node.graph, node.id, src, implementation.dst, nullptr));
        std::vector<Digits> digits;
        for (int d = 0; d < src[0]->ndims(); ++d) digits.push_back(src[0]->digits_of(d));
        src[0] = Layout::from_digits(src[0]->dims(), digits, src[0]->offset0() + 17);
        const std::vector<graph::Implementation> there =
            backend->implementations(node.graph, node.id, src, implementation.dst, nullptr);
        EXPECT_EQ(names(there), want) << name(kind) << ' ' << name(pass);
        for (const graph::Implementation& other : there) EXPECT_EQ(other.src[0], src[0]);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 40);
}

/// Some of every kind and pass on two threads: other blocks of weights, and parts of the work side by side.
TEST(OneDnnThreads, EveryKindOnTwo) {
  for (int k = 0; k < static_cast<int>(Kind::barrier); ++k) {
    const auto kind = static_cast<Kind>(k);
    for (Pass pass : {Pass::forward_inference, Pass::backward_data, Pass::backward_weights, Pass::backward}) {
      if (!graph::signature(kind, pass).src.empty())
        check_kind(kind, pass, 1, static_cast<uint64_t>(100 + k), DType::f32, 2);
    }
  }
}

}  // namespace
}  // namespace relayout::execute
