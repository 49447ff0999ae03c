// Layout names: the layouts of a graph's tensors in the letters of the domain that each tensor is of.
//
//     const LayoutNames names(graph);
//     names.of(plan.copy(id));            // "nChw16c"; of depthwise weights "Goihw16g"; of an LSTM's "tnc", "ldigo"
#pragma once

#include <string>
#include <vector>

#include "relayout/graph/plan/layout_plan.h"

namespace relayout::graph {

/// Images are n c d h w, and weights of convolutions and inner products o i d h w, with groups g o i d h w. Data of
/// recurrent layers is t n c, their states l d n c, and their weights, biases and projections l d i g o, l d g o and
/// l d i o. A tensor between nodes that know no domain has that of its neighbours, as far as these keep its dims;
/// without any, one of four or five dims is an image, and all others have the letters a, b, c.
class LayoutNames {
 public:
  explicit LayoutNames(const Graph& graph);

  /// A layout of that tensor. One that has no name in its domain is as expression_of() says.
  std::string of(TensorId tensor, const Layout& layout, const std::optional<Opaque>& opaque = {}) const;
  std::string of(const Copy& copy) const { return of(copy.tensor, copy.layout, copy.opaque); }
  /// The name of the dense layout with the same order of digits: that of a copy that lies in the memory of another one,
  /// as a part of a concat's result does, without its strides. An opaque format has its name alone.
  std::string form(const Copy& copy) const;

 private:
  std::vector<std::string> letters_;  // by tensor; empty for a, b, c
};

}  // namespace relayout::graph
