// Opaque formats of weights: random graphs of signed bytes and of recurrent cells run on them as the reference
// computes, and plans with them stay proven.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "relayout/execute/measure/remembering_backend.h"
#include "relayout/graph/plan/cost.h"
#include "relayout/graph/plan/validate.h"
#include "tests/support/altered_backend.h"
#include "tests/support/optimize_fixture.h"
#include "tests/support/testing.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::Implementation;
using graph::Kind;
using graph::kNone;
using graph::Opaque;
using graph::TensorId;
using graph::Values;

/// Of nodes for which the backend has ways with opaque formats, it offers these alone. Which way is the cheapest, or
/// stands first, depends on the processor; with this backend every plan uses opaque formats wherever there are some.
class OpaqueOnly : public test::AlteredBackend {
 public:
  using AlteredBackend::AlteredBackend;
  std::vector<Implementation> implementations(const Graph& graph, graph::NodeId node,
                                              std::span<const graph::LayoutRequest> src,
                                              std::span<const graph::LayoutRequest> dst,
                                              const Implementation* forward) const override {
    const auto all = AlteredBackend::implementations(graph, node, {}, {}, forward);
    const bool some = std::ranges::any_of(all, is_opaque);
    auto out = AlteredBackend::implementations(graph, node, src, dst, forward);
    if (some) std::erase_if(out, std::not_fn(is_opaque));
    return out;
  }
  static bool is_opaque(const Implementation& way) { return !way.opaque.empty(); }
};

