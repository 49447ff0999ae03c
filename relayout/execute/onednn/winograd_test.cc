// Winograd's algorithm for convolutions: random graphs whose convolutions are made to use it compute what the reference
// does; nothing that did not ask for it gets it; and its weights are a token like those of other opaque formats.
#include <gtest/gtest.h>

#include <set>

#include "relayout/execute/measure/remembering_backend.h"
#include "relayout/graph/optimize/primitive_choices.h"
#include "tests/support/optimize_fixture.h"
#include "tests/support/simple_costs.h"
#include "tests/support/testing.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::Implementation;
using graph::Kind;
using graph::kNone;
using graph::Pass;
using graph::TensorId;
using graph::Values;

/// What rounds more costs next to nothing, and tiles of another size than `tile` (where it is not 0) cost more.
class CheapWinograd : public test::ByteCosts {
 public:
  CheapWinograd(const graph::Backend& backend, int tile) : backend_(backend), tile_(tile) {}
  double primitive(const graph::CostContext& context, graph::NodeId node, const Implementation& implementation,
                   const Implementation* forward, bool in_place) override {
    if (!implementation.rounds_more) return ByteCosts::primitive(context, node, implementation, forward, in_place);
    const int tile = backend_.performance(context.graph(), node, implementation).tile;
    return tile_ == 0 || tile == tile_ ? 1e-3 : 1e-2;
  }

 private:
  const graph::Backend& backend_;
  int tile_;
};

class Winograd : public Optimize {
 protected:
  void SetUp() override {
    Optimize::SetUp();
    if (backend_ && winograd_ways(one_convolution()).empty()) {
      GTEST_SKIP() << "oneDNN has no implementation of Winograd's algorithm for this processor's instructions";
    }
  }
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }
  TensorId constant(Graph& graph, const std::string& name, const Dims& dims, DType dtype = DType::f32) {
    Values values(static_cast<std::size_t>(*checked_product(dims)));
    for (double& x : values) x = is_integer(dtype) ? static_cast<double>(pick(-127, 127)) : real_(rng_);
    return graph.constant(name, dims, dtype,
                          std::make_shared<const std::vector<std::byte>>(graph::store(values, dtype)));
  }
  struct Shape {
    int64_t batch = 1, in = 32, out = 32, size = 14, stride = 1, kernel = 3, groups = 1;
    DType dtype = DType::f32;
    Pass pass = Pass::forward_inference;
    bool constant = true;
  };
  Graph one_convolution(const Shape& s) {
    Graph graph;
    graph.pass = s.pass;
    const DType weights = s.dtype == DType::u8 ? DType::s8 : s.dtype;
    const Dims dims = s.groups > 1 ? Dims{s.groups, s.out / s.groups, s.in / s.groups, s.kernel, s.kernel}
                                   : Dims{s.out, s.in, s.kernel, s.kernel};
    const TensorId x = graph.input("x", {s.batch, s.in, s.size, s.size}, s.dtype);
    const TensorId w = s.constant ? constant(graph, "w", dims, weights) : graph.input("w", dims, weights);
    graph::ConvolutionAttributes attributes{.strides = {s.stride, s.stride}};
    attributes.groups = s.groups;
    graph.output(graph.add(Kind::convolution, attributes, {x, w, kNone})[0]);
    return graph;
  }
  Graph one_convolution() { return one_convolution(Shape()); }

  /// What is offered for node 0 that rounds more.
  std::vector<Implementation> winograd_ways(const Graph& graph, const std::vector<graph::LayoutRequest>& src = {}) {
    std::vector<Implementation> out = backend_->implementations(graph, 0, src, {}, nullptr);
    std::erase_if(out, [](const Implementation& way) { return !way.rounds_more; });
    return out;
  }

  /// A chain of convolutions of random shapes with and without a bias, activations between them, and sums with what was
  /// there before.
  Graph random_chain() {
    Graph graph;
    const int64_t channels = pick(1, 4) * 16;
    TensorId x = graph.input("x", {pick(1, 3), channels, pick(9, 19), pick(9, 19)});
    const int64_t count = pick(1, 4);
    for (int64_t i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      const bool sum = pick(0, 1) == 1;
      const int64_t in = graph.tensor(x).dims[1], to = sum ? in : pick(0, 4) == 0 ? pick(1, 40) : pick(1, 4) * 16;
      const TensorId w = constant(graph, "w" + number, {to, in, 3, 3});
      const TensorId bias = pick(0, 1) == 1 ? constant(graph, "b" + number, {to}) : kNone;
      const int64_t begin = sum ? 1 : pick(0, 1), end = sum ? 1 : pick(0, 1);
      TensorId y = graph.convolution(x, w, bias, {.pads_begin = {1, begin}, .pads_end = {1, end}});
      if (sum) y = graph.sum({y, x});
      if (pick(0, 1) == 1) y = graph.eltwise(y, {.algorithm = graph::EltwiseAlgorithm::relu});
      x = y;
    }
    graph.output(x);
    return graph;
  }

  std::mt19937 rng_{11};
  std::uniform_real_distribution<double> real_{-0.5, 0.5};
};

