// Building graphs: names, fixed layouts, constants, and what is refused.
#include "relayout/graph/ir/graph.h"

#include <gtest/gtest.h>

#include "relayout/graph/ir/ops.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::error_of;

TEST(Graph, AFewLinesMakeAModel) {
  Graph g;
  const std::vector<float> weights(16 * 3 * 3 * 3, 1.0F);
  const TensorId x = g.input("x", {1, 3, 224, 224}, DType::f32, Format::parse("nhwc"));
  const TensorId w = g.constant("w", {16, 3, 3, 3}, weights);
  const TensorId y = g.convolution(x, w, kNone, {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
  g.output(g.eltwise(y, {.algorithm = EltwiseAlgorithm::relu}), Format::parse("nchw"));

  ASSERT_EQ(g.outputs.size(), 1u);
  const Tensor& out = g.tensor(g.outputs[0]);
  EXPECT_EQ(out.dims, (Dims{1, 16, 112, 112}));
  EXPECT_TRUE(*out.layout == Layout::contiguous(out.dims));
  EXPECT_TRUE(*g.tensor(x).layout == Format::parse("nhwc").bind({1, 3, 224, 224}));
  EXPECT_FALSE(g.tensor(y).layout);
  EXPECT_TRUE(g.tensor(w).constant());
  EXPECT_EQ(g.tensor(w).data->size(), weights.size() * sizeof(float));
  EXPECT_EQ(g.nodes[0].name, "convolution_0");
  EXPECT_EQ(out.name, "eltwise_1");
  EXPECT_EQ(producers(g), (std::vector<NodeId>{kNone, kNone, 0, 1}));
  EXPECT_EQ(consumers(g), (std::vector<std::vector<NodeId>>{{0}, {0}, {1}, {}}));
}

TEST(Graph, AnyFixesNoLayout) {
  Graph g;
  EXPECT_FALSE(g.tensor(g.input("x", {2, 3}, DType::f32, Format::parse("any"))).layout);
  // A tensor's dims are those behind the views of its layout.
  const TensorId turned = g.input("turned", {2, 3}, DType::f32, Format::parse("ab.transpose(0,1)"));
  EXPECT_TRUE(*g.tensor(turned).layout == Format::parse("ba").bind({2, 3}));
  EXPECT_EQ(test::code_of([&] {
              g.input("part", {2, 3}, DType::f32, Format::parse("ab.narrow(0,0,1)"));
            }),
            ErrorCode::invalid_argument);
}

TEST(Graph, FurtherDestinationsAreNumbered) {
  Graph g;
  g.pass = Pass::forward_training;
  const TensorId x = g.input("x", {2, 3, 4});
  const auto out = g.add(Kind::batch_normalization, NormalizationAttributes{}, {x}, "bn");
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(g.tensor(out[0]).name, "bn");
  EXPECT_EQ(g.tensor(out[2]).name, "bn:2");
}

TEST(Graph, AxesAreStoredFromTheFront) {
  Graph g;
  const TensorId x = g.input("x", {2, 3, 4});
  g.softmax(x, {.axis = -1});
  g.add(Kind::layer_normalization, NormalizationAttributes{.axis = -2}, {x});
  g.add(Kind::reduction, ReductionAttributes{.axes = {-1, 0}}, {x});
  EXPECT_EQ(g.nodes[0].as<SoftmaxAttributes>().axis, 2);
  EXPECT_EQ(g.nodes[1].as<NormalizationAttributes>().axis, 1);
  EXPECT_EQ(g.nodes[2].as<ReductionAttributes>().axes, (std::vector<int>{2, 0}));
}

TEST(Graph, RefusesTensorsThatDoNotExistOrFit) {
  Graph g;
  const int64_t huge = int64_t{1} << 61;
  EXPECT_EQ(error_of([&] { g.input("x", {2, -1}); }).field(), "dims[1]");
  EXPECT_EQ(error_of([&] { g.input("x", {huge}); }).code(), ErrorCode::overflow);
  const Error large = error_of([&] { g.input("x", {3, huge, 8}); });
  EXPECT_EQ(large.code(), ErrorCode::overflow);
  EXPECT_EQ(large.field(), "dims[1]");
  EXPECT_EQ(large.message(),
            "tensor 'x': 3 x 2305843009213693952 x 8 elements of f32 overflow 64 bits of bytes; dim 1 "
            "(2305843009213693952) is the largest");
  const std::vector<float> five(5);
  const Error count = error_of([&] { g.constant("a\nb", {2, 3}, five); });
  EXPECT_EQ(count.value(), "20");
  EXPECT_EQ(count.limit(), "24");
  EXPECT_EQ(count.message().find('\n'), std::string::npos);
  EXPECT_EQ(error_of([&] { g.constant("w", {1}, DType::f32, nullptr); }).field(), "data");
  EXPECT_TRUE(g.tensors.empty());
  EXPECT_EQ(error_of([&] { g.output(0); }).field(), "tensor");
  const TensorId x = g.input("x", {2, 3, 4, 5}, DType::f32, Format::parse("nhwc"));
  EXPECT_EQ(error_of([&] { g.output(x, Format::parse("nchw")); }).field(), "format");
  g.output(x, Format::parse("acdb"));
}

TEST(Graph, ANodeThatDoesNotFitAddsNothing) {
  Graph g;
  const TensorId x = g.input("x", {2, 3, 4, 5});
  EXPECT_EQ(error_of([&] { g.convolution(x, kNone); }).field(), "weights");
  EXPECT_EQ(error_of([&] { g.convolution(x, 7); }).value(), "tensor 7");
  EXPECT_EQ(error_of([&] { g.reshape(x, {7}); }).field(), "dims");
  EXPECT_EQ(g.tensors.size(), 1u);
  EXPECT_TRUE(g.nodes.empty());
}

}  // namespace
}  // namespace relayout::graph
