// Work: arithmetic and traffic of a node in given layouts, as a roofline wants them (internal to graph).
#pragma once

#include "relayout/graph/backend.h"

namespace relayout::graph {

struct Work {
  /// Multiplications and additions of the loops as they run: channels that are padded in the layouts count as there.
  double flops = 0;
  /// Bytes read and written, each operand once.
  double bytes = 0;
};
Work work_of(const Graph& graph, NodeId node, const Implementation& implementation);

}  // namespace relayout::graph
