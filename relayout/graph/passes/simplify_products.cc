// Products of many single rows by one matrix, as recurrent layers at a batch of 1 give them: see simplify.h.
#include <algorithm>

#include "relayout/graph/passes/simplify.h"

namespace relayout::graph {
namespace {

int64_t batch_of(const Dims& dims) {
  int64_t out = 1;
  for (int d = 0; d + 2 < dims.size(); ++d) out *= dims[d];
  return out;
}

/// Whether each matrix of the first source is one row, all of them meet the same matrix, and there are several.
bool has_single_rows(const Graph& graph, const Node& node) {
  if (node.kind != Kind::matmul || node.pass != Pass::forward_inference || !node.post_ops.empty()) return false;
  const Dims &a = graph.tensor(node.src[0]).dims, &b = graph.tensor(node.src[1]).dims;
  return a[a.size() - 2] == 1 && batch_of(a) > 1 && batch_of(b) == 1;
}

}  // namespace

void join_rows(Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    if (!has_single_rows(graph, node)) {
      nodes.push_back(std::move(node));
      continue;
    }
    const TensorId a = node.src[0], dst = node.dst[0];
    const auto rows_of = [&](TensorId t) {
      const Tensor& of = graph.tensor(t);
      Tensor tensor{.name = of.name + ".rows", .dims = of.dims, .dtype = of.dtype};
      const int64_t rows = batch_of(tensor.dims);
      std::fill(tensor.dims.begin(), tensor.dims.end() - 2, 1);
      tensor.dims[tensor.dims.size() - 2] = rows;
      graph.tensors.push_back(std::move(tensor));
      return static_cast<TensorId>(graph.tensors.size()) - 1;
    };
    const auto reshape = [&](const std::string& name, TensorId from, TensorId to) {
      nodes.push_back({.name = name,
                       .kind = Kind::reshape,
                       .pass = node.pass,
                       .attributes = ReshapeAttributes{graph.tensor(to).dims},
                       .src = {from},
                       .dst = {to}});
    };
    node.src[0] = rows_of(a);
    node.dst[0] = rows_of(dst);
    const std::string name = node.name;
    const TensorId from = node.src[0], made = node.dst[0];
    reshape(name + ".rows", a, from);
    nodes.push_back(std::move(node));
    reshape(name + ".back", made, dst);
  }
  graph.nodes = std::move(nodes);
}

}  // namespace relayout::graph
