// Writes a layout problem as a network of tables over two variables, and computes what an assignment costs.
#include <algorithm>
#include <bit>
#include <unordered_set>

#include "relayout/solve/arborescences.h"
#include "relayout/solve/index.h"

namespace relayout::solve {
namespace {

constexpr std::size_t kMaxGroups = 64, kMaxValues = std::size_t{1} << 16;

/// The groups that each choice of a reader needs of one tensor. Whoever needs a group also needs every group that
/// contains it; these are included.
struct TensorReader {
  int operation = 0;
  /// By choice.
  std::vector<uint64_t> wanted;
};

/// Adds the variable of one tensor and its tables to the network.
class TensorEncoder {
 public:
  TensorEncoder(const LayoutProblem& problem, int tensor) : problem_(problem), tensor_(tensor) {}

  void reader(int operation) {
    if (readers_.empty() || readers_.back() != operation) readers_.push_back(operation);
  }

  void run(int producer, EncodedProblem& out) {
    TensorValues& values = out.tensors[at(tensor_)];
    std::vector<TensorReader> readers;
    find_groups(values.groups);
    for (int operation : readers_) readers.push_back(read(operation, values.groups));
    values.values = wanted_together(readers);
    const int variable = static_cast<int>(problem_.operations.size()) + tensor_;
    out.network.sizes[at(variable)] = static_cast<int>(values.values.size());
    for (const TensorReader& r : readers) add_reader(r, variable, values.values, out.network);
    if (!readers.empty()) add_producer(producer, variable, values, out.network);
  }

 private:
  const ProblemTensor& tensor() const { return problem_.tensors[at(tensor_)]; }

  /// The group with the placements from which a reorder without cost leads into it, as these are as good.
  PlacementSet widened(PlacementSet group) const {
    PlacementSet out = group;
    for (bool more = true; more;) {
      more = false;
      for (int from = 0; from < tensor().placements; ++from) {
        for (int to = 0; to < tensor().placements && (out >> from & 1) == 0; ++to) {
          if ((out >> to & 1) == 0 || tensor().reorder_cost(from, to) != 0) continue;
          out |= PlacementSet{1} << from;
          more = true;
        }
      }
    }
    return out;
  }

  template <typename F>
  void for_each_read(int operation, F f) const {
    const ProblemOperation& op = problem_.operations[at(operation)];
    for (std::size_t c = 0; c < op.choices.size(); ++c) {
      for (std::size_t i = 0; i < op.src.size(); ++i) {
        if (op.src[i] == tensor_) f(c, op.choices[c].src[i]);
      }
    }
  }

