// What the tests of ops share: a graph of inputs, and the dims that one more node gives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relayout/graph/ir/ops.h"

namespace relayout::graph {

/// A graph with one input for each list of dims.
struct Case {
  Graph graph;
  std::vector<TensorId> src;
};

inline Case inputs(const std::vector<std::optional<Dims>>& dims, DType dtype = DType::f32) {
  Case out;
  for (const auto& d : dims) {
    out.src.push_back(d ? out.graph.input("t", *d, dtype) : kNone);
  }
  return out;
}

/// Dims of all destinations of one node, absent ones as {-1}.
inline std::vector<Dims> shapes(Case c, Kind kind, NodeAttributes attributes, int dsts = 0,
                                Pass pass = Pass::forward_inference) {
  Node node{.name = "n", .kind = kind, .pass = pass, .attributes = std::move(attributes), .src = c.src};
  std::vector<Dims> out;
  for (TensorId id : c.graph.add(std::move(node), dsts))
    out.push_back(id == kNone ? Dims{-1} : c.graph.tensor(id).dims);
  return out;
}

using Shapes = std::vector<Dims>;
inline constexpr std::nullopt_t kAbsent = std::nullopt;

}  // namespace relayout::graph
