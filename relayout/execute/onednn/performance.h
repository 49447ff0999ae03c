// Performance of oneDNN's implementations: how fast each family is, read from the implementation's name (internal to
// execute/onednn).
//
//     performance_of(graph, node, implementation).arithmetic      // 0.95 of "brgconv:avx512_core"
#pragma once

#include "relayout/graph/plan/backend.h"

namespace relayout::execute {

/// How fast one of the library's implementations is, in the layouts that it has.
graph::Performance performance_of(const graph::Node& node, const graph::Implementation& implementation);

}  // namespace relayout::execute
