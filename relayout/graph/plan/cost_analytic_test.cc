// Analytic costs order implementations and layouts as their known performance and work do.
#include <gtest/gtest.h>

#include <map>

#include "relayout/graph/plan/cost.h"
#include "relayout/graph/plan/work.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::bound;

/// A backend that says how fast implementations of these names are, and runs nothing.
class KnownPerformance : public Backend {
 public:
  std::string name() const override { return "known"; }
  int threads() const override { return 1; }
  std::vector<Implementation> implementations(const Graph&, NodeId, std::span<const LayoutRequest>,
                                              std::span<const LayoutRequest>, const Implementation*) const override {
    return {};
  }
  Performance performance(const Graph&, NodeId, const Implementation& implementation) const override {
    static const std::map<std::string, Performance> kKnown = {
        {"slow", {.arithmetic = 0.004, .memory = 0.03}},
        {"steps", {.step_ns = 20, .dst_ns = 80}},
        {"fast", {.arithmetic = 0.9, .memory = 0.9, .lanes = 16}},
        {"narrow", {.arithmetic = 0.9, .memory = 0.9, .lanes = 16, .narrow = true}},
        {"direct", {.arithmetic = 0.9, .memory = 0.9, .lanes = 16, .algorithm = ConvolutionAlgorithm::direct}},
        {"depthwise", {.arithmetic = 0.6, .memory = 0.6, .lanes = 16, .algorithm = ConvolutionAlgorithm::depthwise}},
        {"unfolding", {.arithmetic = 0.8, .memory = 0.9, .algorithm = ConvolutionAlgorithm::unfolding}}};
    return kKnown.at(implementation.name);
  }
  std::unique_ptr<Executable> make(const Graph&, NodeId, const Implementation&, const Implementation*,
                                   Executable*) const override {
    throw Error(ErrorCode::unsupported, "nothing is run");
  }
};

class AnalyticCostsTest : public testing::Test {
 protected:
  /// The first node of a graph, all operands in the layouts of these tags ("" is absent).
  double cost(const Graph& graph, const char* name, const std::vector<const char*>& tags, bool in_place = false) {
    const Node& node = graph.node(0);
    Implementation implementation{.name = name};
    std::size_t next = 0;
    for (const TensorId t : node.src) implementation.src.push_back(request(graph, t, tags[next++]));
    for (const TensorId t : node.dst) implementation.dst.push_back(request(graph, t, tags[next++]));
    return costs_->primitive(CostContext(graph), 0, implementation, nullptr, in_place);
  }
  static Graph convolution(int64_t channels, int64_t kernel, int64_t groups = 1) {
    Graph graph;
    const TensorId x = graph.input("x", {1, channels, 28, 28});
    const int64_t each = channels / groups, pad = kernel / 2;
    const Dims weights = groups > 1 ? Dims{groups, each, each, kernel, kernel} : Dims{each, each, kernel, kernel};
    graph.convolution(x, graph.input("w", weights), kNone,
                      {.pads_begin = {pad, pad}, .pads_end = {pad, pad}, .groups = groups});
    return graph;
  }
  static Graph relu(int64_t channels) {
    Graph graph;
    graph.eltwise(graph.input("x", {1, channels, 56, 56}), {.algorithm = EltwiseAlgorithm::relu});
    return graph;
  }

  static constexpr Calibration kSpeeds{.threads = 1,
                                       .flops_per_us = 1e5,
                                       .near_bytes_per_us = 1e5,
                                       .cache_bytes_per_us = 8e4,
                                       .memory_bytes_per_us = 2e4,
                                       .call_us = 0.3};
  const KnownPerformance backend_;
  std::unique_ptr<Costs> costs_ = analytic_costs(kSpeeds, backend_);

 private:
  static LayoutRequest request(const Graph& graph, TensorId t, const char* tag) {
    return t == kNone ? LayoutRequest() : LayoutRequest(bound(tag, graph.tensor(t).dims));
  }
};

TEST_F(AnalyticCostsTest, ReferencesAreFarSlower) {
  const Graph graph = convolution(64, 3);
  const std::vector<const char*> tags = {"nhwc", "abcd", "", "nhwc"};
  EXPECT_GT(cost(graph, "slow", tags), 50 * cost(graph, "fast", tags));
  EXPECT_GT(cost(relu(64), "slow", {"nhwc", "nhwc"}), 10 * cost(relu(64), "direct", {"nhwc", "nhwc"}));
}

