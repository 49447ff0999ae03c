// Compares this project's own batch normalization with the reference at the ends of its tiles and groups, for every
// implementation and every pair of layouts. (onednn/backend_test.cc has small shapes of every rank.)
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "relayout/core/format.h"
#include "relayout/reorder/reference.h"
#include "tests/support/node_check.h"

namespace relayout::execute {
namespace {

using graph::Kind;
using graph::kNone;
using graph::Pass;

/// A forward node over random values of these dims, and its backward node.
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

// The extents end tiles of 32, 256 and 4096 places, rows of 16 places and groups of 16 channels.
TEST(OwnBatchNormalization, EndsOfTilesAndGroups) {
  check_ends({{2, 20, 17, 16}, {1, 1, 64, 65}, {3, 40, 1, 1}, {2, 16, 31}}, 1);
}

// The two threads share five groups.
TEST(OwnBatchNormalization, TwoThreads) { check_ends({{1, 70, 31, 17}}, 2); }

/// Compares the variance that the own kernel computes for these values in a layout with the reference's.
void expect_variance(const char* tag, const std::function<float(int64_t)>& value, double relative) {
  const Pair pair = pair_of({2, 20, 18, 20}, false, false);
  const auto backend = onednn_backend(1);
  const Dims& dims = pair.graph.tensor(0).dims;
  const Layout layout = Format::parse(tag).bind(dims);
  const std::vector<graph::LayoutRequest> requests{layout};
  const auto implementations = backend->implementations(pair.graph, pair.forward, requests, requests, nullptr);
  const auto own = std::ranges::find_if(implementations, [&](const graph::Implementation& implementation) {
    return implementation.name == "relayout:batch_normalization" && implementation.src[0] == layout &&
           implementation.dst[0] == layout;
  });
  ASSERT_NE(own, implementations.end()) << tag;
  graph::Values values(static_cast<std::size_t>(Layout::contiguous(dims).elements()));
  std::vector<float> plain(values.size()), x(static_cast<std::size_t>(layout.span())), y(x.size()), mean(20),
      variance(20);
  for (std::size_t i = 0; i < plain.size(); ++i) values[i] = plain[i] = value(static_cast<int64_t>(i));
  reference_reorder({Layout::contiguous(dims), DType::f32}, plain.data(), {layout, DType::f32}, x.data());
  const std::vector<const void*> src{x.data(), nullptr, nullptr};
  const std::vector<void*> dst{y.data(), mean.data(), variance.data()};
  backend->make(pair.graph, pair.forward, *own, nullptr, nullptr)->run(src, dst);
  Graph graph = pair.graph;
  graph.outputs = {graph.node(0).dst[0], graph.node(0).dst[2]};
  const std::vector<graph::Values> inputs{values, values}, want = graph::evaluate(graph, inputs);
  reference_reorder({layout, DType::f32}, y.data(), {Layout::contiguous(dims), DType::f32}, plain.data());
  // An f32 near 1000 is exact to 3e-5, and deviations are 0.29 and more.
  for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(plain[i], want[0][i], 5e-4) << tag << " " << i;
  for (std::size_t c = 0; c < variance.size(); ++c) {
    EXPECT_NEAR(variance[c], want[1][c], relative * want[1][c]) << tag << " " << c;
  }
}

// Plain sums of squares would lose all digits of the variance.
TEST(OwnBatchNormalization, ChannelsFarFromZero) {
  Random random(2);
  for (const char* tag : {"nchw", "nhwc", "nChw16c"}) {
    expect_variance(
        tag, [&](int64_t) { return static_cast<float>(random.real(1000, 1001)); }, 1e-4);
  }
}

// The kernel takes the first element of each channel as its first centre. Here it is far from all others.
TEST(OwnBatchNormalization, ChannelsThatBeginWithAnOutlier) {
  Random random(3);
  for (const char* tag : {"nchw", "nhwc", "nChw16c"}) {
    const auto value = [&](int64_t i) {
      const float unit = static_cast<float>(random.real(-1, 1));
      return i % (18 * 20) == 0 && i < 20 * 18 * 20 ? 30.0F : unit;
    };
    expect_variance(tag, value, 1e-5);
  }
}

// With one element a channel the gradient of the source is 0: the element is its own mean, and so is its gradient. A
// rounding error would be multiplied by the inverse deviation, 1 / sqrt(epsilon), and by that of each layer before.
TEST(OwnBatchNormalization, ChannelsOfOneElementHaveNoGradient) {
  const Pair pair = pair_of({1, 20, 1, 1}, true, true);
  const auto backend = onednn_backend(1);
  Random random(4);
  const auto drawn = [&](double low, double high) {
    std::vector<float> out(32, 0.0F);  // nChw16c has 32 places
    std::generate_n(out.begin(), 20, [&] { return static_cast<float>(random.real(low, high)); });
    return out;
  };
  int tried = 0;
  for (const char* tag : {"nchw", "nChw16c"}) {
    const Layout layout = Format::parse(tag).bind({1, 20, 1, 1});
    std::vector<graph::LayoutRequest> sources(5);
    sources[0] = sources[4] = layout;
    for (const graph::Implementation& implementation : backend->implementations(
             pair.graph, pair.backward, sources, std::vector<graph::LayoutRequest>{layout}, nullptr)) {
      if (implementation.name != "relayout:batch_normalization" || implementation.src[0] != layout ||
          implementation.src[4] != layout || implementation.dst[0] != layout)
        continue;
      ++tried;
      const std::vector<float> x = drawn(-3, 3), scale = drawn(0.5, 2), variance(20, 0.0F), diff = drawn(-9, 9);
      std::vector<float> diff_x(32, -1.0F), diff_scale(20), diff_shift(20);
      const std::vector<const void*> src{x.data(), scale.data(), x.data(), variance.data(), diff.data()};
      const std::vector<void*> dst{diff_x.data(), diff_scale.data(), diff_shift.data()};
      backend->make(pair.graph, pair.backward, implementation, nullptr, nullptr)->run(src, dst);
      for (std::size_t c = 0; c < 20; ++c) {
        EXPECT_EQ(diff_x[c], 0) << tag << " " << c;
        EXPECT_EQ(diff_scale[c], 0) << tag << " " << c;
        EXPECT_EQ(diff_shift[c], diff[c]) << tag << " " << c;
      }
    }
  }
  EXPECT_GE(tried, 2);
}

}  // namespace
}  // namespace relayout::execute
