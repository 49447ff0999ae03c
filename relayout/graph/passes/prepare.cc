// The order of the passes: see prepare.h.
#include "relayout/graph/passes/prepare.h"

#include "relayout/graph/passes/fuse.h"
#include "relayout/graph/passes/multiply_bytes.h"
#include "relayout/graph/passes/requantize.h"
#include "relayout/graph/passes/simplify.h"

namespace relayout::graph {

Widened prepare(Graph& graph, const Computable& computable) {
  multiply_bytes(graph);
  simplify(graph);
  Widened changed = widen(graph, computable);
  if (changed.nodes > 0) simplify(graph);
  fuse(graph);
  store_bytes(graph);
  requantize(graph);
  return changed;
}

void make_ends_row_major(Graph& graph) {
  for (const std::vector<TensorId>* ends : {&graph.inputs, &graph.outputs}) {
    for (const TensorId id : *ends) {
      Tensor& tensor = graph.tensor(id);
      if (!tensor.layout) tensor.layout = Layout::contiguous(tensor.dims);
    }
  }
}

}  // namespace relayout::graph
