// Graphs of single nodes for tests: operands with given dims and values, destinations whose dims the test states.
//
//     Nodes nodes;
//     TensorId x = nodes.given({1, 1, 3}, {1, 2, 3});
//     Values y = nodes.run(Kind::eltwise, EltwiseAttributes{.algorithm = EltwiseAlgorithm::square}, {x}, {{1, 1,
//     3}})[0];
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "relayout/graph/reference/reference.h"

namespace relayout::test {

/// Random values in [low, high).
inline graph::Values random_values(int64_t count, std::mt19937& rng, double low = -1, double high = 1) {
  std::uniform_real_distribution<double> uniform(low, high);
  graph::Values out(static_cast<std::size_t>(count));
  for (double& v : out) v = uniform(rng);
  return out;
}

/// Tensors and their values; f64 if no other type is given.
struct Nodes {
  graph::Graph graph;
  std::vector<graph::Values> values;  // one for each tensor

  graph::TensorId given(const Dims& dims, graph::Values contents, DType dtype = DType::f64) {
    graph.tensors.push_back({"t" + std::to_string(graph.tensors.size()), dims, dtype});
    values.push_back(std::move(contents));
    return static_cast<graph::TensorId>(graph.tensors.size()) - 1;
  }
  graph::TensorId random(const Dims& dims, std::mt19937& rng, double low = -1, double high = 1) {
    return given(dims, random_values(checked_product(dims).value(), rng, low, high));
  }

  /// A node over tensors of this graph; its destinations are new ones of type `dtype`, none where `absent` is given.
  graph::Node node(graph::Kind kind, graph::NodeAttributes attributes, std::vector<graph::TensorId> src,
                   const std::vector<Dims>& dst, graph::Pass pass = graph::Pass::forward_training,
                   DType dtype = DType::f64) {
    graph::Node out{"node", kind, pass, std::move(attributes), std::move(src), {}};
    for (const Dims& dims : dst) out.dst.push_back(given(dims, {}, dtype));
    return out;
  }

  /// Computes the node by the reference, and keeps the results as values of its destinations.
  std::vector<graph::Values> run(const graph::Node& node, const std::vector<graph::TensorId>& hint_src = {}) {
    const auto all = [&](const std::vector<graph::TensorId>& tensors) {
      std::vector<const graph::Values*> out;
      for (graph::TensorId t : tensors)
        out.push_back(t == graph::kNone ? nullptr : &values[static_cast<std::size_t>(t)]);
      return out;
    };
    std::vector<graph::Values> out = graph::evaluate_node(graph, node, all(node.src), all(hint_src));
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (node.dst[i] != graph::kNone) values[static_cast<std::size_t>(node.dst[i])] = out[i];
    }
    return out;
  }
  std::vector<graph::Values> run(graph::Kind kind, graph::NodeAttributes attributes, std::vector<graph::TensorId> src,
                                 const std::vector<Dims>& dst, graph::Pass pass = graph::Pass::forward_training,
                                 DType dtype = DType::f64) {
    return run(node(kind, std::move(attributes), std::move(src), dst, pass, dtype));
  }
};

inline void expect_near(const graph::Values& got, const graph::Values& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << "element " << i;
}

/// 1, 2, 3 ...
inline graph::Values counting_values(int64_t count) {
  graph::Values out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 1.0);
  return out;
}

/// One node with one destination over f64 sources of given dims and values.
inline graph::Values run(graph::Kind kind, graph::NodeAttributes attributes,
                         const std::vector<std::pair<Dims, graph::Values>>& src, const Dims& dst,
                         graph::Pass pass = graph::Pass::forward_training, DType dtype = DType::f64) {
  Nodes nodes;
  std::vector<graph::TensorId> ids;
  for (const auto& [dims, values] : src) ids.push_back(nodes.given(dims, values));
  return nodes.run(kind, std::move(attributes), ids, {dst}, pass, dtype)[0];
}

}  // namespace relayout::test
