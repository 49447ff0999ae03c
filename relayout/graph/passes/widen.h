// Widen: what a backend cannot compute in f16, bf16 or f64 is computed in f32.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// What widen() changed.
struct Widened {
  /// Nodes that are computed in f32, and the types that their operands had.
  int64_t nodes = 0;
  std::vector<DType> types{};
};

/// Whether a node can be computed with operands of the types that they have.
using Computable = std::function<bool(const Graph& graph, NodeId node)>;

/// Changes nodes of f16, bf16 and f64 that cannot be computed, so that their operands are f32: constants become
/// constants of f32, and other tensors are converted where a node of the other kind reads them. Elementwise nodes and
/// nodes that move data, which run in every type, follow the nodes around them. Inputs and outputs keep their types.
/// Biases and the parameters of normalizations, which backends have in f32, become f32 where that is enough. A
/// conversion of the model to f32 and back leaves nothing behind where both sides are f32 now, so results are rounded
/// less often than in the model.
///
///     widen(graph, [&](const Graph& g, NodeId n) { return has_implementation(*backend, g, n); });
///                                                         // {.nodes = 12, .types = {DType::f16}}
///
/// Graphs with backward nodes stay as they are. Ids of nodes and tensors change.
Widened widen(Graph& graph, const Computable& computable);

/// A sentence about that, "12 primitives of f16 are computed in f32, as onednn 2.6.3 has none in f16"; empty where
/// nothing was changed.
std::string text_of(const Widened& changed, std::string_view backend);

}  // namespace relayout::graph
