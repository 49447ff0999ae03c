// Computes what a plan costs, and a bound that no plan costs less than: check_proof.h says why that is a proof.
#include "tools/checking/check_proof.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "relayout/core/error.h"

namespace relayout::tools::proof {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxGroups = 64, kMaxValues = std::size_t{1} << 16, kMaxEntries = std::size_t{1} << 24;
/// Additions and comparisons in all: some seconds.
constexpr uint64_t kMaxSteps = uint64_t{1} << 30;

std::size_t at(int i) { return static_cast<std::size_t>(i); }
std::string named(const char* list, std::size_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; }
bool contains(const std::vector<int>& list, int value) { return std::ranges::find(list, value) != list.end(); }

[[noreturn]] void wrong(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::corrupt, "certificate." + where + ": " + what, "certificate." + where);
}

void expect_at_most(uint64_t count, uint64_t most, const std::string& where, const char* what) {
  if (count <= most) return;
  throw Error(ErrorCode::limit, "certificate." + where + ": more than " + std::to_string(most) + " " + what,
              "certificate." + where, std::to_string(count), std::to_string(most));
}

struct Steps {
  uint64_t taken = 0;
  void take(uint64_t count) { expect_at_most(taken += count, kMaxSteps, "cliques", "steps to check it"); }
};

/// Trees of reorders of one tensor, and the least that they cost (Dreyfus and Wagner, 1971).
class Trees {
 public:
  Trees(const Tensor& tensor, const std::vector<PlacementSet>& groups, Steps& steps)
      : count_(at(tensor.places)), groups_(groups), steps_(steps), distance_(tensor.reorder_us) {
    for (std::size_t i = 0; i < count_; ++i) distance_[i * count_ + i] = 0;
    for (std::size_t via = 0; via < count_; ++via) {
      for (std::size_t i = 0; i < count_ * count_; ++i) {
        const double through = distance_[i / count_ * count_ + via] + distance_[via * count_ + i % count_];
        distance_[i] = std::min(distance_[i], through);
      }
    }
  }

  /// For each place, the cost of the cheapest tree that begins there and reaches a place of every wanted group (bit g:
  /// group g).
  const std::vector<double>& costs(uint64_t wanted) {
    const auto [found, is_new] = costs_.try_emplace(wanted, count_, wanted == 0 ? 0 : kImpossible);
    std::vector<double>& out = found->second;
    if (!is_new || wanted == 0) return out;
    steps_.take((uint64_t{1} << std::min(std::popcount(wanted), 40)) * (count_ + 32) + count_ * count_);
    const uint64_t lowest = wanted & (0 - wanted);
    for (std::size_t p = 0; p < count_ && wanted == lowest; ++p) {
      if ((groups_[at(std::countr_zero(wanted))] >> p & 1) != 0) out[p] = 0;
    }
    // The tree forks where it begins. The lowest group belongs to the first branch, so each pair of branches comes
    // once.
    for (uint64_t part = (wanted - 1) & wanted; part != 0; part = (part - 1) & wanted) {
      if ((part & lowest) == 0) continue;
      const std::vector<double>&a = costs(part), &b = costs(wanted & ~part);
      for (std::size_t p = 0; p < count_; ++p) out[p] = std::min(out[p], a[p] + b[p]);
    }
    const std::vector<double> branches = out;
    for (std::size_t i = 0; i < count_ * count_; ++i) {
      out[i / count_] = std::min(out[i / count_], distance_[i] + branches[i % count_]);
    }
    return out;
  }

 private:
  std::size_t count_;
  const std::vector<PlacementSet>& groups_;
  Steps& steps_;
  std::vector<double> distance_;
  std::map<uint64_t, std::vector<double>> costs_;
};

