// Layered drawings: layers, bends, order, places, lines.
#include "relayout/show/layered.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "relayout/core/error.h"
#include "relayout/show/drawing.h"
#include "relayout/show/index.h"
#include "relayout/show/layered_order.h"

namespace relayout::show {
namespace {

constexpr double kBetweenLayers = 34, kBetweenBoxes = 22, kBendWidth = 4, kAround = 16;
constexpr std::size_t kMostBends = 40;
constexpr int kPlacings = 8;

[[noreturn]] void wrong(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "layered drawing: " + what, "edges");
}

class Drawer {
 public:
  Drawer(const std::vector<LayeredNode>& nodes, const std::vector<LayeredEdge>& edges) : nodes_(nodes), edges_(edges) {}

  Layered draw() {
    check();
    find_layers();
    add_bends();
    order_layers(order_);
    place();
    return result();
  }

 private:
  void check() const {
    std::map<int, int> starts;
    const auto count = static_cast<int>(nodes_.size());
    for (const LayeredEdge& edge : edges_) {
      if (edge.from < 0 || edge.from >= count || edge.to < 0 || edge.to >= count || edge.from == edge.to) {
        wrong("an edge from node " + std::to_string(edge.from) + " to node " + std::to_string(edge.to) +
              "; nodes are two of 0 to " + std::to_string(count - 1));
      }
      const int start = starts.try_emplace(edge.net, edge.from).first->second;
      if (start != edge.from) {
        wrong("net " + std::to_string(edge.net) + " starts at node " + std::to_string(start) + " and at node " +
              std::to_string(edge.from));
      }
    }
  }

  /// The layer behind the last predecessor; what has none is in the layer before its first reader.
  void find_layers() {
    std::vector<std::vector<int>> below(nodes_.size());
    std::vector<int> missing(nodes_.size()), ready;
    for (const LayeredEdge& edge : edges_) {
      below[at(edge.from)].push_back(edge.to);
      ++missing[at(edge.to)];
    }
    layer_.assign(nodes_.size(), 0);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (missing[n] == 0) ready.push_back(static_cast<int>(n));
    }
    const std::size_t sources = ready.size();
    for (std::size_t next = 0; next < ready.size(); ++next) {
      for (const int to : below[at(ready[next])]) {
        layer_[at(to)] = std::max(layer_[at(to)], layer_[at(ready[next])] + 1);
        if (--missing[at(to)] == 0) ready.push_back(to);
      }
    }
    if (ready.size() < nodes_.size()) wrong("edges close a circle");
    for (std::size_t s = 0; s < sources; ++s) {
      int first = std::numeric_limits<int>::max();
      for (const int to : below[at(ready[s])]) first = std::min(first, layer_[at(to)]);
      if (first != std::numeric_limits<int>::max()) layer_[at(ready[s])] = first - 1;
    }
  }

  /// Items are the nodes, and behind them a bend for each layer that a net passes.
  void add_bends() {
    std::map<int, int> last;  // of each net, the last layer that it reaches
    for (const LayeredEdge& edge : edges_) {
      int& end = last.try_emplace(edge.net, layer_[at(edge.from)]).first->second;
      end = std::max(end, layer_[at(edge.to)]);
    }
    std::map<int, int> from;
    for (const LayeredEdge& edge : edges_) from[edge.net] = edge.from;
    std::map<int, std::size_t> passed;  // by all lines of each net together
    for (const LayeredEdge& edge : edges_) passed[edge.net] += at(layer_[at(edge.to)] - layer_[at(edge.from)] - 1);
    std::vector<std::pair<std::size_t, int>> spans;
    for (const auto& [net, layers] : passed) spans.emplace_back(layers, net);
    std::ranges::sort(spans);
    order_.items.resize(nodes_.size());
    for (std::size_t n = 0; n < nodes_.size(); ++n) order_.items[n].layer = layer_[n];
    std::size_t room = kMostBends * (nodes_.size() + edges_.size());
    for (const auto& [layers, net] : spans) {
      if (layers == 0 || layers > room) continue;
      room -= layers;
      std::vector<int>& bends = bends_[net];
      int above = from[net];
      for (int layer = layer_[at(from[net])] + 1; layer < last[net]; ++layer) {
        bends.push_back(static_cast<int>(order_.items.size()));
        order_.items.push_back({.layer = layer, .bend = true});
        join(above, bends.back());
        above = bends.back();
      }
    }
    for (const LayeredEdge& edge : edges_) {
      const int between = layer_[at(edge.to)] - layer_[at(edge.from)] - 1;
      if (between == 0) join(edge.from, edge.to);
      if (between > 0 && bends_.contains(edge.net)) join(bends_[edge.net][at(between - 1)], edge.to);
    }
  }

