// Depth-first branch and bound over the variables, guided by the messages of an elimination.
#include <algorithm>

#include "relayout/solve/elimination.h"
#include "relayout/solve/index.h"

namespace relayout::solve {
namespace {

/// Costs that differ by a smaller share than this are equal but for rounding.
constexpr double kRounding = 1e-11;

class Search {
 public:
  Search(const CostNetwork& network, const Elimination& elimination, const SolveOptions& options)
      : network_(network), elimination_(elimination), limits_(options) {
    values_.assign(network.sizes.size(), 0);
    for (std::size_t b = elimination.buckets.size(); b > 0;) {
      const std::size_t last = b;
      while (b > 0 && elimination.buckets[b - 1].variable == elimination.buckets[last - 1].variable) --b;
      levels_.push_back({b, last});
    }
    open_.resize(levels_.size());
  }

  SearchResult run(SearchResult out) {
    if (levels_.empty()) return {values_, elimination_.bound, elimination_.bound, true};
    std::size_t level = 0;
    bool returned = false;
    for (int64_t step = 0;; ++step) {
      if (out.cost != kImpossible && step % 64 == 0 && limits_.reached()) {
        out.lower_bound = std::min(out.cost, least_open(level));
        return out;
      }
      if (level == levels_.size()) {
        out.values = values_;
        out.cost = bound(level);
        --level;
        returned = true;
        continue;
      }
      if (!returned) expand(level);
      std::vector<Branch>& open = open_[level];
      // On return to a level, the branch that was taken there is the first one of the list.
      if (returned) open.erase(open.begin());
      returned = open.empty() || open[0].bound * (1 + kRounding) >= out.cost;
      if (!returned) {
        values_[at(variable(level))] = open[0].value;
        ++level;
      } else if (level-- == 0) {
        break;
      }
    }
    out.lower_bound = out.cost;
    out.complete = true;
    return out;
  }

 private:
  struct Branch {
    double bound;
    int value;
  };
  struct Level {
    std::size_t first, last;  // buckets
  };

  int variable(std::size_t level) const { return elimination_.buckets[levels_[level].first].variable; }

  /// The entries of a table along its last dimension, at the values of the others.
  const double* row(const CostTable& table) const {
    std::size_t index = 0;
    for (int v : table.scope) index = index * at(network_.sizes[at(v)]) + at(values_[at(v)]);
    return table.values.data() + index - values_[at(table.scope.back())];
  }

  /// Lists the values of a level's variable by a lower bound of what their best completion costs: the bound so far,
  /// with the messages that the variable's buckets sent replaced by the tables in these buckets.
  void expand(std::size_t level) {
    std::vector<Branch>& open = open_[level];
    const double so_far = bound(level);
    const int v = variable(level);
    values_[at(v)] = 0;
    std::vector<double> sum(at(network_.sizes[at(v)]), 0);
    double sent = 0;
    for (std::size_t b = levels_[level].first; b < levels_[level].last; ++b) {
      const Bucket& bucket = elimination_.buckets[b];
      const auto add = [&](const CostTable& table) {
        const double* values = row(table);
        for (std::size_t x = 0; x < sum.size(); ++x) sum[x] += values[x];
      };
      for (int t : bucket.tables) add(elimination_.tables[at(t)]);
      for (int r : bucket.received) add(elimination_.buckets[at(r)].message);
      std::size_t index = 0;
      for (int u : bucket.message.scope) index = index * at(network_.sizes[at(u)]) + at(values_[at(u)]);
      sent += bucket.message.values[index];
    }
    open.clear();
    for (std::size_t x = 0; x < sum.size(); ++x) {
      if (sum[x] != kImpossible) open.push_back({so_far + std::max(0.0, sum[x] - sent), static_cast<int>(x)});
    }
    std::ranges::stable_sort(open, {}, &Branch::bound);
  }

  /// The lower bound of the branches that were taken before a level.
  double bound(std::size_t level) const { return level == 0 ? elimination_.bound : open_[level - 1][0].bound; }

  /// The least bound of all branches that are not finished: no assignment among them costs less.
  double least_open(std::size_t level) const {
    double out = bound(level);
    for (std::size_t l = 0; l < level; ++l) {
      if (open_[l].size() > 1) out = std::min(out, open_[l][1].bound);
    }
    return out;
  }

  const CostNetwork& network_;
  const Elimination& elimination_;
  const Limits limits_;
  std::vector<int> values_;
  std::vector<Level> levels_;
  std::vector<std::vector<Branch>> open_;
};

}  // namespace

SearchResult search(const CostNetwork& network, const Elimination& elimination, const SolveOptions& options,
                    SearchResult first) {
  return Search(network, elimination, options).run(std::move(first));
}

}  // namespace relayout::solve
