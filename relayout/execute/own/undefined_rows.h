// Undefined rows: softmax of a row with NaN or infinity, or of minus infinity alone, is NaN throughout; or 0 for minus
// infinity alone, where the node says so (internal to execute).
//
// oneDNN's kernels give numbers for some of them. The source is searched before a run, which brings it into the caches,
// and where such a row may be, the rows are looked at one by one afterwards.
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

class UndefinedRows {
 public:
  /// Whether a node may have such rows: softmax forward of floating types.
  static bool concern(const graph::Graph& graph, const graph::Node& node);

  UndefinedRows(const graph::Graph& graph, const graph::Node& node, const Layout& src, const Layout& dst);

  /// Whether the source may have such rows.
  bool may_be_in(const void* src) const;
  /// Writes NaN or 0 to them.
  void run(const void* src, void* dst) const;

 private:
  /// Calls f(indices of the first element) for each row, as long as it returns true.
  template <typename F>
  void each_row(F&& f) const;
  float value(const void* src, const Dims& at) const;

  DType dtype_;
  int axis_;
  float masked_;
  Layout src_, dst_;
};

}  // namespace relayout::execute
