// Offers: what there is to choose from for each node and tensor of a graph, as numbers (internal to graph).
//
// Layouts are the numbers of a WayFinder's table. A tensor has a place for each layout that a way of its producer or a
// reader names, and one for each part of a concat that it can be.
#pragma once

#include "relayout/graph/optimize/ways.h"

namespace relayout::graph {

struct NumberedPlace {
  int layout = kNone;
  NodeId part_of = kNone;
  int part_of_place = 0;
};

/// A way of a node with the forward ways that it goes with; none are all of them.
struct Offer {
  Way way;
  std::vector<const Way*> forward;
};

/// A view node from one layout of its source to one of its destination.
struct ViewOffer {
  int src = 0, dst = 0;
};

/// A concat that moves nothing: the place of its destination, and that of each source in it.
struct PartsOffer {
  int whole = 0;
  std::vector<int> parts;
};

struct Offers {
  std::vector<std::vector<NumberedPlace>> places;  // by tensor
  std::vector<std::vector<Offer>> ways;            // these by node
  std::vector<std::vector<ViewOffer>> views;
  std::vector<std::vector<PartsOffer>> parts;
  /// Layouts of tensors, and ways of concats to move nothing, that there was no room for.
  std::size_t left_out = 0;

  /// The place of a tensor in that layout, as a part of that concat or (kNone) by itself; kNone where there is none.
  int place(TensorId tensor, int layout, NodeId part_of = kNone) const;
};

/// Error{unsupported}: a node that no way runs, named with its operands.
Offers collect_offers(const Graph& graph, const Backend& backend, const OptimizeOptions& options, WayFinder& finder);

/// A node's kind, name, pass and sources, for errors.
std::string described(const Graph& graph, const Node& node);

}  // namespace relayout::graph
