// How fast the backend says that its implementations are, by their names; and that the remembering backend passes this
// on.
#include "relayout/execute/onednn/performance.h"

#include <gtest/gtest.h>

#include "relayout/core/format.h"
#include "relayout/execute/measure/remembering_backend.h"
#include "relayout/execute/onednn/backend.h"

namespace relayout::execute {
namespace {

using graph::ConvolutionAlgorithm;
using graph::Implementation;
using graph::Kind;
using graph::Performance;

const Dims kDims{1, 32, 14, 14};

/// The performance of an implementation with this name, for a node whose one source has the layout of this tag.
Performance performance(Kind kind, const char* name, const char* tag = "nchw") {
  return performance_of({.kind = kind}, {.name = name, .src = {Format::parse(tag).bind(kDims)}});
}

TEST(Performance, SharesAreThoseOfTheFamily) {
  const auto expect = [](const Performance& made, double arithmetic, double memory) {
    EXPECT_EQ(made.arithmetic, arithmetic);
    EXPECT_EQ(made.memory, memory);
  };
  expect(performance(Kind::convolution, "brgconv:avx512_core"), 0.95, 0.9);
  expect(performance(Kind::convolution, "ref:any"), 0.004, 0.03);
  expect(performance(Kind::deconvolution, "jit:avx2", "nhwc"), 0.71, 0.9);
  expect(performance(Kind::convolution, "a name of a later version"), 0.5, 0.5);
  expect(performance(Kind::inner_product, "gemm:jit"), 0.8, 0.8);
  expect(performance(Kind::eltwise, "jit:avx512_core"), 0.3, 0.85);
  // Shares that were measured for one order of the channels count only for that order.
  expect(performance(Kind::pooling, "jit:avx512_core", "nchw"), 0.14, 0.18);
  expect(performance(Kind::pooling, "jit:avx512_core", "nhwc"), 0.26, 0.55);
  expect(performance(Kind::convolution, "jit:sse41", "nChw8c"), 0.3, 0.9);
  expect(performance(Kind::convolution, "jit:sse41", "nhwc"), 0.2, 0.9);
  // These are this project's own kernels.
  expect(performance(Kind::shuffle, "relayout:reorder", "nhwc"), 1, 0.32);
  expect(performance(Kind::batch_normalization, "relayout:batch_normalization", "nChw16c"), 1, 0.4);
}

TEST(Performance, ReferencesGoStepByStep) {
  const auto reference = [](Kind kind, const char* tag, const graph::NodeAttributes& attributes = {}) {
    const Layout layout = Format::parse(tag).bind(kDims);
    return performance_of({.kind = kind, .attributes = attributes},
                          {.name = "ref:any", .src = {layout}, .dst = {layout}, .reference = true});
  };
  // Offsets in blocks take longer to compute than those in rows.
  EXPECT_GT(reference(Kind::convolution, "nChw8c").step_ns, reference(Kind::convolution, "nchw").step_ns);
  EXPECT_GT(reference(Kind::convolution, "nchw").step_ns, reference(Kind::convolution, "nhwc").step_ns);
  EXPECT_GT(reference(Kind::convolution, "nhwc").dst_ns, 0);
  EXPECT_GT(reference(Kind::reduction, "nchw").step_ns, 0);
  const auto softmax = [&](int axis) { return reference(Kind::softmax, "nchw", graph::SoftmaxAttributes{axis}); };
  EXPECT_GT(softmax(1).step_ns, 5 * softmax(3).step_ns);
  EXPECT_EQ(performance(Kind::convolution, "jit:avx512_core").step_ns, 0);
}

TEST(Performance, LanesAreThoseOfTheInstructionSet) {
  EXPECT_EQ(performance(Kind::convolution, "jit:avx512_core").lanes, 16);
  EXPECT_EQ(performance(Kind::convolution, "jit_dw:avx2").lanes, 8);
  EXPECT_EQ(performance(Kind::convolution, "jit:sse41").lanes, 4);
}

TEST(Performance, AlgorithmsAreToldByName) {
  const auto algorithm = [](const char* name) { return performance(Kind::convolution, name).algorithm; };
  EXPECT_EQ(algorithm("jit:avx512_core"), ConvolutionAlgorithm::direct);
  EXPECT_EQ(algorithm("gemm:jit"), ConvolutionAlgorithm::unfolding);
  EXPECT_EQ(algorithm("x64:gemm:jit"), ConvolutionAlgorithm::unfolding);
  EXPECT_EQ(algorithm("jit_dw:avx2"), ConvolutionAlgorithm::depthwise);
  EXPECT_EQ(algorithm("brgconv:avx512_core"), ConvolutionAlgorithm::other);
  EXPECT_EQ(algorithm("jit_wino_4x3:avx512_core"), ConvolutionAlgorithm::transforming);
  EXPECT_EQ(algorithm("jit_fp32_wino_2x3:avx512_core"), ConvolutionAlgorithm::transforming);
  EXPECT_EQ(algorithm("jit_int8_wino:avx512_core_vnni"), ConvolutionAlgorithm::other);  // its tiles are not known
  EXPECT_EQ(performance(Kind::convolution, "jit_wino_4x3:avx512_core").tile, 4);
  EXPECT_EQ(performance(Kind::convolution, "jit_fp32_wino_2x3:avx512_core").tile, 2);
  EXPECT_EQ(performance(Kind::convolution, "jit:avx512_core").tile, 0);
  EXPECT_TRUE(performance(Kind::inner_product, "gemm_s8u8s32:jit").multiplies_matrices);
  EXPECT_FALSE(performance(Kind::inner_product, "brgemm:avx512_core").multiplies_matrices);
}

TEST(Performance, IsHandedOnByTheRememberingBackend) {
  if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  const auto onednn = onednn_backend(1);
  const auto remembering = remembering_backend(*onednn);
  graph::Graph graph;
  graph.eltwise(graph.input("x", kDims), {.algorithm = graph::EltwiseAlgorithm::relu});
  const Layout layout = Format::parse("nhwc").bind(kDims);
  const Implementation implementation{.name = "jit:avx2", .src = {layout}, .dst = {layout}};
  for (const graph::Backend* backend : {onednn.get(), static_cast<graph::Backend*>(remembering.get())}) {
    const Performance made = backend->performance(graph, 0, implementation);
    EXPECT_EQ(made.memory, 0.85) << backend->name();
    EXPECT_EQ(made.lanes, 8) << backend->name();
  }
}

}  // namespace
}  // namespace relayout::execute
