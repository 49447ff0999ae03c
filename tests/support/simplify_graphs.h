// Graphs for tests of simplify: tensors with random values, and the nodes that its passes look for.
//
//     SimplifyGraph m(1);                                    // the seed
//     TensorId y = m.normalize(m.convolve(m.graph.input("x", {1, 2, 3, 3})));
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "relayout/graph/ir/ops.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::test {

using namespace graph;

/// One graph, and what its random choices are drawn from.
struct SimplifyGraph {
  explicit SimplifyGraph(unsigned seed) : engine(seed) {}

  int64_t pick(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(engine); }
  bool coin() { return pick(0, 1) == 0; }
  Values values(const Dims& dims, double least = -1, double most = 1) {
    Values out(static_cast<std::size_t>(*checked_product(dims)));
    for (double& v : out) v = std::uniform_real_distribution<double>(least, most)(engine);
    return out;
  }
  TensorId constant(const Dims& dims, double least = -1, double most = 1, DType dtype = DType::f32) {
    auto data = std::make_shared<const std::vector<std::byte>>(store(values(dims, least, most), dtype));
    return graph.constant("c" + std::to_string(graph.tensors.size()), dims, dtype, data);
  }
  TensorId one(Kind kind, NodeAttributes attributes, std::vector<TensorId> src) {
    return graph.add(kind, std::move(attributes), std::move(src))[0];
  }
  const Dims& dims(TensorId t) const { return graph.tensor(t).dims; }

  TensorId normalize(TensorId x) {
    const Dims channel{dims(x)[1]};
    return one(Kind::batch_normalization, NormalizationAttributes{},
               {x, coin() ? constant(channel, 0.5, 2) : kNone, coin() ? constant(channel) : kNone, constant(channel),
                constant(channel, 0.2, 2)});
  }
  TensorId channel_binary(TensorId x) {
    Dims channel(dims(x).size(), 1);
    if (pick(0, 3) > 0) channel[1] = dims(x)[1];
    const TensorId c = constant(channel, 0.5, 2);
    const auto algorithm = static_cast<BinaryAlgorithm>(pick(0, 5));  // to min
    // c / x is left out, because it would magnify rounding errors where x is near zero.
    return coin() || algorithm == BinaryAlgorithm::div ? graph.binary(x, c, algorithm) : graph.binary(c, x, algorithm);
  }
  /// Weights: a constant, or a view of a constant.
  TensorId weights(const Dims& wanted) {
    switch (pick(0, 2)) {
      case 0: return graph.reshape(constant({*checked_product(wanted)}), wanted);
      case 1: {
        Dims swapped = wanted;
        std::swap(swapped[0], swapped[1]);
        std::vector<int> order(static_cast<std::size_t>(wanted.size()));
        std::iota(order.begin(), order.end(), 0);
        std::swap(order[0], order[1]);
        return graph.transpose(constant(swapped), order);
      }
      default: return constant(wanted);
    }
  }
  TensorId convolve(TensorId x) {
    const int64_t channels = dims(x)[1], groups = channels % 2 == 0 && coin() ? 2 : 1, out = pick(1, 3);
    Dims shape{out, channels / groups, pick(1, 2), pick(1, 2)};
    if (groups > 1) shape.insert(0, groups);
    const TensorId w = weights(shape), b = coin() ? constant({out * groups}) : kNone;
    const ConvolutionAttributes a{.pads_begin = {1, 0}, .pads_end = {0, 1}, .groups = groups};
    return coin() ? graph.convolution(x, w, b, a) : graph.deconvolution(x, w, b, {.groups = groups});
  }
  static constexpr int kIdentities = 10;
  TensorId identity(TensorId x, int64_t which) {
    const Dims shape = dims(x);
    switch (which) {
      case 0: return graph.transpose(graph.transpose(x, {0, 2, 3, 1}), {0, 3, 1, 2});
      case 1: return graph.reshape(graph.reshape(x, {shape[0], shape[1] * shape[2], shape[3]}), shape);
      case 2: return graph.sum({x});
      case 3: return graph.concat({x});
      case 4: return one(Kind::slice, SliceAttributes{Dims(4, 0), shape, Dims(4, 1)}, {x});
      case 5: return one(Kind::reorder, ReorderAttributes{}, {x});
      case 6: return one(Kind::pad, PadAttributes{Dims(4, 0), Dims(4, 0)}, {x});
      case 7: return one(Kind::broadcast, BroadcastAttributes{shape}, {x});
      case 8: return one(Kind::shuffle, ShuffleAttributes{.groups = shape[1]}, {x});
      default: return graph.eltwise(x, {.algorithm = EltwiseAlgorithm::linear, .alpha = 1});
    }
  }
  TensorId identity(TensorId x) { return identity(x, pick(0, kIdentities - 1)); }
  TensorId step(TensorId x) {
    switch (pick(0, 7)) {
      case 0:
      case 1: return convolve(x);
      case 2: return normalize(x);
      case 3: return channel_binary(x);
      case 4: return identity(x);
      case 5: return graph.concat({x, normalize(x)});
      case 6: return graph.sum({x, identity(x)});
      default:
        return graph.eltwise(
            x, {.algorithm = coin() ? EltwiseAlgorithm::tanh : EltwiseAlgorithm::linear, .alpha = 0.5, .beta = 0.25});
    }
  }

  std::mt19937 engine;
  Graph graph{};
};

/// Every node reads tensors that are made before it and writes tensors of the dims that infer() gives, and every tensor
/// is made once.
inline void expect_sound(const Graph& graph) {
  std::vector<int> made(graph.tensors.size(), 0);
  for (std::size_t t = 0; t < made.size(); ++t) made[t] = graph.tensors[t].constant() ? 1 : 0;
  for (TensorId t : graph.inputs) ++made[static_cast<std::size_t>(t)];
  for (const Node& node : graph.nodes) {
    for (TensorId t : node.src) {
      if (t != kNone) {
        ASSERT_EQ(made.at(static_cast<std::size_t>(t)), 1);
      }
    }
    const auto specs = infer(graph, node, static_cast<int>(node.dst.size()));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (node.dst[i] == kNone) continue;
      ++made.at(static_cast<std::size_t>(node.dst[i]));
      ASSERT_EQ(graph.tensor(node.dst[i]).dims, specs[i]->dims);
    }
  }
  for (int count : made) ASSERT_EQ(count, 1);
}

/// Expects equal values, except for the rounding of f32.
inline void expect_close(const std::vector<Values>& a, const std::vector<Values>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    double largest = 1;
    for (double v : a[i]) largest = std::max(largest, std::abs(v));
    for (std::size_t k = 0; k < a[i].size(); ++k) ASSERT_NEAR(a[i][k], b[i][k], 1e-4 * largest) << i << " " << k;
  }
}

/// How many nodes of that kind a graph has.
inline int count_of(const Graph& graph, Kind kind) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.kind == kind; }));
}

}  // namespace relayout::test
