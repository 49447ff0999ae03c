// Layered drawings of directed graphs: where boxes and lines go, so that lines run downwards and cross no box.
//
// In the way of Sugiyama, Tagawa and Toda (1981): each node is in the layer behind its last predecessor; a line that
// passes layers has a bend in each of them, which keeps room as a narrow box would; the order in a layer is that of the
// mean places of the neighbours, in turns from above and from below, and the order with the fewest crossings counts;
// then all that is in a layer goes as near to its neighbours as its room lets it.
//
//     Layered drawn = layered({{200, 50}, {200, 50}}, {{.from = 0, .to = 1}});
//     drawn.nodes[1].y;          // below node 0
//     drawn.lines[0];            // from the lower edge of node 0 to the upper edge of node 1
#pragma once

#include <string>
#include <vector>

#include "relayout/cxx20.h"

namespace relayout::show {

struct LayeredNode {
  double width = 0, height = 0;
  /// How much it counts where neighbours are put above each other; what counts little stands beside straight lines.
  double weight = 1;
};

/// Edges of one net start at one place of one node and share their bends, as the readers of one tensor do. Those that
/// end at one port of a node end at one place; -1 is a port of its own.
struct LayeredEdge {
  int from = 0, to = 0;
  int net = 0;
  int port = -1;
};

struct DrawnPoint {
  double x = 0, y = 0;
};

struct Layered {
  /// The upper left corner of each node.
  std::vector<DrawnPoint> nodes;
  /// Of each edge an even number of points: from an even one to the next the line is straight down, inside a layer;
  /// from an odd one to the next it may turn, between two layers.
  std::vector<std::vector<DrawnPoint>> lines;
  double width = 0, height = 0;
};

/// Memory and time grow with nodes and edges: where lines pass more than 40 layers for each of these, those of the
/// longest nets have no bends and may lie under boxes. Half a thousand nodes take some milliseconds. Errors:
/// invalid_argument where an edge names no node, joins a node to itself or closes a circle, or where a net starts at
/// two nodes.
Layered layered(const std::vector<LayeredNode>& nodes, const std::vector<LayeredEdge>& edges);

/// A line of Layered as a path in SVG's language, which turns in curves.
std::string curved_path(const std::vector<DrawnPoint>& line);

}  // namespace relayout::show