class OpaqueFormats : public Optimize {
 protected:
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }
  TensorId constant(Graph& graph, const std::string& name, const Dims& dims, DType dtype) {
    Values values(static_cast<std::size_t>(*checked_product(dims)));
    for (double& x : values) x = is_integer(dtype) ? static_cast<double>(pick(-127, 127)) : real_(rng_);
    return graph.constant(name, dims, dtype,
                          std::make_shared<const std::vector<std::byte>>(graph::store(values, dtype)));
  }
  Values input_values(const graph::Tensor& tensor) {
    Values out(static_cast<std::size_t>(*checked_product(tensor.dims)));
    for (double& x : out) x = is_integer(tensor.dtype) ? static_cast<double>(pick(-128, 127)) : real_(rng_);
    return graph::load(graph::store(out, tensor.dtype), tensor.dtype, std::ssize(out));
  }
  /// One to three convolutions of signed bytes, of random shapes, that read the same source.
  Graph convolutions() {
    Graph graph;
    const int64_t channels = pick(1, 40);
    const TensorId x = graph.input("x", {pick(1, 3), channels, pick(5, 9), pick(5, 9)}, DType::s8);
    const int64_t count = pick(1, 3);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t kernel = pick(0, 1) * 2 + 1, to = pick(1, 40), stride = pick(1, 2);
      const TensorId w = constant(graph, "w" + std::to_string(i), {to, channels, kernel, kernel}, DType::s8);
      const graph::ConvolutionAttributes attributes{
          .strides = {stride, stride}, .pads_begin = {kernel / 2, 0}, .pads_end = {0, kernel / 2}};
      const TensorId y = graph.add(Kind::convolution, attributes, {x, w, kNone})[0];
      graph.output(graph.eltwise(y, {.algorithm = graph::EltwiseAlgorithm::relu}));
    }
    return graph;
  }
  Graph recurrent() {
    Graph graph;
    const auto cell = static_cast<graph::RnnCell>(pick(0, 5));
    const int64_t gates = cell == graph::RnnCell::lstm ? 4 : cell >= graph::RnnCell::gru ? 3 : 1;
    const int64_t in = pick(8, 40), channels = pick(8, 40), directions = pick(1, 2);
    const TensorId x = graph.input("x", {pick(1, 4), pick(1, 4), in}, DType::bf16);
    const TensorId wl = constant(graph, "wl", {1, directions, in, gates, channels}, DType::bf16);
    const TensorId wi = constant(graph, "wi", {1, directions, channels, gates, channels}, DType::bf16);
    const auto direction =
        directions == 2 ? graph::RnnDirection::bidirectional_concat : graph::RnnDirection::left_to_right;
    graph.output(graph.add(Kind::rnn, graph::RnnAttributes{cell, direction}, {x, kNone, kNone, wl, wi, kNone})[0]);
    return graph;
  }
  /// How many copies of a plan are opaque.
  static int opaque_copies(const graph::LayoutPlan& plan) {
    return static_cast<int>(
        std::ranges::count_if(plan.copies, [](const graph::Copy& copy) { return copy.opaque.has_value(); }));
  }
  /// Plans, runs and compares; gives how many copies are opaque. Nodes that have opaque ways get one where they are
  /// offered nothing else.
  int check(const Graph& graph, double tolerance, bool opaque_only) {
    const OpaqueOnly only(*backend_);
    const graph::Backend& backend = opaque_only ? static_cast<const graph::Backend&>(only) : *backend_;
    const auto costs = graph::analytic_costs({.flops_per_us = 50000,
                                              .near_bytes_per_us = 50000,
                                              .cache_bytes_per_us = 25000,
                                              .memory_bytes_per_us = 10000,
                                              .call_us = 1},
                                             backend);
    const graph::OptimalPlan best = optimize(graph, backend, *costs);
    EXPECT_TRUE(best.optimal);
    EXPECT_NEAR(predict(graph, best.plan, *costs).total(), best.cost_us, 1e-6 * best.cost_us + 1e-3);
    const std::vector<Values> inputs = {input_values(graph.tensor(graph.inputs[0]))};
    const std::vector<Values> want = evaluate(graph, inputs);
    expect_equal(graph, best.plan, inputs, want, tolerance);
    expect_equal(graph, propagate(graph, backend), inputs, want, tolerance);
    if (opaque_only) {
      for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        const auto reads_opaque = [&](graph::CopyId id) {
          return id != kNone && best.plan.copy(id).opaque.has_value();
        };
        EXPECT_EQ(std::ranges::any_of(best.plan.nodes[n].src, reads_opaque),
                  opaque_way(graph, static_cast<graph::NodeId>(n)).has_value());
      }
    }
    return opaque_copies(best.plan);
  }
  /// The first way of a node that has an opaque source, wherever it stands among the others.
  std::optional<Implementation> opaque_way(const Graph& graph, graph::NodeId node = 0) {
    for (Implementation& way : backend_->implementations(graph, node, {}, {}, nullptr)) {
      if (OpaqueOnly::is_opaque(way)) return std::move(way);
    }
    return std::nullopt;
  }
  Graph one_convolution() {
    Graph graph;
    const TensorId x = graph.input("x", {1, 32, 8, 8}, DType::s8);
    const TensorId w = constant(graph, "w", {32, 32, 3, 3}, DType::s8);
    graph.output(graph.add(Kind::convolution, graph::ConvolutionAttributes{}, {x, w, kNone})[0]);
    return graph;
  }

  std::mt19937 rng_{7};
  std::uniform_real_distribution<double> real_{-0.5, 0.5};
};

TEST_F(OpaqueFormats, RandomConvolutionsOfSignedBytesEqualTheReference) {
  if (!opaque_way(one_convolution())) GTEST_SKIP() << "this processor multiplies no signed bytes exactly";
  int opaque = 0;
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    opaque += check(convolutions(), 1e-6, i % 2 == 0);
  }
  EXPECT_GT(opaque, 20);
  std::cout << counts_ << ", " << opaque << " opaque weights\n";
}

TEST_F(OpaqueFormats, RandomRecurrentCellsEqualTheReference) {
  int opaque = 0, offered = 0;
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    const Graph graph = recurrent();
    if (backend_->implementations(graph, 0, {}, {}, nullptr).empty()) continue;
    offered += i % 2 == 0 && opaque_way(graph);
    opaque += check(graph, 0.03, i % 2 == 0);
  }
  EXPECT_GE(opaque, offered);
  std::cout << counts_ << ", " << opaque << " opaque weights\n";
}

