// Layer normalization, GELU and SiLU written apart become one node each, whatever the order of factors, and what only
// resembles them does not.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "relayout/graph/passes/simplify.h"
#include "tests/support/nodes.h"

namespace relayout::graph {
namespace {

using enum EltwiseAlgorithm;
using BinaryAlgorithm::add, BinaryAlgorithm::sub, BinaryAlgorithm::mul, BinaryAlgorithm::div;

const Dims kSimplifiedDims{2, 3, 8};

struct Writer {
  Graph g;
  TensorId x = g.input("x", kSimplifiedDims);

  TensorId scaled(TensorId t, double alpha, double beta = 0) { return g.eltwise(t, {linear, alpha, beta}); }
  TensorId mean(TensorId t, std::vector<int> axes) {
    return g.add(Kind::reduction, ReductionAttributes{ReductionAlgorithm::mean, std::move(axes)}, {t})[0];
  }
  TensorId constant(const Dims& dims, float first) {
    std::vector<float> values(static_cast<std::size_t>(checked_product(dims).value()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + 0.1f * static_cast<float>(i);
    return g.constant("c" + std::to_string(g.tensors.size()), dims, values);
  }
};

/// The kinds of nodes that are left. The values of the output must not change by more than rounding.
std::vector<Kind> simplified(const std::function<TensorId(Writer&)>& write, Node* last = nullptr) {
  Writer w;
  w.g.output(write(w));
  std::mt19937 rng(5);
  const Values x = test::random_values(checked_product(kSimplifiedDims).value(), rng, -2, 2);
  const Values expected = evaluate(w.g, std::array{x})[0];
  simplify(w.g);
  test::expect_near(evaluate(w.g, std::array{x})[0], expected, 1e-5);
  std::vector<Kind> out;
  for (const Node& node : w.g.nodes) out.push_back(node.kind);
  if (last != nullptr) *last = w.g.nodes.back();
  return out;
}

TEST(Compositions, LayerNormalizationHasManySpellings) {
  for (int spelling = 0; spelling < 16; ++spelling) {
    SCOPED_TRACE(spelling);
    const std::vector<int> axes = spelling % 2 == 0 ? std::vector{2} : std::vector{1, 2};
    Node node;
    const auto kinds = simplified(
        [&](Writer& w) {
          const TensorId d = w.g.binary(w.x, w.mean(w.x, axes), sub);
          const TensorId again = spelling & 2 ? w.g.binary(w.x, w.mean(w.x, axes), sub) : d;
          const TensorId square_of = spelling & 4 ? w.g.eltwise(again, {square}) : w.g.binary(again, again, mul);
          const TensorId shifted = w.scaled(w.mean(square_of, axes), 1, 1e-3);
          TensorId y = kNone;
          if (spelling & 8) {
            y = w.g.binary(d, w.g.eltwise(shifted, {sqrt}), div);
          } else {
            y = w.g.binary(w.g.eltwise(shifted, {pow, 1, -0.5}), d, mul);
          }
          const Dims own = axes.size() == 1 ? Dims{1, 1, 8} : Dims{1, 3, 8};
          return w.g.binary(w.constant(own, -1), w.g.binary(y, w.constant(own, 0.5), mul), add);
        },
        &node);
    EXPECT_EQ(kinds, std::vector{Kind::layer_normalization});
    EXPECT_EQ(node.src.size(), 3u);
    EXPECT_EQ(node.as<NormalizationAttributes>().epsilon, 1e-3);
    EXPECT_EQ(node.as<NormalizationAttributes>().axis, axes[0]);
  }
}

TEST(Compositions, WhatIsNoLayerNormalizationStays) {
  const auto written = [](std::vector<int> axes, std::vector<int> other_axes, double alpha, bool of_itself) {
    return [=](Writer& w) {
      const TensorId d = w.g.binary(w.x, w.mean(w.x, axes), sub);
      const TensorId shifted = w.scaled(w.mean(w.g.eltwise(of_itself ? w.x : d, {square}), other_axes), alpha, 1e-3);
      return w.g.binary(d, w.g.eltwise(shifted, {sqrt}), div);
    };
  };
  EXPECT_EQ(simplified(written({2}, {2}, 1, false)), std::vector{Kind::layer_normalization});
  EXPECT_GT(simplified(written({1}, {1}, 1, false)).size(), 4u) << "not the last dims";
  EXPECT_GT(simplified(written({2}, {1, 2}, 1, false)).size(), 4u) << "other dims";
  EXPECT_GT(simplified(written({2}, {2}, 2, false)).size(), 4u) << "twice the variance";
  EXPECT_GT(simplified(written({2}, {2}, 1, true)).size(), 4u) << "no variance";
}

TEST(Compositions, ScaleOfOtherDimsStays) {
  const auto kinds = simplified([&](Writer& w) {
    const TensorId d = w.g.binary(w.x, w.mean(w.x, {2}), sub);
    const TensorId root = w.g.eltwise(w.scaled(w.mean(w.g.binary(d, d, mul), {2}), 1, 1e-3), {sqrt});
    return w.g.binary(w.g.binary(d, root, div), w.constant({1, 3, 1}, 1), mul);
  });
  EXPECT_EQ(kinds, (std::vector{Kind::layer_normalization, Kind::binary}));
}

TEST(Compositions, GeluByTanh) {
  const double scale = std::sqrt(2 / std::numbers::pi);
  for (int spelling = 0; spelling < 16; ++spelling) {
    SCOPED_TRACE(spelling);
    Node node;
    const auto kinds = simplified(
        [&](Writer& w) {
          // x is a product itself, which must not be taken apart.
          const TensorId x = w.g.binary(w.x, w.constant({1, 1, 8}, 0.5), mul);
          TensorId argument = kNone;
          if (spelling & 1) {
            const TensorId cube =
                spelling & 2 ? w.g.eltwise(x, {pow, 1, 3}) : w.g.binary(x, w.g.binary(x, x, mul), mul);
            argument = w.scaled(w.g.binary(x, w.scaled(cube, 0.044715)), scale);
          } else {
            const TensorId squared = spelling & 2 ? w.g.eltwise(x, {square}) : w.g.binary(x, x, mul);
            argument = w.g.binary(w.scaled(squared, 0.044715 * scale, scale), x, mul);
          }
          const TensorId gate = w.g.eltwise(argument, {tanh});
          if (spelling & 4) return w.g.binary(x, w.scaled(gate, 0.5, 0.5), mul);
          if (spelling & 8) return w.scaled(w.g.binary(w.scaled(gate, 1, 1), x, mul), 0.5);
          return w.g.binary(w.scaled(x, 0.5), w.scaled(gate, 1, 1), mul);
        },
        &node);
    EXPECT_EQ(kinds, (std::vector{Kind::binary, Kind::eltwise}));
    EXPECT_EQ(node.as<EltwiseAttributes>().algorithm, gelu_tanh);
  }
}

TEST(Compositions, WhatIsNoGeluStays) {
  const auto written = [](double cubic, double half, double exponent) {
    return [=](Writer& w) {
      const TensorId cube = w.scaled(w.g.eltwise(w.x, {pow, 1, exponent}), cubic);
      const TensorId argument = w.scaled(w.g.binary(w.x, cube), std::sqrt(2 / std::numbers::pi));
      return w.g.binary(w.x, w.scaled(w.g.eltwise(argument, {tanh}), half, half), mul);
    };
  };
  EXPECT_EQ(simplified(written(0.044715, 0.5, 3)).size(), 1u);
  EXPECT_GT(simplified(written(0.04, 0.5, 3)).size(), 3u);
  EXPECT_GT(simplified(written(0.044715, 0.4, 3)).size(), 3u);
  EXPECT_GT(simplified(written(0.044715, 0.5, 2)).size(), 3u);
}

TEST(Compositions, Silu) {
  Node node;
  EXPECT_EQ(simplified([](Writer& w) { return w.g.binary(w.x, w.g.eltwise(w.x, {logistic}), mul); }, &node),
            std::vector{Kind::eltwise});
  EXPECT_EQ(node.as<EltwiseAttributes>().algorithm, swish);
  EXPECT_EQ(node.as<EltwiseAttributes>().alpha, 1);
  const auto quick = [](Writer& w) { return w.g.binary(w.g.eltwise(w.scaled(w.x, 1.702), {logistic}), w.x, mul); };
  EXPECT_EQ(simplified(quick, &node), std::vector{Kind::eltwise});
  EXPECT_EQ(node.as<EltwiseAttributes>().alpha, 1.702);
  const auto shifted = [](Writer& w) { return w.g.binary(w.x, w.g.eltwise(w.scaled(w.x, 1, 2), {logistic}), mul); };
  EXPECT_EQ(simplified(shifted).size(), 3u);
  const auto other = [](Writer& w) {
    return w.g.binary(w.constant(kSimplifiedDims, 1), w.g.eltwise(w.x, {logistic}), mul);
  };
  EXPECT_EQ(simplified(other).size(), 2u);
}

}  // namespace
}  // namespace relayout::graph
