// Whole graphs in the layouts of each policy against the float64 reference: values, padding, inputs and outputs of any
// layout and type, memory, profiles and errors.
#include "relayout/execute/run/execute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "relayout/cpu/reorder.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/plan/propagate.h"
#include "relayout/graph/reference/reference.h"
#include "relayout/reorder/padding.h"
#include "tests/support/run_model.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::Policy;
using graph::TensorId;
using graph::Values;

Values random_values(std::mt19937& rng, int64_t count) {
  Values out(static_cast<std::size_t>(count));
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::ranges::generate(out, [&] { return uniform(rng); });
  return out;
}

std::vector<float> random_floats(std::mt19937& rng, int64_t count) {
  const Values values = random_values(rng, count);
  return {values.begin(), values.end()};
}

/// Two convolutions around a pooling, a residual sum, a concat of unaligned parts, a normalization and a classifier:
/// all with channels that fill no block.
struct Net {
  Graph graph;
  std::mt19937 rng{11};

  TensorId weights(const Dims& dims) { return graph.constant("", dims, random_floats(rng, *checked_product(dims))); }

  explicit Net(graph::Pass pass = graph::Pass::forward_inference) {
    graph.pass = pass;
    const TensorId x = graph.input("x", {2, 3, 15, 13}, DType::f32, Format::parse("nchw"));
    const TensorId a = graph.convolution(x, weights({17, 3, 3, 3}), weights({17}),
                                         {.strides = {2, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
    const TensorId b = graph.eltwise(a, {.algorithm = graph::EltwiseAlgorithm::relu});
    const TensorId c = graph.pooling(b, {.kernel = {2, 2}, .strides = {2, 2}});
    const TensorId d = graph.convolution(c, weights({17, 17, 1, 1}));
    const TensorId e = graph.binary(c, d);
    const TensorId f = graph.eltwise(e, {.algorithm = graph::EltwiseAlgorithm::exp});
    const TensorId g = graph.concat({f, c, e});
    const TensorId h = graph.pooling(g, {.algorithm = graph::PoolingAlgorithm::average_exclude_padding});
    const TensorId i = graph.inner_product(graph.reshape(h, {2, 51}), weights({10, 51}), weights({10}));
    graph.output(graph.softmax(i));
    graph.output(g);
  }
};

class Policies : public testing::TestWithParam<Policy> {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  }
  Model model(const Graph& graph, ModelOptions options = {}, int threads = 1) const {
    const auto backend = onednn_backend(threads);
    return Model(graph, propagate(graph, *backend, {.policy = GetParam()}), *backend, options);
  }
};

TEST_P(Policies, EqualTheReferenceAndKeepPaddingZero) {
  Net net;
  const Values x = random_values(net.rng, 2 * 3 * 15 * 13);
  const std::vector<Values> want = graph::evaluate(net.graph, std::vector<Values>{x});
  for (int threads : {1, 2}) {
    Model m = model(net.graph, {.check_padding = true}, threads);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const std::vector<Values> got = test::run_model(m, {x});
      ASSERT_EQ(got.size(), 2U);
      test::expect_outputs_near(got[0], want[0], 1e-5);
      test::expect_outputs_near(got[1], want[1], 1e-5);
    }
  }
}

TEST_P(Policies, TakeAndGiveAnyLayoutAndType) {
  Net net;
  Values x(2 * 3 * 15 * 13);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 7 % 256);
  Values scaled = x;
  for (double& v : scaled) v /= 256;
  const Values want = graph::evaluate(net.graph, std::vector<Values>{scaled})[1];
  // A photo: u8, nhwc.
  const TensorDesc plain{Layout::contiguous({2, 3, 15, 13}), DType::f64};
  const TensorDesc photo{Format::parse("nhwc").bind({2, 3, 15, 13}), DType::u8};
  std::vector<std::byte> pixels(static_cast<std::size_t>(photo.span_bytes()));
  cpu::run(Plan::make(plain, photo), x.data(), pixels.data());
  const Dims dims = net.graph.tensor(net.graph.outputs[1]).dims;
  for (const char* format : {"nchw", "nhwc", "nChw8c"}) {
    const TensorDesc out{Format::parse(format).bind(dims), DType::f64};
    Values got(static_cast<std::size_t>(out.layout.span()), -7.), probabilities(20);
    Model m = model(net.graph, {.input_scale = 1.f / 256});
    m.run(
        std::vector<Source>{{photo, pixels.data()}},
        std::vector<Destination>{{{Layout::contiguous({2, 10}), DType::f64}, probabilities.data()}, {out, got.data()}});
    Values back(want.size());
    cpu::run(Plan::make(out, {Layout::contiguous(dims), DType::f64}), got.data(), back.data());
    test::expect_outputs_near(back, want, 1e-5);
    EXPECT_FALSE(first_dirty_padding(out, got.data()));
  }
}

