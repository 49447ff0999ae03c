// Predicted costs add up over what a plan runs, keys tell apart what a time depends on, and analytic costs order what
// is known.
#include "relayout/graph/plan/cost.h"

#include <gtest/gtest.h>

#include <map>

#include "relayout/graph/passes/backward.h"
#include "relayout/graph/plan/cost_key.h"
#include "relayout/graph/plan/work.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

Layout in(const char* tag, const Dims& dims) { return Format::parse(tag).bind(dims); }

const Dims kDims{1, 32, 14, 14};

/// conv - relu - concat(relu, relu's source) - output, with a reorder, in place and with the concat in place.
struct Planned {
  Graph graph;
  LayoutPlan plan;

  Planned() {
    const TensorId x = graph.input("x", kDims);
    const TensorId w = graph.constant("w", {32, 32, 1, 1}, std::vector<float>(1024, 1));
    const TensorId y = graph.convolution(x, w);
    const TensorId r = graph.eltwise(y, {.algorithm = EltwiseAlgorithm::relu});
    const TensorId p = graph.pooling(y, {.kernel = {3, 3}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
    const TensorId c = graph.concat({r, p});
    graph.output(c);
    const Layout whole = in("nchw", graph.tensor(c).dims);
    const Layout first = Layout::strided(kDims, {2 * 32 * 196, 196, 14, 1});
    const Layout second = Layout::strided(kDims, {2 * 32 * 196, 196, 14, 1}, 32 * 196);
    plan.copies = {{.tensor = x, .layout = in("nchw", kDims)},
                   {.tensor = x, .layout = in("nhwc", kDims), .from = 0},
                   {.tensor = w, .layout = in("abcd", {32, 32, 1, 1})},
                   {.tensor = w, .layout = in("cdba", {32, 32, 1, 1}), .from = 2},
                   {.tensor = c, .layout = whole},
                   {.tensor = y, .layout = first, .view_of = 4},
                   {.tensor = r, .layout = first, .view_of = 5},
                   {.tensor = p, .layout = second, .view_of = 4},
                   // Nothing reads it.
                   {.tensor = y, .layout = in("nhwc", kDims), .from = 5}};
    plan.nodes = {{"conv", false, {1, 3, kNone}, {5}},
                  {"relu", false, {5}, {6}},
                  {"pool", false, {5}, {7}},
                  {"view", false, {6, 7}, {4}}};
    plan.inputs = {0};
    plan.outputs = {4};
  }
};

/// Costs that are known, and what was asked.
class Table : public Costs {
 public:
  std::string name() const override { return "table"; }
  double primitive(const CostContext& context, NodeId node, const Implementation& implementation, const Implementation*,
                   bool in_place) override {
    EXPECT_EQ(implementation.src.size(), context.graph().node(node).src.size());
    asked[implementation.name] = in_place;
    return 100;
  }
  double reorder(const ReorderSetting&, const TensorDesc& from, const TensorDesc& to) override {
    reorders.push_back({from, to});
    return 10;
  }
  std::map<std::string, bool> asked;
  std::vector<std::pair<TensorDesc, TensorDesc>> reorders;
};

TEST(Predict, AddsUpWhatRuns) {
  const Planned planned;
  Table costs;
  const PredictedCost cost = predict(planned.graph, planned.plan, costs);
  EXPECT_EQ(cost.primitives, 300);
  EXPECT_EQ(cost.reorders, 10);
  EXPECT_EQ(cost.time(), 310);
  EXPECT_EQ(cost.margin, 10 * kMoveMargin);
  EXPECT_EQ(cost.total(), 310 + 10 * kMoveMargin);
  EXPECT_EQ(costs.asked, (std::map<std::string, bool>{{"conv", false}, {"relu", true}, {"pool", false}}));
  ASSERT_EQ(costs.reorders.size(), 1u);
  EXPECT_EQ(costs.reorders[0].first.layout, in("nchw", kDims));
  EXPECT_EQ(costs.reorders[0].second.layout, in("nhwc", kDims));
}

TEST(Predict, AConcatThatMovesIsRun) {
  Planned planned;
  planned.plan.copies[7] = {.tensor = planned.plan.copies[7].tensor, .layout = in("nchw", kDims)};
  planned.plan.nodes[3].implementation = "concat";
  Table costs;
  const PredictedCost cost = predict(planned.graph, planned.plan, costs);
  EXPECT_EQ(cost.primitives, 400);
  EXPECT_EQ(cost.margin, 110 * kMoveMargin);
}

TEST(ReorderSetting, SaysWhatHasLeftTheCaches) {
  Graph graph;
  const TensorId x = graph.input("x", {1, 8}), w = graph.constant("w", {8, 8}, std::vector<float>(64, 1.0f));
  const TensorId y = graph.inner_product(x, w), z = graph.eltwise(y, {.algorithm = EltwiseAlgorithm::relu});
  graph.output(z);
  const CostContext inference(graph);
  for (TensorId given : {x, w}) EXPECT_EQ(inference.reorder_setting(given), (ReorderSetting{.far_source = true}));
  for (TensorId made : {y, z}) EXPECT_EQ(inference.reorder_setting(made), ReorderSetting{});
  // In a training step what a backward node reads of the forward pass was made long before; gradients just were.
  Graph step;
  step.pass = Pass::forward_training;
  const TensorId image = step.input("x", {1, 8}), weights = step.input("w", {8, 8});
  const TensorId product = step.inner_product(image, weights);
  const TensorId positive = step.eltwise(product, {.algorithm = EltwiseAlgorithm::relu});
  step.output(positive);
  const std::size_t forward = step.nodes.size();
  append_backward(step, std::span(&weights, 1));
  const CostContext training(step);
  EXPECT_EQ(training.reorder_setting(image), (ReorderSetting{true, true}));
  EXPECT_EQ(training.reorder_setting(product), (ReorderSetting{true, true}));
  EXPECT_EQ(training.reorder_setting(positive), (ReorderSetting{false, true}));
  ASSERT_GT(step.nodes.size(), forward);
  for (std::size_t n = forward; n < step.nodes.size(); ++n)
    EXPECT_EQ(training.reorder_setting(step.nodes[n].dst[0]), (ReorderSetting{false, true}));
}

// Keys.

/// A convolution, in two layouts.
struct Convolution {
  Graph graph;
  Implementation way;

  explicit Convolution(Dims dims = {2, 16, 8, 8}, ConvolutionAttributes attributes = {}, DType dtype = DType::f32,
                       Pass pass = Pass::forward_inference) {
    graph.pass = pass;
    const TensorId x = graph.input("x", dims, dtype);
    graph.convolution(x, graph.input("w", {16 / attributes.groups, 16 / attributes.groups, 1, 1}, dtype), kNone,
                      attributes);
    way = {.name = "first",
           .src = {in("nhwc", dims), in("abcd", graph.tensor(1).dims), std::nullopt},
           .dst = {in("nhwc", graph.tensor(graph.node(0).dst[0]).dims)}};
  }
  CostKey key(bool in_place = false) const { return primitive_key(CostContext(graph), 0, way, nullptr, in_place); }
};

TEST(CostKey, DiffersInEachPart) {
  std::vector<CostKey> keys = {Convolution().key(), Convolution().key(true)};
  keys.push_back(Convolution({3, 16, 8, 8}).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {.strides = {2, 2}}).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {.pads_begin = {2, 2}}).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {.pads_end = {2, 2}}).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {}, DType::bf16).key());
  keys.push_back(Convolution({2, 16, 8, 8}, {}, DType::f32, Pass::forward_training).key());
  Convolution other;
  other.way.name = "second";
  keys.push_back(other.key());
  other = Convolution();
  other.way.src[0] = in("nchw", {2, 16, 8, 8});
  keys.push_back(other.key());
  other = Convolution();
  other.way.dst[0] = in("nChw8c", {2, 16, 8, 8});
  keys.push_back(other.key());
  other = Convolution();
  other.graph.tensors[1].data = std::make_shared<std::vector<std::byte>>(1024);
  keys.push_back(other.key());
  // Weights that a node makes, in place of those that are there before a run.
  other = Convolution();
  other.graph.inputs.pop_back();
  keys.push_back(other.key());
  // The same node of a training step.
  other = Convolution();
  other.graph.nodes.push_back({.kind = Kind::convolution, .pass = Pass::backward_data});
  keys.push_back(other.key());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_FALSE(keys[i] == keys[k]) << k << " and " << i;
      EXPECT_NE(keys[i].high, keys[k].high) << k << " and " << i;
      EXPECT_NE(keys[i].low, keys[k].low) << k << " and " << i;
    }
  }
}