  void find_groups(std::vector<PlacementSet>& groups) const {
    for (int operation : readers_) {
      for_each_read(operation, [&](std::size_t, PlacementSet group) {
        group = widened(group);
        if (group != 0 && std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
      });
    }
    if (groups.size() > kMaxGroups) too_many("groups of places", groups.size(), kMaxGroups);
  }

  TensorReader read(int operation, const std::vector<PlacementSet>& groups) const {
    TensorReader out{operation, std::vector<uint64_t>(problem_.operations[at(operation)].choices.size(), 0)};
    for_each_read(operation, [&](std::size_t choice, PlacementSet group) {
      group = widened(group);
      for (std::size_t g = 0; g < groups.size(); ++g) {
        if (group != 0 && (group & ~groups[g]) == 0) out.wanted[choice] |= uint64_t{1} << g;
      }
    });
    return out;
  }

  /// Every union that takes one needed set from each reader, in increasing order.
  std::vector<uint64_t> wanted_together(const std::vector<TensorReader>& readers) const {
    std::vector<uint64_t> out = {0};
    for (const TensorReader& r : readers) {
      std::vector<uint64_t> wants = r.wanted;
      std::ranges::sort(wants);
      wants.erase(std::unique(wants.begin(), wants.end()), wants.end());
      std::unordered_set<uint64_t> sums;
      for (uint64_t want : wants) {
        for (uint64_t sum : out) sums.insert(sum | want);
        if (sums.size() > kMaxValues) too_many("sets of places", sums.size(), kMaxValues);
      }
      out.assign(sums.begin(), sums.end());
    }
    std::ranges::sort(out);
    return out;
  }

  [[noreturn]] void too_many(const char* what, std::size_t count, std::size_t limit) const {
    throw std::length_error("assign: tensor " + std::to_string(tensor_) + " is wanted in " + std::to_string(count) +
                            " " + what + ", at most " + std::to_string(limit) + " are possible");
  }

  static void add_reader(const TensorReader& reader, int variable, const std::vector<uint64_t>& values,
                         CostNetwork& network) {
    CostTable table{{reader.operation, variable}, {}};
    for (uint64_t want : reader.wanted) {
      for (uint64_t value : values) table.values.push_back((want & ~value) == 0 ? 0 : kImpossible);
    }
    network.tables.push_back(std::move(table));
  }

  /// `wanted` without the groups that contain another wanted group, because these are reached with it.
  static uint64_t least(uint64_t wanted, const std::vector<PlacementSet>& groups) {
    uint64_t out = wanted;
    for (uint64_t a = wanted; a != 0; a &= a - 1) {
      const PlacementSet small = groups[at(std::countr_zero(a))];
      for (uint64_t b = wanted; b != 0; b &= b - 1) {
        const int g = std::countr_zero(b);
        if (groups[at(g)] != small && (small & ~groups[at(g)]) == 0) out &= ~(uint64_t{1} << g);
      }
    }
    return out;
  }

  void add_producer(int producer, int variable, const TensorValues& values, CostNetwork& network) const {
    const ProblemOperation& op = problem_.operations[at(producer)];
    const auto dst = static_cast<std::size_t>(std::ranges::find(op.dst, tensor_) - op.dst.begin());
    Arborescences arborescences(tensor(), values.groups);
    CostTable table{{producer, variable}, {}};
    std::vector<std::vector<double>> by_placement(at(tensor().placements));
    for (const ProblemChoice& choice : op.choices) {
      std::vector<double>& costs = by_placement[at(choice.dst[dst])];
      if (costs.empty()) {
        for (uint64_t value : values.values) {
          // A group that contains the written placement needs no reorder.
          uint64_t left = least(value, values.groups);
          for (uint64_t g = left; g != 0; g &= g - 1) {
            if ((values.groups[at(std::countr_zero(g))] >> choice.dst[dst] & 1) != 0) left &= ~(g & (0 - g));
          }
          costs.push_back(arborescences.cost(choice.dst[dst], left));
        }
      }
      table.values.insert(table.values.end(), costs.begin(), costs.end());
    }
    network.tables.push_back(std::move(table));
  }

  const LayoutProblem& problem_;
  int tensor_;
  std::vector<int> readers_;
};

void add_hint(const LayoutProblem& problem, int operation, CostNetwork& network) {
  const ProblemOperation& op = problem.operations[at(operation)];
  const std::size_t forward = problem.operations[at(op.hint)].choices.size();
  CostTable table{{op.hint, operation}, std::vector<double>(forward * op.choices.size(), 0)};
  for (std::size_t c = 0; c < op.choices.size(); ++c) {
    const std::vector<int>& with = op.choices[c].with_hint;
    for (std::size_t h = 0; h < forward && !with.empty(); ++h) {
      if (std::ranges::find(with, static_cast<int>(h)) == with.end())
        table.values[h * op.choices.size() + c] = kImpossible;
    }
  }
  network.tables.push_back(std::move(table));
}

/// Removes variables of one value from the scopes, and tables of zeros from the network. Each variable keeps one table.
void tidy(EncodedProblem& encoded) {
  const std::vector<int>& sizes = encoded.network.sizes;
  std::vector<CostTable> tables = std::move(encoded.network.tables);
  encoded.network.tables.clear();
  for (CostTable& table : tables) {
    std::vector<int> of = table.scope;
    std::erase_if(table.scope, [&](int v) { return sizes[at(v)] == 1; });
    const bool empty = std::ranges::all_of(table.values, [](double value) { return value == 0; });
    if (empty && table.scope.size() != 1) continue;
    encoded.network.tables.push_back(std::move(table));
    encoded.of.push_back(std::move(of));
  }
}

}  // namespace

EncodedProblem encode(const LayoutProblem& problem) {
  check(problem);
  const std::size_t operations = problem.operations.size(), tensors = problem.tensors.size();
  EncodedProblem out;
  out.network.sizes.assign(operations + tensors, 1);
  out.tensors.resize(tensors);
  std::vector<TensorEncoder> encoders;
  for (std::size_t t = 0; t < tensors; ++t) encoders.emplace_back(problem, static_cast<int>(t));
  std::vector<int> producer(tensors, -1);
  for (std::size_t o = 0; o < operations; ++o) {
    const ProblemOperation& op = problem.operations[o];
    const int id = static_cast<int>(o);
    out.network.sizes[o] = static_cast<int>(op.choices.size());
    CostTable costs{{id}, {}};
    for (const ProblemChoice& choice : op.choices) {
      const bool possible = std::ranges::find(choice.src, PlacementSet{0}) == choice.src.end();
      costs.values.push_back(possible ? choice.cost : kImpossible);
    }
    out.network.tables.push_back(std::move(costs));
    if (op.hint >= 0) add_hint(problem, id, out.network);
    for (int t : op.src) encoders[at(t)].reader(id);
    for (int t : op.dst) producer[at(t)] = id;
  }
  for (std::size_t t = 0; t < tensors; ++t) encoders[t].run(producer[t], out);
  tidy(out);
  return out;
}

double cost_of(const LayoutProblem& problem, const Assignment& assignment) {
  const auto wrong = [](const char* what, std::size_t i) {
    return std::invalid_argument("assign: an assignment of another problem: " + std::string(what) + " " +
                                 std::to_string(i));
  };
  if (assignment.choice.size() != problem.operations.size()) throw wrong("operations", assignment.choice.size());
  if (assignment.reorders.size() != problem.tensors.size()) throw wrong("tensors", assignment.reorders.size());
  std::vector<PlacementSet> made(problem.tensors.size(), 0);
  double cost = 0;
  for (std::size_t o = 0; o < problem.operations.size(); ++o) {
    const ProblemOperation& op = problem.operations[o];
    const int c = assignment.choice[o];
    if (c < 0 || at(c) >= op.choices.size()) throw wrong("choice of operation", o);
    const ProblemChoice& choice = op.choices[at(c)];
    cost += choice.cost;
    if (op.hint >= 0 && !choice.with_hint.empty() &&
        std::ranges::find(choice.with_hint, assignment.choice[at(op.hint)]) == choice.with_hint.end()) {
      return kImpossible;
    }
    for (std::size_t i = 0; i < op.src.size(); ++i) {
      if ((made[at(op.src[i])] & choice.src[i]) == 0) return kImpossible;
    }
    for (std::size_t i = 0; i < op.dst.size(); ++i) {
      const std::size_t t = at(op.dst[i]);
      made[t] = PlacementSet{1} << choice.dst[i];
      for (const PlacementReorder& reorder : assignment.reorders[t]) {
        const int placements = problem.tensors[t].placements;
        if (std::min(reorder.from, reorder.to) < 0 || std::max(reorder.from, reorder.to) >= placements) {
          throw wrong("reorder of tensor", t);
        }
        if ((made[t] >> reorder.from & 1) == 0) return kImpossible;
        made[t] |= PlacementSet{1} << reorder.to;
        cost += problem.tensors[t].reorder_cost(reorder.from, reorder.to);
      }
    }
  }
  return cost;
}

}  // namespace relayout::solve