/// The variables and tables of a problem, as check_proof.h describes them.
class Tables {
 public:
  explicit Tables(const Problem& problem) : problem_(problem), groups_(problem.tensors.size()) {
    for (Operation& op : problem_.operations) find_groups(op);
    values_.assign(groups_.size(), {0});
    for (const Operation& op : problem_.operations) {
      for (int t : std::set<int>(op.src.begin(), op.src.end())) add_values(wants(op, t), t);
    }
  }

  std::size_t size(int v) const { return is_tensor(v) ? values_[tensor(v)].size() : operation(v).choices.size(); }
  std::size_t entries(const std::vector<int>& scope, const std::string& where) const {
    std::size_t out = 1;
    for (int v : scope) expect_at_most(out *= size(v), kMaxEntries, where, "entries");
    return out;
  }

  /// The entries of the table that is named by its variables `of`; the value of the last variable changes first.
  std::vector<double> make(const std::vector<int>& of, const std::string& where) {
    std::vector<double> out(entries(of, where));
    steps.take(out.size());
    if (of.empty() || of.size() > 2 || is_tensor(of[0])) wrong(where, "names a table that does not exist");
    const Operation& op = operation(of[0]);
    const auto fill = [&](auto entry) {
      const std::size_t second = of.size() == 2 ? size(of[1]) : 1;
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = entry(i / second, i % second);
    };
    if (of.size() == 1) {
      fill([&](std::size_t c, std::size_t) {
        return std::ranges::count(op.choices[c].src, 0U) == 0 ? op.choices[c].us : kImpossible;
      });
    } else if (!is_tensor(of[1])) {
      if (operation(of[1]).hint != of[0]) wrong(where, "names a table that does not exist");
      fill([&](std::size_t hint, std::size_t c) {
        const std::vector<int>& with = operation(of[1]).choices[c].with_hint;
        steps.take(with.size());
        return with.empty() || contains(with, static_cast<int>(hint)) ? 0 : kImpossible;
      });
    } else if (const std::size_t t = tensor(of[1]); contains(op.src, static_cast<int>(t))) {
      const std::vector<uint64_t> wanted = wants(op, static_cast<int>(t));
      fill([&](std::size_t c, std::size_t v) { return (wanted[c] & ~values_[t][v]) == 0 ? 0 : kImpossible; });
    } else {
      const auto i = static_cast<std::size_t>(std::ranges::find(op.dst, static_cast<int>(t)) - op.dst.begin());
      if (i == op.dst.size()) wrong(where, "names a table that does not exist");
      Trees trees(problem_.tensors[t], groups_[t], steps);
      steps.take(out.size() * groups_[t].size() * groups_[t].size());
      fill([&](std::size_t c, std::size_t v) {
        const int place = op.choices[c].dst[i];
        return trees.costs(missing(groups_[t], values_[t][v], place))[at(place)];
      });
    }
    return out;
  }

  Steps steps;

 private:
  const Operation& operation(int v) const { return problem_.operations[at(v)]; }
  bool is_tensor(int v) const { return at(v) >= problem_.operations.size(); }
  std::size_t tensor(int v) const { return at(v) - problem_.operations.size(); }

