// Orders of layers by barycentres.
#include "relayout/show/layered_order.h"

#include <algorithm>

#include "relayout/show/index.h"

namespace relayout::show {
namespace {

constexpr int kTurns = 10;

/// Places of items in their layers.
std::vector<int> places(const LayerOrder& order) {
  std::vector<int> out(order.items.size());
  for (const std::vector<int>& layer : order.layers) {
    for (std::size_t k = 0; k < layer.size(); ++k) out[at(layer[k])] = static_cast<int>(k);
  }
  return out;
}

/// As a walk in depth meets items: what belongs together stands side by side.
void walk_down(LayerOrder& order) {
  int layers = 0;
  for (const LayerItem& item : order.items) layers = std::max(layers, item.layer + 1);
  order.layers.assign(at(layers), {});
  std::vector<bool> seen(order.items.size());
  std::vector<int> left;
  for (std::size_t i = order.items.size(); i-- > 0;) {
    if (order.items[i].above.empty()) left.push_back(static_cast<int>(i));
  }
  while (!left.empty()) {
    const int item = left.back();
    left.pop_back();
    if (seen[at(item)]) continue;
    seen[at(item)] = true;
    const LayerItem& met = order.items[at(item)];
    order.layers[at(met.layer)].push_back(item);
    for (std::size_t k = met.below.size(); k-- > 0;) left.push_back(met.below[k]);
  }
}

void sort_layer(const LayerOrder& order, std::vector<int>& layer, std::vector<int>& place, bool from_above) {
  std::vector<std::pair<double, int>> keys;
  for (const int item : layer) {
    const std::vector<int>& next = from_above ? order.items[at(item)].above : order.items[at(item)].below;
    double sum = 0;
    for (const int other : next) sum += place[at(other)];
    keys.emplace_back(next.empty() ? place[at(item)] : sum / static_cast<double>(next.size()), item);
  }
  std::ranges::stable_sort(keys, {}, &std::pair<double, int>::first);
  for (std::size_t k = 0; k < layer.size(); ++k) {
    layer[k] = keys[k].second;
    place[at(layer[k])] = static_cast<int>(k);
  }
}

/// Pairs (a, b) of a list with a before b and a > b, counted by a tree of sums (Fenwick 1994).
long long inversions(const std::vector<int>& list, int end) {
  std::vector<int> tree(at(end) + 1, 0);
  long long out = 0;
  for (std::size_t k = 0; k < list.size(); ++k) {
    int not_larger = 0;
    for (int i = list[k] + 1; i > 0; i -= i & -i) not_larger += tree[at(i)];
    out += static_cast<long long>(k) - not_larger;
    for (int i = list[k] + 1; i <= end; i += i & -i) ++tree[at(i)];
  }
  return out;
}

}  // namespace

long long crossings(const LayerOrder& order) {
  const std::vector<int> place = places(order);
  long long out = 0;
  for (std::size_t l = 0; l + 1 < order.layers.size(); ++l) {
    std::vector<int> ends;
    for (const int item : order.layers[l]) {
      std::vector<int> below;
      for (const int to : order.items[at(item)].below) below.push_back(place[at(to)]);
      std::ranges::sort(below);
      ends.insert(ends.end(), below.begin(), below.end());
    }
    out += inversions(ends, static_cast<int>(order.layers[l + 1].size()));
  }
  return out;
}

void order_layers(LayerOrder& order) {
  walk_down(order);
  std::vector<std::vector<int>> best = order.layers;
  long long fewest = crossings(order);
  std::vector<int> place = places(order);
  for (int turn = 0; turn < kTurns && fewest > 0; ++turn) {
    for (std::size_t l = 1; l < order.layers.size(); ++l) sort_layer(order, order.layers[l], place, true);
    for (std::size_t l = order.layers.size(); l-- > 1;) sort_layer(order, order.layers[l - 1], place, false);
    const long long found = crossings(order);
    if (found >= fewest) continue;
    fewest = found;
    best = order.layers;
  }
  order.layers = best;
}

}  // namespace relayout::show