TEST_P(Policies, ShareMemoryByLifetime) {
  Graph graph;
  TensorId x = graph.input("x", {1, 16, 32, 32}, DType::f32, Format::parse("nchw"));
  for (int i = 0; i < 10; ++i) x = graph.eltwise(x, {.algorithm = graph::EltwiseAlgorithm::abs});
  graph.output(x);
  const ModelMemory memory = model(graph).memory();
  EXPECT_GE(memory.activations_unshared, 10 * 4 * 16 * 32 * 32);
  EXPECT_LE(memory.activations, 3 * 4 * 16 * 32 * 32);
}

TEST_P(Policies, ProfileAddsUp) {
  Graph graph;
  std::mt19937 rng(3);
  TensorId x = graph.input("x", {1, 64, 56, 56}, DType::f32, Format::parse("nchw"));
  for (int i = 0; i < 6; ++i) {
    x = graph.convolution(x, graph.constant("", {64, 64, 3, 3}, random_floats(rng, 64 * 64 * 9)), graph::kNone,
                          {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  }
  graph.output(x);
  Model m = model(graph);
  const TensorDesc desc{Layout::contiguous({1, 64, 56, 56}), DType::f32};
  std::vector<float> in(static_cast<std::size_t>(desc.layout.elements()), 0.01F), out(in.size());
  // Time that another process takes between two steps belongs to no step, so the best of some runs is used.
  double best = 0;
  for (int repeat = 0; repeat < 20 && best < 0.95; ++repeat) {
    const Profile profile =
        m.profile(std::vector<Source>{{desc, in.data()}}, std::vector<Destination>{{desc, out.data()}});
    int64_t parts = 0;
    for (const StepTime& step : profile.steps) parts += step.nanoseconds;
    EXPECT_LE(parts, profile.nanoseconds);
    best = std::max(best, static_cast<double>(parts) / static_cast<double>(profile.nanoseconds));
  }
  EXPECT_GE(best, 0.95);
}

TEST_P(Policies, ARunIsWatchedAndEndedBetweenItsSteps) {
  Net net;
  Model m = model(net.graph);
  const std::vector<float> x = random_floats(net.rng, 2 * 3 * 15 * 13);
  std::vector<float> y(2 * 10), z(2 * 51 * 4 * 6), y2(y.size()), z2(z.size());
  const TensorDesc nhwc = {Format::parse("nhwc").bind({2, 3, 15, 13}), DType::f32};
  const TensorDesc first{Layout::contiguous({2, 10}), DType::f32},
      second{Layout::contiguous({2, 51, 4, 6}), DType::f32};
  const std::vector<Source> from = {{nhwc, x}};
  const std::vector<Destination> to = {{first, y}, {second, z}}, again = {{first, y2}, {second, z2}};
  m.run(from, to);
  std::vector<int64_t> said;
  EXPECT_TRUE(m.run(from, again, [&](int64_t done, int64_t total) {
    said.push_back(done);
    return done <= total;
  }));
  EXPECT_TRUE(y == y2 && z == z2);
  EXPECT_GT(said.size(), net.graph.nodes.size() / 2);
  EXPECT_TRUE(std::ranges::is_sorted(said) && said.front() == 0);
  for (std::size_t stop = 0; stop < said.size(); ++stop) {
    std::size_t calls = 0;
    EXPECT_FALSE(m.run(from, again, [&](int64_t, int64_t) { return calls++ < stop; }));
    EXPECT_EQ(calls, stop + 1);
  }
  EXPECT_THROW(m.run(from, again, [](int64_t, int64_t) -> bool { throw std::runtime_error("ended"); }),
               std::runtime_error);
  std::ranges::fill(y2, 0.0F);
  EXPECT_TRUE(m.run(from, again, [](int64_t, int64_t) { return true; }));
  EXPECT_TRUE(y == y2 && z == z2);
}

TEST_P(Policies, WrongInputsAreNamed) {
  Net net;
  Model m = model(net.graph);
  EXPECT_THROW(m.run({}, {}), Error);
  const TensorDesc wrong{Layout::contiguous({2, 3, 15, 14}), DType::f32};
  std::vector<float> data(2000);
  const std::vector<Destination> outputs = {{{Layout::contiguous({2, 10}), DType::f32}, data.data()},
                                            {{Layout::contiguous({2, 51, 4, 6}), DType::f32}, data.data()}};
  try {
    m.run(std::vector<Source>{{wrong, data.data()}}, outputs);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.field(), "x");
    EXPECT_EQ(error.value(), "2x3x15x14");
    EXPECT_EQ(error.limit(), "2x3x15x13");
  }
}

TEST_P(Policies, AnUnknownOperatorIsPlannedAndNotRun) {
  Graph graph;
  const TensorId x = graph.input("x", {2, 3}, DType::f32, Format::parse("ab"));
  graph.output(graph.add(graph::Kind::barrier, graph::BarrierAttributes{"Einsum", {{2, 3}}}, {x}, "odd")[0]);
  try {
    model(graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(error.message().find("Einsum"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Policies, testing::ValuesIn(test::all_policies()),
                         [](const auto& policy) { return std::string(name(policy.param)); });

}  // namespace
}  // namespace relayout::execute