  /// Numbers the groups of each tensor in the order in which operations, their choices and their sources name them. A
  /// place from which reorders that cost nothing lead into a group is as good as the places of the group, so it becomes
  /// one of them.
  void find_groups(Operation& op) {
    for (Choice& choice : op.choices) {
      for (std::size_t i = 0; i < op.src.size(); ++i) {
        const Tensor& tensor = problem_.tensors[at(op.src[i])];
        std::vector<PlacementSet>& groups = groups_[at(op.src[i])];
        PlacementSet& group = choice.src[i];
        for (PlacementSet before = 0; before != group;) {
          before = group;
          steps.take(tensor.reorder_us.size());
          for (int r = 0; r < tensor.places * tensor.places; ++r) {
            const bool free = tensor.reorder_us[at(r)] == 0 && (group >> r % tensor.places & 1) != 0;
            if (free) group |= PlacementSet{1} << r / tensor.places;
          }
        }
        if (group != 0 && std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
        expect_at_most(groups.size(), kMaxGroups, named("tensors", at(op.src[i])), "groups that are wanted");
      }
    }
  }

  /// The groups of tensor t that each choice wants. A choice that wants a group also wants every larger group that
  /// contains it, because whatever has a place of the one has a place of the other.
  std::vector<uint64_t> wants(const Operation& op, int t) {
    std::vector<uint64_t> out(op.choices.size(), 0);
    steps.take(out.size() * (op.src.size() + groups_[at(t)].size()));
    for (std::size_t c = 0; c < out.size(); ++c) {
      for (std::size_t i = 0; i < op.src.size(); ++i) {
        const PlacementSet group = op.src[i] == t ? op.choices[c].src[i] : 0;
        for (std::size_t g = 0; g < groups_[at(t)].size() && group != 0; ++g) {
          if ((group & ~groups_[at(t)][g]) == 0) out[c] |= uint64_t{1} << g;
        }
      }
    }
    return out;
  }

  /// Adds a reader of tensor t: `wants` are the groups that its choices want. A value of t is what all of its readers
  /// can want together; values stand in increasing order.
  void add_values(const std::vector<uint64_t>& wants, int t) {
    std::set<uint64_t> out;
    for (uint64_t want : std::set<uint64_t>(wants.begin(), wants.end())) {
      steps.take(64 * values_[at(t)].size());
      for (uint64_t value : values_[at(t)]) out.insert(want | value);
      expect_at_most(out.size(), kMaxValues, named("tensors", at(t)), "sets of groups that are wanted");
    }
    values_[at(t)].assign(out.begin(), out.end());
  }

  /// The groups of a value that do not have this place. Such a group is left out if it contains another one, because
  /// reorders that reach the smaller group reach both.
  static uint64_t missing(const std::vector<PlacementSet>& groups, uint64_t value, int place) {
    uint64_t out = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if ((value >> g & 1) != 0 && (groups[g] >> place & 1) == 0) out |= uint64_t{1} << g;
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::size_t part = 0; part < groups.size(); ++part) {
        if (part != g && (out >> part & 1) != 0 && (groups[part] & ~groups[g]) == 0) out &= ~(uint64_t{1} << g);
      }
    }
    return out;
  }

  Problem problem_;
  std::vector<std::vector<PlacementSet>> groups_;  // by tensor
  std::vector<std::vector<uint64_t>> values_;      // by tensor: the groups that are wanted (bit g: group g)
};

/// The sum of a clique's tables and messages, for all values of the variables in its scope.
class Sums {
 public:
  Sums(const Tables& tables, const std::vector<int>& scope, std::string where)
      : tables_(tables), scope_(scope), where_(std::move(where)), sums_(tables.entries(scope, where_), 0) {}

  void add(std::vector<int> scope, const std::vector<double>& values, double sign, Steps& steps) {
    std::erase_if(scope, [&](int v) { return tables_.size(v) == 1; });
    steps.take(sums_.size());
    std::vector<std::size_t> stride(scope_.size(), 0), digit(scope_.size(), 0);
    std::size_t step = 1, from = 0;
    for (std::size_t d = scope.size(); d-- > 0; step *= tables_.size(scope[d])) {
      if (!contains(scope_, scope[d])) wrong(where_, "its scope lacks variable " + std::to_string(scope[d]));
      stride[static_cast<std::size_t>(std::ranges::find(scope_, scope[d]) - scope_.begin())] = step;
    }
    if (values.size() != step)
      wrong(where_,
            "a message has " + std::to_string(values.size()) + " values, but its scope has " + std::to_string(step));
    for (double& sum : sums_) {
      sum += sign * values[from];
      for (std::size_t d = scope_.size(); d-- > 0;) {
        from += stride[d];
        if (++digit[d] < tables_.size(scope_[d])) break;
        from -= tables_.size(scope_[d]) * stride[d];
        digit[d] = 0;
      }
    }
    double largest = 0;
    for (double value : values) largest = std::max(largest, std::abs(value) == kImpossible ? 0 : std::abs(value));
    largest_ += largest;
    ++terms_;
  }

