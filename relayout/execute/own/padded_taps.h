// Padded taps: the padding of a convolution's source is zeros, and a weight of infinity or NaN times zero is NaN
// (internal to execute).
//
// Kernels differ in which zeros they multiply: some leave the padding out. Weights are searched for such values, those
// of constants once, others before each run; where there are any, the elements whose windows put them on padding become
// NaN afterwards.
#pragma once

#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

class PaddedTaps {
 public:
  /// Whether a node may need it: convolution of inference, of floating types, some window of which reaches padding.
  static bool concern(const graph::Graph& graph, const graph::Node& node);

  /// Constant weights are read from the graph; the layout of others is `weights`.
  PaddedTaps(const graph::Graph& graph, const graph::Node& node, const Layout& weights, const Layout& dst);

  /// Corrects the destination of a run with these weights.
  void run(const void* weights, void* dst) const;

 private:
  /// A channel of the destination and a point of its kernel whose weight is no finite number.
  struct Tap {
    int64_t channel;
    Dims point;
    friend bool operator==(const Tap&, const Tap&) = default;
  };
  std::vector<Tap> found_in(const void* weights) const;
  /// Writes NaN where the tap meets padding.
  void run(const Tap& tap, void* dst) const;

  bool constant_;
  DType weights_dtype_, dtype_;
  Dims src_;
  Layout weights_, dst_;
  graph::ConvolutionAttributes window_;
  std::vector<Tap> constant_taps_{};
};

}  // namespace relayout::execute
