// Work: how much arithmetic and memory traffic a node needs in given layouts, for roofline costs and for
// what a measured time can be at most (internal to the library).
#pragma once

#include <vector>

#include "relayout/graph/plan/backend.h"

namespace relayout::graph {

struct Work {
  /// Multiplications and additions that the implementation does. Taps that meet only padding are skipped and not
  /// counted; channels that fill up vectors and blocks are computed and counted.
  double flops = 0;
  /// Elements or products, those with padding included, as an implementation goes through them that takes one after the
  /// other (Performance::step_ns).
  double steps = 0;
  /// Elements of the first destination.
  double results = 0;
  /// Bytes read and written, each operand once; of the table of a gather, as many as it takes from it.
  double bytes = 0;
  /// Of these, the bytes of each source.
  std::vector<double> source_bytes{};
  /// Bytes written and read of the matrix into which a convolution unfolds its source
  /// (ConvolutionAlgorithm::unfolding); 0 if it multiplies the source as it is.
  double unfolded_bytes = 0;
  /// Bytes of Winograd's algorithm (ConvolutionAlgorithm::transforming) besides its operands: the tiles of the source
  /// and of the products, which are written and read, and the transformed weights, which are more than the weights.
  double transformed_bytes = 0;
  /// Bytes of the weights that a recurrent network reads at every time, and how often it reads them again.
  double repeated_bytes = 0, repeats = 0;
};
Work work_of(const Graph& graph, NodeId node, const Implementation& implementation, const Performance& performance);

}  // namespace relayout::graph