TEST_F(OpaqueFormats, HaveASizeAndAStableIdentity) {
  const Graph graph = one_convolution();
  const std::optional<Implementation> way = opaque_way(graph);
  if (!way) GTEST_SKIP() << "this processor multiplies no signed bytes exactly";
  const Opaque token = way->opaque_src(1).value();
  EXPECT_EQ(token.name, "s8s8_compensation");
  EXPECT_EQ(token.backend, backend_->name());
  // The weights, and at least one sum of 32 bits for each of the 32 channels.
  EXPECT_GE(token.bytes, 32 * 32 * 9 + 32 * 4);
  const auto again = onednn_backend(1)->implementations(graph, 0, {}, {}, nullptr);
  EXPECT_EQ(std::ranges::find_if(again, OpaqueOnly::is_opaque)->opaque_src(1), token);
  // Whoever asks for a layout of the weights gets no opaque one.
  const Layout plain = Layout::contiguous({32, 32, 3, 3});
  for (const Implementation& other :
       backend_->implementations(graph, 0, std::vector<graph::LayoutRequest>{std::nullopt, plain}, {}, nullptr)) {
    EXPECT_TRUE(other.opaque.empty()) << other.name;
  }
  // Weights that are no constant are not opaque either: they would be reordered in each run.
  Graph given = graph;
  given.tensor(given.nodes[0].src[1]).data = nullptr;
  given.inputs.push_back(given.nodes[0].src[1]);
  EXPECT_FALSE(opaque_way(given));
}

TEST_F(OpaqueFormats, AreRefusedForWhatIsNoConstant) {
  const Graph graph = one_convolution();
  if (!opaque_way(graph)) GTEST_SKIP() << "this processor multiplies no signed bytes exactly";
  graph::LayoutPlan plan = propagate(graph, OpaqueOnly(*backend_));
  const auto found = std::ranges::find_if(plan.copies, [](const graph::Copy& copy) { return copy.opaque.has_value(); });
  ASSERT_NE(found, plan.copies.end());
  plan.copies[static_cast<std::size_t>(plan.inputs[0])].opaque = found->opaque;
  EXPECT_EQ(test::code_of([&] { validate(graph, plan); }), ErrorCode::invalid_argument);
  EXPECT_EQ(test::code_of([&] { Format::parse(expression_of(found->layout, found->opaque)); }), ErrorCode::parse);
}

// The backend's two reorders of the same weights; what comes back is what went in, or the library has no way back.
TEST_F(OpaqueFormats, GoInAndOutByTheBackendAlone) {
  const Graph graph = one_convolution();
  const std::optional<Implementation> way = opaque_way(graph);
  if (!way) GTEST_SKIP() << "this processor multiplies no signed bytes exactly";
  const std::vector<std::byte>& weights = *graph.tensor(graph.nodes[0].src[1]).data;
  std::vector<std::byte> packed(static_cast<std::size_t>(way->opaque_src(1)->bytes)), back(weights.size());
  backend_->reorder_into(graph, 0, *way, 1, weights.data(), packed.data());
  try {
    backend_->reorder_out_of(graph, 0, *way, 1, packed.data(), back.data());
    EXPECT_EQ(back, weights);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.message()).find("out of s8s8_compensation"), std::string::npos) << error.message();
  }
  // Activations are no opaque source.
  EXPECT_EQ(test::code_of([&] { backend_->reorder_into(graph, 0, *way, 0, weights.data(), packed.data()); }),
            ErrorCode::unsupported);
}

TEST_F(OpaqueFormats, HaveKeysOfTheirOwnAndAreRemembered) {
  const Graph graph = one_convolution();
  const std::optional<Implementation> way = opaque_way(graph);
  if (!way) GTEST_SKIP() << "this processor multiplies no signed bytes exactly";
  const graph::CostContext context(graph);
  Implementation plain = *way, other = *way;
  plain.opaque.clear();
  ++other.opaque[1]->hash;
  const auto key = [&](const Implementation& of) { return primitive_key(context, 0, of, nullptr, false); };
  EXPECT_EQ(key(*way), key(opaque_way(graph).value()));
  EXPECT_FALSE(key(plain) == key(*way));
  EXPECT_FALSE(key(other) == key(*way));
  const auto remembering = remembering_backend(*backend_);
  const auto first = remembering->implementations(graph, 0, {}, {}, nullptr);
  const auto second = remembering->implementations(graph, 0, {}, {}, nullptr);
  EXPECT_EQ(remembering->remembered(), 1);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].opaque, second[i].opaque);
}

}  // namespace
}  // namespace relayout::execute
