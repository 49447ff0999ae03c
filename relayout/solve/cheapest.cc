// The cheapest assignments that differ in the operations' choices. Elimination passes on lists of the best sums instead
// of the best sum alone. If its tables would be too large, the problem is split into subproblems after each assignment.
#include <algorithm>
#include <set>
#include <string>

#include "relayout/solve/arborescences.h"
#include "relayout/solve/elimination.h"
#include "relayout/solve/index.h"

namespace relayout::solve {
namespace {

/// One of the best assignments of the variables below a bucket. `choices` is a 64-bit hash of what the operations among
/// them choose: entries with the same hash differ in tensors only.
struct BucketEntry {
  double cost = kImpossible;
  uint64_t choices = 0;
};

uint64_t hash_of(int variable, int value) {
  uint64_t h = (static_cast<uint64_t>(variable) << 32 | static_cast<uint32_t>(value)) + 0x9e3779b97f4a7c15;
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
  h = (h ^ h >> 27) * 0x94d049bb133111eb;
  return h ^ h >> 31;
}

/// The messages of an elimination, with lists of the `count` best sums instead of the least sum. Entries that are part
/// of no assignment below a given cost are left out.
class BestLists {
 public:
  BestLists(const CostNetwork& network, const Elimination& elimination, int operations, int count)
      : network_(network),
        elimination_(elimination),
        operations_(operations),
        count_(at(count)),
        values_(network.sizes.size(), 0),
        through_(elimination.buckets.size()),
        lists_(elimination.buckets.size()) {
    for (std::size_t b = 0; b < lists_.size(); ++b) {
      const Bucket& bucket = elimination.buckets[b];
      const bool root = bucket.parent < 0;
      through_[b].assign(bucket.message.values.size(), root ? elimination.bound : kImpossible);
      if (root) roots_.push_back(static_cast<int>(b));
    }
    for (std::size_t b = lists_.size(); b-- > 0;) send_back(b);
  }

  /// The operations' choices of the assignments that cost at most `most`, cheapest first; none if a limit is reached.
  std::vector<std::vector<int>> choices(double most, const Limits& limits) {
    most_ = most;
    pool_.assign(count_, BucketEntry{});
    for (std::size_t b = 0; b < lists_.size(); ++b) {
      if (limits.reached()) return {};
      make_lists(b);
    }
    traces_.clear();
    std::vector<Found> best = {{{0, 0}, 0, -1}};
    for (int root : roots_) best = joined(best, pool_.data() + lists_[at(root)][0]);
    const std::vector<Trace> traces = traces_;
    std::vector<std::vector<int>> out;
    for (const Found& found : best) {
      if (found.entry.cost + constant() > most) break;
      std::vector<std::size_t> rank(lists_.size(), 0);
      read(traces, found.trace, roots_, rank);
      for (std::size_t b = lists_.size(); b-- > 0;) {
        const Bucket& bucket = elimination_.buckets[b];
        find(bucket, index(bucket.message.scope));
        const Found chosen = found_[rank[b]];
        values_[at(bucket.variable)] = chosen.value;
        read(traces_, chosen.trace, bucket.received, rank);
      }
      out.emplace_back(values_.begin(), values_.begin() + operations_);
    }
    std::ranges::fill(values_, 0);
    return out;
  }

 private:
  struct Found {
    BucketEntry entry;
    int value = 0, trace = -1;
  };
  /// A chain of ranks: the rank of the entry that was taken from the last list joined, and the trace of those before
  /// it.
  struct Trace {
    std::size_t rank;
    int before;
  };

  static void read(const std::vector<Trace>& traces, int trace, const std::vector<int>& buckets,
                   std::vector<std::size_t>& rank) {
    for (std::size_t i = buckets.size(); i-- > 0; trace = traces[at(trace)].before) {
      rank[at(buckets[i])] = traces[at(trace)].rank;
    }
  }

  /// The sum of the tables that depend on no variable.
  double constant() const {
    double out = elimination_.bound;
    for (int root : roots_) out -= elimination_.buckets[at(root)].message.values[0];
    return out;
  }

  /// For each entry of the messages that bucket b received: finds the cost of the cheapest assignment that uses it.
  void send_back(std::size_t b) {
    const Bucket& bucket = elimination_.buckets[b];
    for (std::size_t i = 0; i < through_[b].size(); ++i, next(bucket.message.scope)) {
      if (through_[b][i] == kImpossible) continue;
      const double outside = through_[b][i] - bucket.message.values[i];
      add_up(bucket);
      for (std::size_t x = 0; x < sums_.size(); ++x) {
        if (sums_[x] == kImpossible) continue;
        values_[at(bucket.variable)] = static_cast<int>(x);
        for (int r : bucket.received) {
          double& least = through_[at(r)][index(elimination_.buckets[at(r)].message.scope)];
          least = std::min(least, sums_[x] + outside);
        }
      }
      values_[at(bucket.variable)] = 0;
    }
  }