  /// The smallest sum, less what rounding may have added to it.
  double least() const {
    const double rounding = (terms_ + 1) * std::numeric_limits<double>::epsilon() * largest_;
    return *std::ranges::min_element(sums_) - rounding;
  }

 private:
  const Tables& tables_;
  const std::vector<int>& scope_;
  std::string where_;
  std::vector<double> sums_;
  double largest_ = 0, terms_ = 0;
};

}  // namespace

double cost(const Problem& problem, const Chosen& chosen) {
  std::vector<PlacementSet> made(problem.tensors.size(), 0);
  double sum = 0;
  const auto of = [&](std::size_t o) -> const Choice& { return problem.operations[o].choices[at(chosen.choices[o])]; };
  for (std::size_t o = 0; o < problem.operations.size(); ++o) {
    for (std::size_t i = 0; i < of(o).dst.size(); ++i)
      made[at(problem.operations[o].dst[i])] = PlacementSet{1} << of(o).dst[i];
    const int hint = problem.operations[o].hint;
    const bool goes = hint < 0 || of(o).with_hint.empty() || contains(of(o).with_hint, chosen.choices[at(hint)]);
    if (!goes) wrong(named("choices", o), "may not be combined with the choice of operation " + std::to_string(hint));
    sum += of(o).us;
  }
  for (std::size_t r = 0; r < chosen.reorders.size(); ++r) {
    const auto [t, from, to] = chosen.reorders[r];
    if ((made[at(t)] >> from & 1) == 0) wrong(named("reorders", r), "nothing makes its source before it");
    made[at(t)] |= PlacementSet{1} << to;
    sum += problem.tensors[at(t)].reorder_us[at(from * problem.tensors[at(t)].places + to)];
  }
  for (std::size_t o = 0; o < problem.operations.size(); ++o) {
    for (std::size_t i = 0; i < of(o).src.size(); ++i) {
      const int t = problem.operations[o].src[i];
      if ((made[at(t)] & of(o).src[i]) == 0)
        wrong(named("operations", o), "reads tensor " + std::to_string(t) + " in places that nothing makes");
    }
  }
  if (sum == kImpossible) wrong("choices", "something that is chosen costs infinity");
  return sum;
}

double lower_bound(const Problem& problem, const Certificate& certificate) {
  Tables tables(problem);
  std::set<std::vector<int>> dealt;
  double bound = 0, size = 0;
  std::vector<std::vector<std::pair<std::size_t, double>>> ends(certificate.cliques.size());
  for (std::size_t m = 0; m < certificate.messages.size(); ++m) {
    ends[at(certificate.messages[m].from)].emplace_back(m, -1);
    ends[at(certificate.messages[m].to)].emplace_back(m, 1);
  }
  for (std::size_t c = 0; c < certificate.cliques.size(); ++c) {
    const Clique& clique = certificate.cliques[c];
    Sums sums(tables, clique.scope, named("cliques", c));
    for (const std::vector<int>& table : clique.tables) {
      if (!dealt.insert(table).second) wrong(named("cliques", c), "has a table that was dealt before");
      sums.add(table, tables.make(table, named("cliques", c)), 1, tables.steps);
    }
    for (const auto& [m, sign] : ends[c]) {
      sums.add(certificate.messages[m].scope, certificate.messages[m].values, sign, tables.steps);
    }
    bound += sums.least();
    size += std::abs(sums.least());
  }
  return bound - static_cast<double>(certificate.cliques.size()) * std::numeric_limits<double>::epsilon() * size;
}

}  // namespace relayout::tools::proof