TEST_F(AnalyticCostsTest, NarrowVectorsTakeTheirShareOfTheArithmetic) {
  const Graph graph = convolution(256, 3);
  const std::vector<const char*> tags = {"nhwc", "abcd", "", "nhwc"};
  EXPECT_DOUBLE_EQ(cost(graph, "narrow", tags), cost(graph, "fast", tags))
      << "as the machine's vectors have two halves";
  Calibration speeds = kSpeeds;
  speeds.narrow_share = 0.5;
  costs_ = analytic_costs(speeds, backend_);
  EXPECT_GT(cost(graph, "narrow", tags), 1.8 * cost(graph, "fast", tags));
}

TEST_F(AnalyticCostsTest, DepthwiseConvolutionsAreSlowByUnfolding) {
  const Graph graph = convolution(96, 3, 96);
  const double unfolding = cost(graph, "unfolding", {"nchw", "abcde", "", "nchw"});
  const double vectors = cost(graph, "depthwise", {"nhwc", "abcde", "", "nhwc"});
  EXPECT_GT(unfolding, 4 * vectors);
  // A direct kernel has one channel in each vector.
  EXPECT_GT(cost(graph, "direct", {"nhwc", "abcde", "", "nhwc"}), 4 * vectors);
}

TEST_F(AnalyticCostsTest, PaddedChannelsAreWork) {
  const Graph few = convolution(17, 3), many = convolution(32, 3);
  const std::vector<const char*> blocked = {"nChw16c", "abcd", "", "nChw16c"};
  EXPECT_DOUBLE_EQ(cost(few, "direct", blocked), cost(many, "direct", blocked));
  EXPECT_LT(cost(few, "direct", {"nhwc", "abcd", "", "nhwc"}), cost(few, "direct", blocked));
  // Blocks of 8 leave half of each vector unused.
  EXPECT_GT(cost(many, "direct", {"nChw8c", "abcd", "", "nChw8c"}), 1.5 * cost(many, "direct", blocked));
}