  void make_lists(std::size_t b) {
    const Bucket& bucket = elimination_.buckets[b];
    // Index 0 stands for no list: the first list of the pool is empty.
    lists_[b].assign(through_[b].size(), 0);
    for (std::size_t i = 0; i < lists_[b].size(); ++i, next(bucket.message.scope)) {
      if (through_[b][i] == kImpossible || through_[b][i] > most_) continue;
      find(bucket, i);
      lists_[b][i] = pool_.size();
      pool_.resize(pool_.size() + count_);
      for (std::size_t r = 0; r < found_.size(); ++r) pool_[lists_[b][i] + r] = found_[r].entry;
    }
  }

  void next(const std::vector<int>& scope) {
    for (std::size_t d = scope.size(); d-- > 0;) {
      if (++values_[at(scope[d])] < network_.sizes[at(scope[d])]) return;
      values_[at(scope[d])] = 0;
    }
  }

  std::size_t index(const std::vector<int>& scope) const {
    std::size_t out = 0;
    for (int v : scope) out = out * at(network_.sizes[at(v)]) + at(values_[at(v)]);
    return out;
  }

  /// The best sums of one entry of each list, without those that cost over `slack` more than the best.
  std::vector<Found> joined(const std::vector<Found>& a, const BucketEntry* b, double slack = kImpossible) {
    std::vector<Found> out;
    if (a.empty() || b[0].cost == kImpossible) return out;
    const double most = a[0].entry.cost + b[0].cost + slack;
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; (i + 1) * (j + 1) <= count_; ++j) {
        if (b[j].cost == kImpossible || a[i].entry.cost + b[j].cost > most) break;
        traces_.push_back({j, a[i].trace});
        out.push_back({{a[i].entry.cost + b[j].cost, a[i].entry.choices + b[j].choices},
                       a[i].value,
                       static_cast<int>(traces_.size()) - 1});
        if (j + 1 == count_) break;
      }
    }
    cut(out);
    return out;
  }

  void cut(std::vector<Found>& list) const {
    std::ranges::stable_sort(list, {}, [](const Found& found) { return found.entry.cost; });
    if (list.size() > count_) list.resize(count_);
  }

  /// Adds up a bucket's tables and messages, for each value of its variable.
  void add_up(const Bucket& bucket) {
    values_[at(bucket.variable)] = 0;
    sums_.assign(at(network_.sizes[at(bucket.variable)]), 0);
    for (int t : bucket.tables) add(elimination_.tables[at(t)]);
    for (int r : bucket.received) add(elimination_.buckets[at(r)].message);
  }

  /// Finds the best entries of a bucket for the present values of its scope, which are at `entry` of its message. Sets
  /// found_ and traces_.
  void find(const Bucket& bucket, std::size_t entry) {
    const int v = bucket.variable;
    const double outside =
        through_[static_cast<std::size_t>(&bucket - elimination_.buckets.data())][entry] - bucket.message.values[entry];
    add_up(bucket);
    traces_.clear();
    found_.clear();
    order_.resize(sums_.size());
    for (std::size_t x = 0; x < order_.size(); ++x) order_[x] = static_cast<int>(x);
    std::ranges::stable_sort(order_, {}, [&](int x) { return sums_[at(x)]; });
    for (int x : order_) {
      const double least = sums_[at(x)];
      if (least == kImpossible || least + outside > most_ * (1 + 1e-9)) break;
      // Even the best entry of this value costs more than the last one that is kept.
      if (found_.size() == count_ && least > found_.back().entry.cost) break;
      values_[at(v)] = x;
      add_value(bucket, x);
    }
    values_[at(v)] = 0;
  }

  void add(const CostTable& table) {
    const double* row = table.values.data() + index(table.scope);
    for (std::size_t x = 0; x < sums_.size(); ++x) sums_[x] += row[x];
  }

  void add_value(const Bucket& bucket, int x) {
    double cost = 0;
    for (int t : bucket.tables) {
      const CostTable& table = elimination_.tables[at(t)];
      cost += table.values[index(table.scope)];
    }
    const bool operation = bucket.variable < operations_;
    std::vector<Found> best = {{{cost, operation ? hash_of(bucket.variable, x) : 0}, x, -1}};
    // Entries that cost more than the last one that is kept are dropped, with some room for rounding.
    const double slack =
        found_.size() < count_ ? kImpossible : (found_.back().entry.cost - sums_[at(x)]) + 1e-9 * sums_[at(x)];
    for (int r : bucket.received) {
      best = joined(best, pool_.data() + lists_[at(r)][index(elimination_.buckets[at(r)].message.scope)], slack);
    }
    for (const Found& candidate : best) {
      const auto same = std::ranges::find_if(
          found_, [&](const Found& other) { return !operation && other.entry.choices == candidate.entry.choices; });
      if (same == found_.end()) {
        found_.push_back(candidate);
      } else if (candidate.entry.cost < same->entry.cost) {
        *same = candidate;
      }
    }
    cut(found_);
  }

