// Least windows: what max pooling gives where no element of a window is larger than the least finite number (internal
// to execute).
//
// oneDNN's max pooling begins each window with that number, so it remains where all elements are NaN or minus infinity.
// After a run the destination is searched for it, which reads what was just written, and such windows are computed
// anew: minus infinity, or NaN if there is nothing else.
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

class LeastWindows {
 public:
  /// Whether a node may need it: max pooling of floating types.
  static bool concern(const graph::Graph& graph, const graph::Node& node);

  LeastWindows(const graph::Graph& graph, const graph::Node& node, const Layout& src, const Layout& dst);

  /// Corrects the destination of a run over this source.
  void run(const void* src, void* dst) const;

 private:
  float value_of(const std::byte* src, const Dims& at) const;

  DType dtype_;
  Layout src_, dst_;
  graph::PoolingAttributes window_;
};

}  // namespace relayout::execute