TEST_F(AnalyticCostsTest, TilesOfFourNeedAQuarterOfTheProducts) {
  const auto work = [](int64_t size, int tile) {
    Graph graph;
    const TensorId x = graph.input("x", {2, 32, size, size});
    graph.convolution(x, graph.input("w", {48, 32, 3, 3}), kNone, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    const auto all = [&](TensorId t) { return bound("abcd", graph.tensor(t).dims); };
    const Node& node = graph.node(0);
    return work_of(graph, 0, {.name = "", .src = {all(node.src[0]), all(node.src[1]), {}}, .dst = {all(node.dst[0])}},
                   {.lanes = 16, .algorithm = ConvolutionAlgorithm::transforming, .tile = tile});
  };
  // Of 3x3 taps an element takes 36 / 16 products in a tile of 4x4, and 16 / 4 in one of 2x2.
  EXPECT_DOUBLE_EQ(work(28, 4).flops, 2. * 2 * 28 * 28 * 32 * 48 * 36 / 16);
  EXPECT_DOUBLE_EQ(work(28, 2).flops, 2. * 2 * 28 * 28 * 32 * 48 * 16 / 4);
  // Tiles at the end are whole.
  EXPECT_DOUBLE_EQ(work(25, 4).flops, work(28, 4).flops);
  // Tiles of the source and of the products are written and read; the weights are 6x6 where they were 3x3.
  EXPECT_DOUBLE_EQ(work(28, 4).transformed_bytes, 4. * 36 * (2 * 2 * 7 * 7 * (32 + 48) + 32 * 48));
}

TEST_F(AnalyticCostsTest, PaddingIsNotWork) {
  // The source is one pixel in padding, so that only one of nine taps meets it.
  Graph pixel;
  const TensorId x = pixel.input("x", {1, 256, 1, 1});
  pixel.convolution(x, pixel.input("w", {256, 256, 3, 3}), kNone, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  const Work work = work_of(pixel, 0,
                            {.name = "direct",
                             .src = {bound("nhwc", {1, 256, 1, 1}), bound("abcd", {256, 256, 3, 3}), std::nullopt},
                             .dst = {bound("nhwc", {1, 256, 1, 1})}},
                            {.lanes = 16, .algorithm = ConvolutionAlgorithm::direct});
  EXPECT_EQ(work.flops, 2.0 * 256 * 256);
}

TEST_F(AnalyticCostsTest, WhatGoesStepByStepTakesSoLongForEachStep) {
  // Each of 16 x 28 x 28 results is a sum of 16 products of 3 x 3 taps, those with padding included.
  const double steps = 16. * 28 * 28 * 16 * 9, results = 16. * 28 * 28;
  const double expected = (20 * steps + 80 * results) / 1000;
  EXPECT_NEAR(cost(convolution(16, 3), "steps", {"nchw", "abcd", "", "nchw"}), expected, 0.01 * expected);
  // Of groups of one channel, a sum of 9.
  const double depthwise = (20 * results * 9 + 80 * results) / 1000;
  EXPECT_NEAR(cost(convolution(16, 3, 16), "steps", {"nchw", "abcde", "", "nchw"}), depthwise, 0.01 * depthwise);
  // Padded channels are not gone through.
  EXPECT_DOUBLE_EQ(cost(convolution(17, 1), "steps", {"nChw16c", "abcd", "", "nChw16c"}),
                   cost(convolution(17, 1), "steps", {"nchw", "abcd", "", "nchw"}));
}

TEST_F(AnalyticCostsTest, InPlaceIsNoSlower) {
  for (const int64_t channels : {1, 16, 512, 4096}) {
    const Graph graph = relu(channels);
    const double apart = cost(graph, "direct", {"nhwc", "nhwc"});
    EXPECT_LE(cost(graph, "direct", {"nhwc", "nhwc"}, true), apart);
    EXPECT_GT(apart, 0);
  }
}

TEST_F(AnalyticCostsTest, GrowWithTheWork) {
  double last = 0;
  for (const int64_t channels : {16, 32, 64, 128, 256}) {
    const double us = cost(convolution(channels, 3), "fast", {"nhwc", "abcd", "", "nhwc"});
    EXPECT_GT(us, last);
    last = us;
  }
}

TEST_F(AnalyticCostsTest, ReordersCostWhatTheirPlansDo) {
  const TensorDesc a = test::desc("nchw", {1, 64, 56, 56}), b = test::desc("nhwc", {1, 64, 56, 56});
  EXPECT_DOUBLE_EQ(costs_->reorder({}, a, b), Plan::make(a, b).cost().nanoseconds / 1000);
  EXPECT_GT(costs_->reorder({}, a, b), 0);
  EXPECT_EQ(costs_->reorder({}, a, b), costs_->reorder({}, a, b));
}

TEST_F(AnalyticCostsTest, ReordersOfWhatHasLeftTheCachesTakeItsBytesTime) {
  const TensorDesc a = test::desc("nchw", {1, 64, 56, 56}), b = test::desc("nhwc", {1, 64, 56, 56});
  const double bytes = 64 * 56 * 56 * 4, near = costs_->reorder({}, a, b);
  const double read = costs_->reorder({.far_source = true}, a, b);
  const double both = costs_->reorder({.far_source = true, .far_destination = true}, a, b);
  EXPECT_DOUBLE_EQ(read, std::max(near, bytes / kSpeeds.memory_bytes_per_us));
  EXPECT_DOUBLE_EQ(both, std::max(near, 2 * bytes / kSpeeds.memory_bytes_per_us));
  EXPECT_GT(both, near);
  // All threads share the bandwidth of memory.
  Calibration speeds = kSpeeds;
  speeds.threads = 4;
  costs_ = analytic_costs(speeds, backend_);
  EXPECT_LT(costs_->reorder({}, a, b), read);
  EXPECT_DOUBLE_EQ(costs_->reorder({.far_source = true, .far_destination = true}, a, b),
                   2 * bytes / speeds.memory_bytes_per_us);
}

TEST_F(AnalyticCostsTest, EachStepPaysItsPrice) {
  const TensorDesc a = test::desc("nchw", {1, 64, 56, 56}), b = test::desc("nhwc", {1, 64, 56, 56});
  const double reorder = costs_->reorder({}, a, b), primitive = cost(relu(64), "direct", {"nhwc", "nhwc"});
  Calibration speeds = kSpeeds;
  speeds.step_us = 4;
  costs_ = analytic_costs(speeds, backend_);
  EXPECT_DOUBLE_EQ(costs_->reorder({}, a, b), reorder + 4);
  EXPECT_DOUBLE_EQ(costs_->reorder({}, a, b), reorder + 4);
  EXPECT_DOUBLE_EQ(cost(relu(64), "direct", {"nhwc", "nhwc"}), primitive + 4);
}

}  // namespace
}  // namespace relayout::graph
