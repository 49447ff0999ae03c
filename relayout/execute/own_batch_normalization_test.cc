// The own batch normalization where its tiles and groups end: every way, in every pair of layouts, against the
// reference. (Small shapes of every rank are among those of onednn/backend_test.cc.)
#include <gtest/gtest.h>

#include "relayout/execute/onednn/node_check.h"

namespace relayout::execute {
namespace {

using graph::Kind;
using graph::kNone;
using graph::Pass;

/// A forward node over random values of these dims, and the backward one behind it.
struct Pair {
  Graph graph;
  NodeId forward = kNone, backward = kNone;
};

Pair pair_of(const Dims& dims, bool scale, bool shift) {
  Pair out;
  const auto vector = [&](const char* name, bool there) { return there ? out.graph.input(name, {dims[1]}) : kNone; };
  const TensorId x = out.graph.input("x", dims), a = vector("scale", scale), b = vector("shift", shift);
  const graph::NormalizationAttributes attributes{.epsilon = 1e-3};
  const std::vector<TensorId> dst = out.graph.add({.name = "forward",
                                                   .kind = Kind::batch_normalization,
                                                   .pass = Pass::forward_training,
                                                   .attributes = attributes,
                                                   .src = {x, a, b}},
                                                  3);
  out.forward = 0;
  const TensorId diff = out.graph.input("diff", dims);
  out.graph.add({.name = "backward",
                 .kind = Kind::batch_normalization,
                 .pass = Pass::backward,
                 .attributes = attributes,
                 .src = {x, a, dst[1], dst[2], diff},
                 .hint = out.forward},
                scale ? 3 : 1);
  out.backward = 1;
  return out;
}

const CheckOptions kOptions{.terms = 500, .relative = 1e-4};

void check_ends(const std::vector<Dims>& shapes, int threads) {
  Random random(1);
  NodeCheck check(random, threads);
  for (const Dims& dims : shapes) {
    const Pair pair = pair_of(dims, random.one_in(2), true);
    check.check(pair.graph, pair.forward, kOptions);
    check.check(pair.graph, pair.backward, kOptions);
  }
  check.print();
}

// Tiles of 32, 256 and 4096 places, rows of 16 of them, groups of 16 channels.
TEST(OwnBatchNormalization, EndsOfTilesAndGroups) {
  check_ends({{2, 20, 17, 16}, {1, 1, 64, 65}, {3, 40, 1, 1}, {2, 16, 31}}, 1);
}

// Five groups, which go to both.
TEST(OwnBatchNormalization, TwoThreads) { check_ends({{1, 70, 31, 17}}, 2); }

TEST(OwnBatchNormalization, ChannelsFarFromZero) {
  Random random(2);
  const Pair pair = pair_of({2, 20, 18, 20}, false, false);
  const auto backend = onednn_backend(1);
  const Layout nchw = Layout::contiguous(pair.graph.tensor(0).dims);
  const std::vector<graph::Wish> wishes{nchw};
  const auto ways = backend->implementations(pair.graph, pair.forward, wishes, wishes, nullptr);
  const auto own = std::ranges::find(ways, "relayout:batch_normalization", &graph::Implementation::name);
  ASSERT_NE(own, ways.end());
  std::vector<float> x(static_cast<std::size_t>(nchw.elements())), y(x.size()), mean(20), variance(20);
  for (float& value : x) value = static_cast<float>(random.real(1000, 1001));
  const std::vector<const void*> src{x.data(), nullptr, nullptr};
  const std::vector<void*> dst{y.data(), mean.data(), variance.data()};
  backend->make(pair.graph, pair.forward, *own, nullptr, nullptr)->run(src, dst);
  Graph graph = pair.graph;
  graph.outputs = {graph.node(0).dst[0], graph.node(0).dst[2]};
  const graph::Values values(x.begin(), x.end());
  const std::vector<graph::Values> inputs{values, values}, want = graph::evaluate(graph, inputs);
  // A float near 1000 is known to 3e-5; deviations are 0.29. From sums of squares no digit of the variance would be
  // left.
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[0][i], 5e-4) << i;
  for (std::size_t c = 0; c < variance.size(); ++c) EXPECT_NEAR(variance[c], want[1][c], 1e-5) << c;
}

}  // namespace
}  // namespace relayout::execute