  const CostNetwork& network_;
  const Elimination& elimination_;
  int operations_;
  std::size_t count_;
  std::vector<int> values_;
  double most_ = kImpossible;
  // By bucket and entry of its message: the cost of the cheapest assignment through it, and where its list begins.
  std::vector<std::vector<double>> through_;
  std::vector<std::vector<std::size_t>> lists_;
  std::vector<BucketEntry> pool_;  // count_ entries for each list; unused ones, at its end, are impossible
  std::vector<int> roots_;
  std::vector<double> sums_;
  std::vector<int> order_;
  std::vector<Found> found_;
  std::vector<Trace> traces_;
};

/// A problem in which some operations must make a given choice, or must not make one.
struct Subproblem {
  LayoutProblem problem;
  Assignment best;
  double cost = kImpossible;
  /// The choices of operations before this one are fixed.
  std::size_t first = 0;
};
struct Dearer {
  bool operator()(const Subproblem& a, const Subproblem& b) const { return a.cost < b.cost; }
};

void forbid(ProblemOperation& op, int choice) { op.choices[at(choice)].cost = kImpossible; }

/// Lawler, "A procedure for computing the k best solutions to discrete optimization problems", 1972: all assignments
/// but the best one are divided into subproblems by the first operation that chooses differently.
std::vector<Assignment> by_subproblems(const LayoutProblem& problem, int count, const Limits& limits) {
  std::multiset<Subproblem, Dearer> subproblems;
  std::vector<Assignment> out;
  const auto add = [&](LayoutProblem rest, std::size_t first) {
    try {
      Solution best = solve(rest, limits.rest());
      // If the solver was stopped, its result need not be the cheapest of the subproblem.
      if (best.optimal) subproblems.insert({std::move(rest), std::move(best.assignment), best.cost, first});
    } catch (const Infeasible&) {  // this subproblem has no assignment
    }
    // Only as many as are still to be returned are kept.
    if (subproblems.size() > at(count) - out.size()) subproblems.erase(std::prev(subproblems.end()));
  };
  add(problem, 0);
  while (!subproblems.empty() && !limits.reached()) {
    Subproblem next = std::move(subproblems.extract(subproblems.begin()).value());
    out.push_back(next.best);
    if (out.size() == at(count)) break;
    for (std::size_t o = next.first; o < problem.operations.size() && !limits.reached(); ++o) {
      const int chosen = next.best.choice[o];
      LayoutProblem rest = next.problem;
      forbid(rest.operations[o], chosen);
      add(std::move(rest), o);
      for (std::size_t c = 0; c < problem.operations[o].choices.size(); ++c) {
        if (static_cast<int>(c) != chosen) forbid(next.problem.operations[o], static_cast<int>(c));
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Assignment> cheapest(const LayoutProblem& problem, int count, const SolveOptions& options) {
  if (count < 1) {
    throw std::invalid_argument("assign: " + std::to_string(count) + " cheapest assignments: at least 1");
  }
  const Limits limits(options);
  const EncodedProblem encoded = encode(problem);
  const std::vector<int> order = min_fill_order(encoded.network);
  const Elimination elimination = eliminate(encoded.network, order, options.table_budget);
  if (elimination.bound == kImpossible) {
    throw Infeasible(problem.operations.size());
  }
  if (elimination.buckets.size() > order.size()) return by_subproblems(problem, count, limits);
  const int operations = static_cast<int>(problem.operations.size());
  BestLists lists(encoded.network, elimination, operations, count);
  // Few entries are part of assignments near the optimum. So several attempts with a growing limit on the cost take
  // less time than one without a limit.
  std::vector<std::vector<int>> choices;
  double margin = 1e-4;
  for (; choices.size() < at(count) && !limits.reached(); margin *= 8) {
    const bool all = margin >= 1e3;
    auto found = lists.choices(all ? kImpossible : (elimination.bound + 1e-3) * (1 + margin), limits);
    if (!found.empty()) choices = std::move(found);
    if (all) break;
  }
  std::vector<Assignment> out;
  for (std::vector<int>& choice : choices) out.push_back(assignment_of(problem, std::move(choice)));
  return out;
}

}  // namespace relayout::solve