TEST(CostKey, IsTheSameForEqualLayoutsAndOtherNames) {
  Convolution other;
  other.graph.tensors[0].name = "another";
  other.graph.nodes[0].name = "yet another";
  // nhwc once more, with a digit that says nothing.
  const std::vector<Digits> digits = {{{2, 1024}}, {{4, 1}, {4, 4}}, {{8, 128}}, {{8, 16}}};
  other.way.src[0] = Layout::from_digits({2, 16, 8, 8}, digits);
  EXPECT_EQ(other.key(), Convolution().key());
}

TEST(CostKey, IsTheSameInEveryBuild) {
  // Files of costs are found by it: whoever changes it must count up the version of their format.
  const CostKey key = KeyMaker().add("relayout").add(uint64_t{17}).add(Dims{2, 3}).key();
  EXPECT_EQ(key, (CostKey{0xa1b430bba4b3dc7d, 0xfc2de62114120865}));
}

TEST(CostKey, OfAPairOfTensorsReadTwice) {
  Graph graph;
  const TensorId a = graph.input("a", {1, 8, 4, 4}), b = graph.input("b", {1, 8, 4, 4});
  graph.binary(a, b);
  graph.binary(a, a);
  graph.binary(b, b);
  const CostContext context(graph);
  EXPECT_FALSE(context.node_key(0) == context.node_key(1));
  EXPECT_EQ(context.node_key(1), context.node_key(2));
}

