// Alternatives: everything that the planner may choose from, for each node and each tensor of a graph (internal to
// graph).
//
// Layouts are numbers of a CandidateFinder's table. A tensor has one placement for each layout that an implementation
// of its producer or of one of its readers names, and one more for each concat whose destination it can be a part of.
#pragma once

#include "relayout/graph/optimize/candidates.h"

namespace relayout::graph {

/// A Placement (optimize.h) whose layout is a number.
struct NumberedPlacement {
  int layout = kNone;
  NodeId part_of = kNone;
  int part_of_placement = 0;
};

/// An implementation that a node may use.
struct ImplementationAlternative {
  Candidate candidate;
  /// Of a backward node: the candidates of its forward node with which this one is possible; empty means all of them.
  std::vector<const Candidate*> forward;
};

/// A view node that costs nothing: from one layout of its source to one layout of its destination.
struct ViewAlternative {
  int src = 0, dst = 0;
};

/// A concat that moves no data, because each source is written into the destination's memory: the index of the
/// destination's placement, and of each source's placement in it.
struct ConcatAlternative {
  int dst = 0;
  std::vector<int> src;
};

struct Alternatives {
  std::vector<std::vector<NumberedPlacement>> placements;               // by tensor
  std::vector<std::vector<ImplementationAlternative>> implementations;  // this and the next two by node
  std::vector<std::vector<ViewAlternative>> views;
  std::vector<std::vector<ConcatAlternative>> concats;
  /// How many layouts of tensors, and concats that move no data, were left out because of limits on sizes.
  std::size_t left_out = 0;

  /// The index of the tensor's placement in that layout, as a part of that concat or (kNone) in memory of its own;
  /// kNone if the tensor has no such placement.
  int placement(TensorId tensor, int layout, NodeId part_of = kNone) const;
};

/// Throws Error{unsupported} if no implementation can run some node; the message names the node and its operands.
Alternatives collect_alternatives(const Graph& graph, const Backend& backend, const OptimizeOptions& options,
                                  CandidateFinder& finder);

}  // namespace relayout::graph
