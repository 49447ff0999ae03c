// The order in which variables are eliminated.
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "relayout/solve/elimination.h"

namespace relayout::solve {
namespace {

/// Chooses the order by the fill of each variable. If `weighted`, a missing edge counts as often as its two variables
/// have values together.
class MinFill {
 public:
  MinFill(const CostNetwork& network, bool weighted)
      : weighted_(weighted),
        neighbours_(network.sizes.size()),
        weight_(network.sizes.size()),
        key_(network.sizes.size()) {
    for (std::size_t v = 0; v < network.sizes.size(); ++v) weight_[v] = std::log2(network.sizes[v]);
    std::vector<bool> used(network.sizes.size(), false);
    for (const CostTable& table : network.tables) {
      for (int a : table.scope) {
        used[at(a)] = true;
        for (int b : table.scope) {
          if (a != b) connect(a, b);
        }
      }
    }
    for (std::size_t v = 0; v < used.size(); ++v) {
      if (used[v]) queue(static_cast<int>(v));
    }
  }

  std::vector<int> run() {
    std::vector<int> out;
    while (!queue_.empty()) {
      const auto [fill, weight, v] = *queue_.begin();
      queue_.erase(queue_.begin());
      out.push_back(v);
      entries += std::exp2(weight);
      eliminate(v);
    }
    return out;
  }

  /// Entries of all tables that the order makes.
  double entries = 0;

 private:
  /// A variable's fill, the logarithm of its table's number of entries, and the variable.
  using Key = std::tuple<double, double, int>;
  static std::size_t at(int v) { return static_cast<std::size_t>(v); }

  bool connected(int a, int b) const { return std::ranges::binary_search(neighbours_[at(a)], b); }

  bool connect(int a, int b) {
    std::vector<int>& of = neighbours_[at(a)];
    const auto placement = std::ranges::lower_bound(of, b);
    if (placement != of.end() && *placement == b) return false;
    of.insert(placement, b);
    return true;
  }

  void queue(int v) {
    const std::vector<int>& around = neighbours_[at(v)];
    double fill = 0, weight = weight_[at(v)];
    for (std::size_t i = 0; i < around.size(); ++i) {
      weight += weight_[at(around[i])];
      for (std::size_t j = i + 1; j < around.size(); ++j) {
        if (connected(around[i], around[j])) continue;
        fill += weighted_ ? std::exp2(weight_[at(around[i])] + weight_[at(around[j])]) : 1;
      }
    }
    key_[at(v)] = {fill, weight, v};
    queue_.insert(key_[at(v)]);
  }

  void eliminate(int v) {
    const std::vector<int> around = std::move(neighbours_[at(v)]);
    // The fill changes for the neighbours, and for the variables that are neighbours of both ends of a new edge.
    std::set<int> touched(around.begin(), around.end());
    for (int a : around) std::erase(neighbours_[at(a)], v);
    for (int a : around) {
      for (int b : around) {
        if (a == b || !connect(a, b) || a > b) continue;
        std::ranges::set_intersection(neighbours_[at(a)], neighbours_[at(b)], std::inserter(touched, touched.end()));
      }
    }
    for (int u : touched) {
      queue_.erase(key_[at(u)]);
      queue(u);
    }
  }

  bool weighted_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<double> weight_;
  std::vector<Key> key_;
  std::set<Key> queue_;
};

}  // namespace

std::vector<int> min_fill_order(const CostNetwork& network) {
  MinFill plain(network, false), weighted(network, true);
  std::vector<int> a = plain.run(), b = weighted.run();
  return plain.entries <= weighted.entries ? a : b;
}

}  // namespace relayout::solve