  void join(int above, int below) {
    order_.items[at(above)].below.push_back(below);
    order_.items[at(below)].above.push_back(above);
  }

  /// Long lines are straight before anything else is.
  double weight(int item) const {
    const LayerItem& of = order_.items[at(item)];
    if (!of.bend) return nodes_[at(item)].weight;
    return order_.items[at(of.above.front())].bend || order_.items[at(of.below.front())].bend ? 4 : 1;
  }

  double width(int item) const { return at(item) < nodes_.size() ? nodes_[at(item)].width : kBendWidth; }

  /// Moves all of a layer as near to the wished centres as the order and the room between boxes allow, by least
  /// squares: neighbours that want to be in the same place form a group, whose place is the mean of what they want.
  void settle(const std::vector<int>& layer, const std::vector<double>& wished) {
    struct Group {
      double sum, weight;
      std::size_t count;
    };
    std::vector<double> shift(layer.size(), 0);
    for (std::size_t i = 1; i < layer.size(); ++i) {
      const bool bends = order_.items[at(layer[i])].bend && order_.items[at(layer[i - 1])].bend;
      shift[i] =
          shift[i - 1] + (width(layer[i - 1]) + width(layer[i])) / 2 + (bends ? kBetweenBoxes / 2 : kBetweenBoxes);
    }
    std::vector<Group> groups;
    for (std::size_t i = 0; i < layer.size(); ++i) {
      groups.push_back({weight(layer[i]) * (wished[i] - shift[i]), weight(layer[i]), 1});
      while (groups.size() > 1) {
        const Group last = groups.back();
        Group& before = groups[groups.size() - 2];
        if (before.sum / before.weight < last.sum / last.weight) break;
        before = {before.sum + last.sum, before.weight + last.weight, before.count + last.count};
        groups.pop_back();
      }
    }
    std::size_t i = 0;
    for (const Group& group : groups) {
      for (std::size_t k = 0; k < group.count; ++k, ++i) x_[at(layer[i])] = group.sum / group.weight + shift[i];
    }
  }

  double mean(const std::vector<int>& items, double otherwise) const {
    if (items.empty()) return otherwise;
    double sum = 0, weights = 0;
    for (const int item : items) {
      sum += weight(item) * x_[at(item)];
      weights += weight(item);
    }
    return sum / weights;
  }

  void place() {
    x_.assign(order_.items.size(), 0);
    const std::size_t layers = order_.layers.size();
    for (const std::vector<int>& layer : order_.layers) settle(layer, std::vector<double>(layer.size(), 0));
    const auto sweep = [&](std::size_t l, auto&& wish) {
      std::vector<double> wished;
      for (const int item : order_.layers[l]) wished.push_back(wish(item));
      settle(order_.layers[l], wished);
    };
    const auto from_above = [&](int i) { return mean(order_.items[at(i)].above, x_[at(i)]); };
    const auto from_below = [&](int i) { return mean(order_.items[at(i)].below, x_[at(i)]); };
    for (int turn = 0; turn < kPlacings; ++turn) {
      for (std::size_t l = 0; l < layers; ++l) sweep(l, from_above);
      for (std::size_t l = layers; l-- > 0;) sweep(l, from_below);
    }
    for (std::size_t l = 0; l < layers; ++l) {
      sweep(l, [&](int i) { return (from_above(i) + from_below(i)) / 2; });
    }
  }

  Layered result() {
    Layered out;
    double left = std::numeric_limits<double>::max(), right = std::numeric_limits<double>::lowest();
    for (std::size_t i = 0; i < x_.size(); ++i) {
      left = std::min(left, x_[i] - width(static_cast<int>(i)) / 2);
      right = std::max(right, x_[i] + width(static_cast<int>(i)) / 2);
    }
    for (double& x : x_) x += kAround - left;
    double y = kAround;
    for (const std::vector<int>& layer : order_.layers) {
      double height = 0;
      for (const int item : layer) height = std::max(height, at(item) < nodes_.size() ? nodes_[at(item)].height : 0);
      top_.push_back(y);
      bottom_.push_back(y + height);
      y += height + kBetweenLayers;
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const std::size_t l = at(layer_[n]);
      out.nodes.push_back({std::round(x_[n] - nodes_[n].width / 2), (top_[l] + bottom_[l] - nodes_[n].height) / 2});
    }
    out.width = nodes_.empty() ? 2 * kAround : right - left + 2 * kAround;
    out.height = nodes_.empty() ? 2 * kAround : bottom_.back() + kAround;
    add_lines(out);
    return out;
  }

