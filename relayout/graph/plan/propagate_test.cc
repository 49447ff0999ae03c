// The policies, with a backend whose convolutions run in nhwc only and whose other primitives run in any layout that
// all operands share.
#include "relayout/graph/plan/propagate.h"

#include <gtest/gtest.h>

namespace relayout::graph {
namespace {

class TestBackend : public Backend {
 public:
  std::string name() const override { return "test"; }
  int threads() const override { return 1; }

  std::vector<Implementation> implementations(const Graph& graph, NodeId id, std::span<const LayoutRequest> src,
                                              std::span<const LayoutRequest> dst,
                                              const Implementation*) const override {
    const Node& node = graph.node(id);
    Implementation out{.name = node.kind == Kind::convolution ? "nhwc_conv" : "same"};
    const auto first = src[0] ? *src[0] : Layout::contiguous(graph.tensor(node.src[0]).dims);
    const std::string tag = node.kind == Kind::convolution ? "axb" : tag_of(first).value();
    const auto operand = [&](TensorId t, const LayoutRequest& request, bool weights) -> std::optional<Layout> {
      if (t == kNone) return std::nullopt;
      const Dims& dims = graph.tensor(t).dims;
      const Layout layout = Format::parse(weights ? "xba" : tag).bind(dims);
      if (request && *request != layout) throw Refused();
      return layout;
    };
    try {
      for (std::size_t i = 0; i < src.size(); ++i) {
        out.src.push_back(operand(node.src[i], src[i], node.kind == Kind::convolution && i == 1));
      }
      for (std::size_t i = 0; i < dst.size(); ++i) out.dst.push_back(operand(node.dst[i], dst[i], false));
    } catch (const Refused&) {
      return {};
    }
    return {out};
  }

  std::unique_ptr<Executable> make(const Graph&, NodeId, const Implementation&, const Implementation*,
                                   Executable*) const override {
    throw Error(ErrorCode::unsupported, "test backend: plans only");
  }