TEST(CostKey, OfReordersHasDirectionAndTypes) {
  const TensorDesc a = test::desc("nchw", kDims), b = test::desc("nhwc", kDims);
  EXPECT_FALSE(reorder_key({}, a, b) == reorder_key({}, b, a));
  EXPECT_FALSE(reorder_key({}, a, b) == reorder_key({}, a, test::desc("nhwc", kDims, DType::bf16)));
}

// Analytic costs.

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
        {"fast", {.arithmetic = 0.9, .memory = 0.9, .lanes = 16}},
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
    Implementation way{.name = name};
    std::size_t next = 0;
    for (const TensorId t : node.src) way.src.push_back(request(graph, t, tags[next++]));
    for (const TensorId t : node.dst) way.dst.push_back(request(graph, t, tags[next++]));
    return costs_->primitive(CostContext(graph), 0, way, nullptr, in_place);
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
    return t == kNone ? LayoutRequest() : LayoutRequest(in(tag, graph.tensor(t).dims));
  }
};

TEST_F(AnalyticCostsTest, ReferencesAreFarSlower) {
  const Graph graph = convolution(64, 3);
  const std::vector<const char*> tags = {"nhwc", "abcd", "", "nhwc"};
  EXPECT_GT(cost(graph, "slow", tags), 50 * cost(graph, "fast", tags));
  EXPECT_GT(cost(relu(64), "slow", {"nhwc", "nhwc"}), 10 * cost(relu(64), "direct", {"nhwc", "nhwc"}));
}

TEST_F(AnalyticCostsTest, DepthwiseConvolutionsAreSlowByUnfolding) {
  const Graph graph = convolution(96, 3, 96);
  const double unfolding = cost(graph, "unfolding", {"nchw", "abcde", "", "nchw"});
  const double vectors = cost(graph, "depthwise", {"nhwc", "abcde", "", "nhwc"});
  EXPECT_GT(unfolding, 4 * vectors);
  // A direct kernel fills a vector with one channel.
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

TEST_F(AnalyticCostsTest, PaddingIsNotWork) {
  // A pixel and its padding: one of nine taps meets it.
  Graph pixel;
  const TensorId x = pixel.input("x", {1, 256, 1, 1});
  pixel.convolution(x, pixel.input("w", {256, 256, 3, 3}), kNone, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  const Work work = work_of(pixel, 0,
                            {.name = "direct",
                             .src = {in("nhwc", {1, 256, 1, 1}), in("abcd", {256, 256, 3, 3}), std::nullopt},
                             .dst = {in("nhwc", {1, 256, 1, 1})}},
                            {.lanes = 16, .algorithm = ConvolutionAlgorithm::direct});
  EXPECT_EQ(work.flops, 2.0 * 256 * 256);
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
  // Threads share the memory.
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