  /// The mean of some places.
  struct Mean {
    double sum = 0;
    int count = 0;
    void add(double x) { sum += x, ++count; }
    double value() const { return sum / count; }
  };

  /// Where lines touch a box: places spread over its width, in the order of where lines come from or go to.
  std::map<int, double> spread(const Layered& out, std::size_t n, const std::map<int, Mean>& wished) const {
    std::vector<std::pair<double, int>> order;
    for (const auto& [key, mean] : wished) order.emplace_back(mean.value(), key);
    std::ranges::sort(order);
    std::map<int, double> places;
    for (std::size_t k = 0; k < order.size(); ++k) {
      places[order[k].second] =
          out.nodes[n].x + nodes_[n].width * static_cast<double>(k + 1) / static_cast<double>(order.size() + 1);
    }
    return places;
  }

  /// Ports of their own have negative numbers.
  int port_of(std::size_t edge) const {
    return edges_[edge].port >= 0 ? edges_[edge].port : -1 - static_cast<int>(edge);
  }

  void add_lines(Layered& out) const {
    std::vector<std::map<int, Mean>> in(nodes_.size()), leaving(nodes_.size());
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      const LayeredEdge& edge = edges_[e];
      const std::vector<int> way = bends_of(edge);
      in[at(edge.to)][port_of(e)].add(x_[at(way.empty() ? edge.from : way.back())]);
      leaving[at(edge.from)][edge.net].add(x_[at(way.empty() ? edge.to : way.front())]);
    }
    std::vector<std::map<int, double>> ends, starts;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      ends.push_back(spread(out, n, in[n]));
      starts.push_back(spread(out, n, leaving[n]));
    }
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      const LayeredEdge& edge = edges_[e];
      out.lines.push_back(line_of(out, edge, starts[at(edge.from)].at(edge.net), ends[at(edge.to)].at(port_of(e))));
    }
  }

  std::vector<int> bends_of(const LayeredEdge& edge) const {
    const auto found = bends_.find(edge.net);
    if (found == bends_.end()) return {};
    const int passed = layer_[at(edge.to)] - layer_[at(edge.from)] - 1;
    return {found->second.begin(), found->second.begin() + passed};
  }

  std::vector<DrawnPoint> line_of(const Layered& out, const LayeredEdge& edge, double start, double end) const {
    const std::size_t from = at(edge.from), to = at(edge.to);
    std::vector<DrawnPoint> line = {{start, out.nodes[from].y + nodes_[from].height},
                                    {start, bottom_[at(layer_[from])]}};
    for (const int bend : bends_of(edge)) {
      const std::size_t l = at(order_.items[at(bend)].layer);
      line.push_back({x_[at(bend)], top_[l]});
      line.push_back({x_[at(bend)], bottom_[l]});
    }
    line.push_back({end, top_[at(layer_[to])]});
    line.push_back({end, out.nodes[to].y});
    return line;
  }

  const std::vector<LayeredNode>& nodes_;
  const std::vector<LayeredEdge>& edges_;
  std::vector<int> layer_;
  LayerOrder order_;
  std::map<int, std::vector<int>> bends_;  // of each net that has any, from the upper to the lower
  std::vector<double> x_;                  // centres of items
  std::vector<double> top_, bottom_;       // of layers
};

}  // namespace

Layered layered(const std::vector<LayeredNode>& nodes, const std::vector<LayeredEdge>& edges) {
  return Drawer(nodes, edges).draw();
}

std::string curved_path(const std::vector<DrawnPoint>& line) {
  if (line.empty()) return "";
  std::string out = "M" + point(line[0].x) + " " + point(line[0].y);
  for (std::size_t i = 1; i < line.size(); ++i) {
    const DrawnPoint &a = line[i - 1], &b = line[i];
    if (i % 2 == 1 || a.x == b.x) {
      out += "V" + point(b.y);
      continue;
    }
    const std::string middle = point((a.y + b.y) / 2);
    out += "C" + point(a.x) + " " + middle + " " + point(b.x) + " " + middle + " " + point(b.x) + " " + point(b.y);
  }
  return out;
}

}  // namespace relayout::show
