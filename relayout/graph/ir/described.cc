// A node in words, for error messages. See described.h.
#include "relayout/graph/ir/described.h"

namespace relayout::graph {

std::string described(const Graph& graph, const Node& node) {
  std::string out = std::string(name(node.kind)) + " \"" + escaped(node.name) + "\" (" + std::string(name(node.pass));
  for (TensorId t : node.src) {
    if (t == kNone) continue;
    out += ", " + std::string(name(graph.tensor(t).dtype)) + " " + join(graph.tensor(t).dims, "x");
  }
  return out + ")";
}

}  // namespace relayout::graph
