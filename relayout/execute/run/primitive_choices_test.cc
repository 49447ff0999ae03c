// What `any` takes of one primitive, and what else oneDNN offers: every choice can be made and is priced, and `any` is
// among them, forward and backward.
#include "relayout/graph/optimize/primitive_choices.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/passes/backward.h"
#include "tests/support/simple_costs.h"

namespace relayout::execute {
namespace {

using graph::Graph;
using graph::PrimitiveChoice;
using graph::TensorId;

/// The choices, which must be makeable, in order, and have exactly one that `any` takes.
std::vector<PrimitiveChoice> checked_choices(const Graph& g, graph::NodeId node, const graph::Backend& backend,
                                             const graph::Implementation* forward = nullptr) {
  test::ByteCosts costs;
  std::vector<PrimitiveChoice> out = primitive_choices(g, node, backend, costs, forward);
  EXPECT_EQ(std::ranges::count(out, true, &PrimitiveChoice::by_any), 1);
  EXPECT_TRUE(std::ranges::is_sorted(out, {}, &PrimitiveChoice::us));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const graph::Implementation& one = out[i].implementation;
    EXPECT_GT(out[i].us, 0);
    if (!forward) {
      EXPECT_TRUE(backend.make(g, node, one, nullptr, nullptr)) << one.name;
    }
    for (std::size_t k = 0; k < i; ++k) {
      const graph::Implementation& other = out[k].implementation;
      EXPECT_FALSE(other.name == one.name && other.src == one.src && other.dst == one.dst) << one.name << " twice";
    }
  }
  return out;
}

const graph::Implementation& any_of(const std::vector<PrimitiveChoice>& choices) {
  return std::ranges::find(choices, true, &PrimitiveChoice::by_any)->implementation;
}

TEST(PrimitiveChoices, AConvolutionHasSeveralLayouts) {
  const auto backend = onednn_backend(1);
  Graph g;
  const TensorId x = g.input("src", {1, 32, 28, 28}), w = g.input("weights", {32, 32, 3, 3});
  g.output(g.convolution(x, w, graph::kNone, {.pads_begin = {1, 1}, .pads_end = {1, 1}}));
  const std::vector<PrimitiveChoice> choices = checked_choices(g, 0, *backend);
  std::vector<Layout> sources;
  for (const PrimitiveChoice& choice : choices) {
    if (std::ranges::find(sources, *choice.implementation.src[0]) == sources.end())
      sources.push_back(*choice.implementation.src[0]);
  }
  EXPECT_GE(sources.size(), 2u);  // `any` says one of them
  // `any` is what the backend answers first where nothing is asked for.
  const graph::Implementation first = backend->implementations(g, 0, {}, {}, nullptr).front();
  EXPECT_EQ(any_of(choices).name, first.name);
  EXPECT_EQ(any_of(choices).src, first.src);
}

TEST(PrimitiveChoices, AMemoryBoundSourceIsTakenAsItIs) {
  const auto backend = onednn_backend(1);
  for (const char* tag : {"nchw", "nhwc", "nChw8c", "nChw16c"}) {
    Graph g;
    const TensorId x = g.input("src", {1, 32, 28, 28}, DType::f32, Format::parse(tag));
    g.output(g.pooling(x, {.kernel = {2, 2}, .strides = {2, 2}}));
    const graph::Implementation taken = any_of(checked_choices(g, 0, *backend));
    EXPECT_EQ(taken.src[0], Format::parse(tag).bind({1, 32, 28, 28})) << tag;
    EXPECT_EQ(taken.dst[0], Format::parse(tag).bind({1, 32, 14, 14})) << tag;  // `any` of a destination follows
  }
}

TEST(PrimitiveChoices, BackwardByTheHint) {
  const auto backend = onednn_backend(1);
  Graph g;
  g.pass = graph::Pass::forward_training;
  const TensorId x = g.input("src", {2, 16, 12, 12}), w = g.input("weights", {16, 16, 3, 3});
  g.output(g.pooling(g.convolution(x, w), {.kernel = {2, 2}, .strides = {2, 2}}));
  append_backward(g, g.inputs);
  std::vector<graph::Implementation> taken;
  int backward = 0;
  for (graph::NodeId n = 0; n < static_cast<graph::NodeId>(g.nodes.size()); ++n) {
    const graph::Node& node = g.node(n);
    const graph::Implementation* forward =
        node.hint == graph::kNone ? nullptr : &taken[static_cast<std::size_t>(node.hint)];
    backward += forward != nullptr;
    graph::Implementation one = any_of(checked_choices(g, n, *backend, forward));
    if (node.kind == graph::Kind::pooling && forward) {
      // The gradient that comes in has the layout of the forward destination: pooling cannot run otherwise.
      EXPECT_EQ(one.src[0], forward->dst[0]);
    }
    taken.push_back(std::move(one));
  }
  EXPECT_EQ(backward, 3);  // of the pooling, and of the convolution's data and weights
}

TEST(PrimitiveChoices, ANodeThatIsNotThere) {
  const auto backend = onednn_backend(1);
  test::ByteCosts costs;
  const Graph g;
  try {
    primitive_choices(g, 0, *backend, costs);
    FAIL() << "node 0 of no nodes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace relayout::execute
