// Work: arithmetic and traffic of a node in given layouts, as a roofline wants them (internal to graph).
#pragma once

#include "relayout/graph/plan/backend.h"

namespace relayout::graph {

struct Work {
  /// Multiplications and additions as kernels do them: without the taps that only meet padding, but with the channels
  /// that fill up vectors and blocks.
  double flops = 0;
  /// Bytes read and written, each operand once.
  double bytes = 0;
  /// Bytes of the matrix that a convolution by GEMM unfolds its source to, written and read; 0 where it takes the
  /// source as it is.
  double unfolded_bytes = 0;
};
Work work_of(const Graph& graph, NodeId node, const Implementation& implementation, const Performance& performance);

}  // namespace relayout::graph