TEST_F(Winograd, RandomChainsEqualTheReference) {
  std::set<std::string> names;
  int convolutions = 0, by_winograd = 0;
  for (int i = 0; i < 80; ++i) {
    SCOPED_TRACE(i);
    const Graph graph = random_chain();
    const int threads = 1 + i % 2;
    const auto backend = onednn_backend(threads);
    CheapWinograd costs(*backend, i % 3 == 0 ? 0 : i % 3 == 1 ? 2 : 4);
    const graph::OptimalPlan best = optimize(graph, *backend, costs);
    EXPECT_TRUE(best.optimal);
    const std::vector<Values> inputs = test::random_inputs(graph, static_cast<unsigned>(i));
    // Some times what a direct computation differs by, which is 1e-6 of the scale.
    expect_equal(graph, best.plan, inputs, evaluate(graph, inputs), 3e-5, threads);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      convolutions += graph.nodes[n].kind == Kind::convolution;
      by_winograd += best.plan.nodes[n].rounds_more;
      if (best.plan.nodes[n].rounds_more) names.insert(best.plan.nodes[n].implementation);
    }
    EXPECT_EQ(totals(graph, best.plan).rounding_more,
              std::ranges::count(best.plan.nodes, true, &graph::PlannedNode::rounds_more));
  }
  EXPECT_GT(by_winograd, convolutions / 2);
  EXPECT_EQ(names.size(), 2) << "each size of tiles is a way of its own";
  std::cout << counts_ << ", " << by_winograd << " of " << convolutions << " convolutions by Winograd's algorithm\n";
}

/// A tile mixes elements that a result is not made of.
TEST_F(Winograd, InfinityAndNaNDoNotSpreadOverTiles) {
  const Graph graph = one_convolution();
  for (const int tile : {2, 4}) {
    CheapWinograd costs(*backend_, tile);
    const graph::OptimalPlan best = optimize(graph, *backend_, costs);
    ASSERT_TRUE(best.plan.nodes[0].rounds_more);
    Model model(graph, best.plan, *backend_, {.check_padding = true});
    std::vector<Values> inputs = test::random_inputs(graph, 3);
    // Elements (c,h,w) of 32 x 14 x 14.
    inputs[0][3 * 196 + 5 * 14 + 5] = std::numeric_limits<double>::quiet_NaN();
    inputs[0][7 * 196 + 10 * 14 + 2] = std::numeric_limits<double>::infinity();
    inputs[0][8 * 196 + 1 * 14 + 11] = -std::numeric_limits<double>::infinity();
    const Values want = evaluate(graph, inputs)[0], got = test::run_model(model, inputs)[0];
    int numbers = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      numbers += std::isfinite(want[i]);
      const bool same = std::isnan(want[i])   ? std::isnan(got[i])
                        : std::isinf(want[i]) ? got[i] == want[i]
                                              : std::fabs(got[i] - want[i]) <= 1e-3;
      ASSERT_TRUE(same) << "element " << i << " is " << got[i] << ", expected " << want[i];
    }
    EXPECT_GT(numbers, 32 * 100) << "of 12 x 12 results a channel, at most three windows of 9 have one";
  }
}

TEST_F(Winograd, IsOfferedForConstantFloatsThatItSuits) {
  const auto offered = [&](const Shape& shape) { return !winograd_ways(one_convolution(shape)).empty(); };
  EXPECT_TRUE(offered({}));
  EXPECT_TRUE(offered({.batch = 4, .in = 64, .out = 128}));
  EXPECT_FALSE(offered({.stride = 2}));
  EXPECT_FALSE(offered({.kernel = 1}));
  EXPECT_FALSE(offered({.kernel = 5}));
  EXPECT_FALSE(offered({.pass = Pass::forward_training}));
  EXPECT_FALSE(offered({.constant = false}));
  // oneDNN has a kernel for bytes, but the transformed weights are rounded to bytes there.
  EXPECT_FALSE(offered({.dtype = DType::u8}));
  EXPECT_FALSE(offered({.dtype = DType::s8}));
  EXPECT_FALSE(offered({.dtype = DType::bf16}));
  const std::vector<graph::LayoutRequest> plain{std::nullopt, Layout::contiguous({32, 32, 3, 3})};
  EXPECT_TRUE(winograd_ways(one_convolution(), plain).empty()) << "weights that are asked for in a layout";
}