 private:
  struct Refused {};
};

/// Offers everything a second time, and first, as something that rounds more.
class RoundingBackend : public TestBackend {
 public:
  std::vector<Implementation> implementations(const Graph& graph, NodeId id, std::span<const LayoutRequest> src,
                                              std::span<const LayoutRequest> dst,
                                              const Implementation* forward) const override {
    std::vector<Implementation> out = TestBackend::implementations(graph, id, src, dst, forward);
    if (out.empty()) return out;
    out.insert(out.begin(), out.front());
    out.front().name = "rounding";
    out.front().rounds_more = true;
    return out;
  }
};

/// x -> conv -> relu, and x + relu. Under `any`, the operands of the addition have different layouts.
struct PropagatedNet {
  Graph graph;
  TensorId x, w, y, z, sum;
  explicit PropagatedNet(const std::optional<Format>& input = Format::parse("nchw")) {
    x = graph.input("x", {2, 8, 6, 5}, DType::f32, input);
    w = graph.constant("w", {8, 8, 1, 1}, std::vector<float>(64, 1));
    y = graph.convolution(x, w);
    z = graph.eltwise(y, {});
    sum = graph.binary(z, x);
    graph.output(sum);
  }
};

TEST(Propagate, NoPolicyTakesWhatRoundsMore) {
  const PropagatedNet net;
  for (int p = 0; p < kPolicyCount; ++p) {
    const PropagateOptions options{.policy = static_cast<Policy>(p)};
    const LayoutPlan plan = propagate(net.graph, RoundingBackend(), options);
    for (const PlannedNode& node : plan.nodes) {
      EXPECT_NE(node.implementation, "rounding") << name(options.policy);
      EXPECT_FALSE(node.rounds_more);
    }
    EXPECT_EQ(totals(net.graph, plan).rounding_more, 0);
  }
}

TEST(Propagate, AnyFollowsTheConvolution) {
  const PropagatedNet net;
  const LayoutPlan plan = propagate(net.graph, TestBackend());
  EXPECT_EQ(plan.policy, "any");
  EXPECT_EQ(plan.backend, "test");
  // The input is reordered once, for the convolution and the addition; the weights are reordered at load.
  ASSERT_EQ(plan.reorders(net.graph).size(), 1U);
  const Copy& reorder = plan.copy(plan.reorders(net.graph)[0]);
  EXPECT_EQ(reorder.tensor, net.x);
  EXPECT_EQ(expression_of(reorder.layout), "acdb");
  EXPECT_NE(reorder.reason.find("nhwc_conv"), std::string::npos) << reorder.reason;
  EXPECT_EQ(plan.load_reorders(net.graph).size(), 1U);
  EXPECT_EQ(expression_of(plan.copy(plan.outputs[0]).layout), "acdb");
  const PlanTotals sums = totals(net.graph, plan);
  EXPECT_EQ(sums.reorders, 1);
  EXPECT_EQ(sums.reorder_bytes, 2 * 4 * 2 * 8 * 6 * 5);
  EXPECT_EQ(sums.reference_primitives, 0);
}

TEST(Propagate, UniformNchwReordersAroundTheConvolution) {
  const PropagatedNet net;
  const LayoutPlan plan = propagate(net.graph, TestBackend(), {.policy = Policy::nchw});
  // One reorder before the convolution, and one after it.
  EXPECT_EQ(plan.reorders(net.graph).size(), 2U);
  EXPECT_EQ(expression_of(plan.copy(plan.outputs[0]).layout), "abcd");
}

TEST(Propagate, AnInputWithoutLayoutArrivesAsItsReaderWantsIt) {
  const PropagatedNet net{std::nullopt};
  const LayoutPlan plan = propagate(net.graph, TestBackend());
  EXPECT_TRUE(plan.reorders(net.graph).empty());
  EXPECT_EQ(expression_of(plan.copy(plan.inputs[0]).layout), "acdb");
}

TEST(Propagate, AFixedOutputIsReordered) {
  PropagatedNet net;
  net.graph.tensor(net.sum).layout = Format::parse("nChw16c").bind({2, 8, 6, 5});
  const LayoutPlan plan = propagate(net.graph, TestBackend());
  ASSERT_EQ(plan.reorders(net.graph).size(), 2U);
  EXPECT_EQ(expression_of(plan.copy(plan.outputs[0]).layout), "aBcd16b");
  // Padding is written: 16 channels where the tensor has 8.
  EXPECT_EQ(reorder_bytes(net.graph, plan, plan.outputs[0]), 4 * 2 * 30 * (8 + 16));
}

TEST(Propagate, ViewsMoveNothing) {
  Graph graph;
  const TensorId x = graph.input("x", {2, 3, 4, 5}, DType::f32, Format::parse("nhwc"));
  const TensorId t = graph.transpose(x, {0, 2, 3, 1});
  graph.output(graph.reshape(t, {2, 60}));
  const LayoutPlan plan = propagate(graph, TestBackend());
  EXPECT_TRUE(plan.reorders(graph).empty());
  EXPECT_EQ(expression_of(plan.copy(plan.outputs[0]).layout), "ab");
  EXPECT_NE(plan.copy(plan.outputs[0]).view_of, kNone);
}

TEST(Propagate, AViewThatDoesNotExistIsOneOfARowMajorCopy) {
  Graph graph;
  const TensorId x = graph.input("x", {2, 20, 4, 5}, DType::f32, Format::parse("nChw16c"));
  graph.output(graph.reshape(x, {40, 20}));
  const LayoutPlan plan = propagate(graph, TestBackend());
  ASSERT_EQ(plan.reorders(graph).size(), 1U);
  EXPECT_EQ(expression_of(plan.copy(plan.reorders(graph)[0]).layout), "abcd");
}

TEST(Propagate, WhatCannotBeRunIsNamed) {
  Graph graph;
  const TensorId x = graph.input("x", {2, 3, 4, 5}, DType::f32, Format::parse("nchw"));
  graph.add(Kind::barrier, BarrierAttributes{"Einsum", {{2, 3}}}, {x}, "odd");
  const LayoutPlan plan = propagate(graph, TestBackend());
  EXPECT_EQ(plan.nodes[0].implementation, "barrier");
  EXPECT_THROW(parse_policy("fast"), Error);
}

TEST(LayoutPlan, ExpressionsParseAgain) {
  for (const char* text : {"nhwc", "nChw16c", "OIhw4i16o4i", "strides:120,1,30,6", "strides:240,60,20,2@3"}) {
    const Layout layout = Format::parse(text).bind({2, 3, 4, 5});
    EXPECT_EQ(Format::parse(expression_of(layout)).bind({2, 3, 4, 5}), layout) << text;
  }
  const Layout nhwc = Format::parse("acdb").bind({2, 3, 4, 5});
  EXPECT_EQ(display_name(nhwc, false), "nhwc");
  EXPECT_EQ(display_name(nhwc, true), "ohwi");
}

}  // namespace
}  // namespace relayout::graph
