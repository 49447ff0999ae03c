// Row-major inputs and outputs of models, for tests that keep tensors as bytes.
#pragma once

#include <vector>

#include "relayout/execute/run/execute.h"

namespace relayout::test {

/// Fixes the layouts of a graph's inputs and outputs.
inline void make_row_major(graph::Graph& graph) {
  for (const auto* list : {&graph.inputs, &graph.outputs}) {
    for (const graph::TensorId id : *list) graph.tensor(id).layout = Layout::contiguous(graph.tensor(id).dims);
  }
}

/// Memory for the outputs of a run.
struct RowMajorOutputs {
  std::vector<std::vector<std::byte>> memory{};
  std::vector<execute::Destination> destinations{};

  explicit RowMajorOutputs(const graph::Graph& graph) {
    for (const graph::TensorId id : graph.outputs) {
      const TensorDesc desc{Layout::contiguous(graph.tensor(id).dims), graph.tensor(id).dtype};
      memory.emplace_back(static_cast<std::size_t>(desc.span_bytes()));
      destinations.push_back({desc, memory.back().data()});
    }
  }
};

}  // namespace relayout::test