TEST_F(Winograd, StandsBehindAllThatComputesDirectly) {
  const Graph graph = one_convolution();
  const std::vector<Implementation> ways = backend_->implementations(graph, 0, {}, {}, nullptr);
  bool seen = false;
  for (const Implementation& way : ways) {
    EXPECT_FALSE(seen && !way.rounds_more && !way.reference) << way.name;
    seen |= way.rounds_more;
    EXPECT_EQ(way.rounds_more, way.name.find("wino") != std::string::npos) << way.name;
    const graph::Performance performance = backend_->performance(graph, 0, way);
    EXPECT_EQ(way.rounds_more, performance.algorithm == graph::ConvolutionAlgorithm::transforming) << way.name;
    EXPECT_EQ(way.rounds_more, performance.tile > 0) << way.name;
  }
  EXPECT_FALSE(ways.front().rounds_more);
}

TEST_F(Winograd, IsTakenByNoPolicyAndNotByAny) {
  for (int i = 0; i < 10; ++i) {
    const Graph graph = random_chain();
    for (const graph::Policy policy : test::all_policies()) {
      graph::PropagateOptions options;
      options.policy = policy;
      EXPECT_EQ(totals(graph, propagate(graph, *backend_, options)).rounding_more, 0) << name(policy);
    }
  }
  const Graph graph = one_convolution();
  CheapWinograd costs(*backend_, 0);
  const auto choices = primitive_choices(graph, 0, *backend_, costs);
  EXPECT_TRUE(choices.front().implementation.rounds_more);
  EXPECT_EQ(std::ranges::count_if(choices, [](const auto& c) { return c.by_any && c.implementation.rounds_more; }), 0);
  for (const auto& choice : primitive_choices(graph, 0, *backend_, costs, nullptr, false)) {
    EXPECT_FALSE(choice.implementation.rounds_more) << choice.implementation.name;
  }
}

TEST_F(Winograd, IsLeftOutWhereThatIsAskedFor) {
  for (int i = 0; i < 10; ++i) {
    const Graph graph = random_chain();
    CheapWinograd costs(*backend_, 0);
    const graph::OptimalPlan with = optimize(graph, *backend_, costs),
                             without = optimize(graph, *backend_, costs, {.may_round_more = false});
    EXPECT_GT(totals(graph, with.plan).rounding_more, 0);
    EXPECT_EQ(totals(graph, without.plan).rounding_more, 0);
    for (const graph::Copy& copy : without.plan.copies) EXPECT_FALSE(copy.opaque);
  }
}

TEST_F(Winograd, WeightsHaveATokenForEachSizeOfTiles) {
  // This many channels and elements have tiles of both sizes.
  const Graph graph = one_convolution({.in = 64, .out = 64, .size = 56});
  const std::vector<Implementation> ways = winograd_ways(graph);
  std::set<uint64_t> hashes;
  for (const Implementation& way : ways) {
    const graph::Opaque token = way.opaque_src(1).value();
    EXPECT_EQ(token.name, "winograd");
    EXPECT_EQ(token.backend, backend_->name());
    const int64_t side = backend_->performance(graph, 0, way).tile + 2;
    EXPECT_EQ(token.bytes, 4 * 64 * 64 * side * side) << way.name;
    hashes.insert(token.hash);
    const auto again = matching_implementation(*onednn_backend(1), graph, 0, way, nullptr);
    ASSERT_TRUE(again) << way.name;
    EXPECT_EQ(again->opaque_src(1), token);
    EXPECT_TRUE(again->rounds_more);
    Implementation other = way;
    ++other.opaque[1]->hash;
    EXPECT_FALSE(matching_implementation(*backend_, graph, 0, other, nullptr)) << way.name;
    EXPECT_EQ(test::code_of([&] { backend_->make(graph, 0, other, nullptr, nullptr); }), ErrorCode::unsupported);
  }
  EXPECT_EQ(hashes.size(), ways.size());
}

TEST_F(Winograd, WeightsAreReorderedInAndNotOut) {
  const Graph graph = one_convolution();
  for (const Implementation& way : winograd_ways(graph)) {
    const std::vector<std::byte>& weights = *graph.tensor(graph.nodes[0].src[1]).data;
    std::vector<std::byte> packed(static_cast<std::size_t>(way.opaque_src(1)->bytes)), back(weights.size());
    backend_->reorder_into(graph, 0, way, 1, weights.data(), packed.data());
    EXPECT_TRUE(std::ranges::any_of(packed, [](std::byte b) { return b != std::byte{0}; }));
    EXPECT_EQ(test::code_of([&] { backend_->reorder_out_of(graph, 0, way, 1, packed.data(), back.data()); }),
              ErrorCode::unsupported);
  }
}

TEST_F(Winograd, IsRemembered) {
  const Graph graph = one_convolution();
  const auto remembering = remembering_backend(*backend_);
  const auto first = remembering->implementations(graph, 0, {}, {}, nullptr);
  const auto second = remembering->implementations(graph, 0, {}, {}, nullptr);
  EXPECT_EQ(remembering->remembered(), 1);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].name, second[i].name);
    EXPECT_EQ(first[i].rounds_more, second[i].rounds_more);
    EXPECT_EQ(first[i].reference, second[i].reference);
    EXPECT_EQ(first[i].opaque, second[i].opaque);
  }
}

}  // namespace
}  // namespace relayout::execute
