// Shortest paths between placements, the recurrence of Dreyfus and Wagner over sets of groups, and the reorders that
// follow from them for one tensor or for all tensors of a problem.
#include "relayout/solve/arborescences.h"

#include <algorithm>
#include <bit>
#include <string>

#include "relayout/solve/index.h"

namespace relayout::solve {
namespace {

int lowest(uint64_t set) { return std::countr_zero(set); }

}  // namespace

Arborescences::Arborescences(const ProblemTensor& tensor, std::vector<PlacementSet> groups)
    : placements_(tensor.placements),
      groups_(std::move(groups)),
      distance_(tensor.reorder),
      next_(tensor.reorder.size()) {
  for (int from = 0; from < placements_; ++from) {
    for (int to = 0; to < placements_; ++to) next_[index(from, to)] = to;
    distance_[index(from, from)] = 0;
  }
  for (int via = 0; via < placements_; ++via) {
    for (int from = 0; from < placements_; ++from) {
      for (int to = 0; to < placements_; ++to) {
        const double length = distance(from, via) + distance(via, to);
        if (length >= distance(from, to)) continue;
        distance_[index(from, to)] = length;
        next_[index(from, to)] = next_[index(from, via)];
      }
    }
  }
}

double Arborescences::cost(int from, uint64_t wanted) {
  return wanted == 0 ? 0 : row(wanted).cost[static_cast<std::size_t>(from)];
}

const Arborescences::Row& Arborescences::row(uint64_t wanted) {
  if (const auto found = rows_.find(wanted); found != rows_.end()) return found->second;
  if (std::popcount(wanted) > kMaxWanted) {
    throw std::length_error("assign: " + std::to_string(std::popcount(wanted)) +
                            " placements wanted of one tensor, at most " + std::to_string(kMaxWanted) +
                            " are possible");
  }
  // In increasing order, every subset comes after its own subsets, whose rows it needs.
  for (uint64_t subset = (0 - wanted) & wanted; subset != 0; subset = (subset - wanted) & wanted) {
    if (!rows_.contains(subset)) rows_.emplace(subset, make_row(subset));
  }
  return rows_.at(wanted);
}

Arborescences::Row Arborescences::make_row(uint64_t wanted) const {
  const auto n = static_cast<std::size_t>(placements_);
  Row out{std::vector<double>(n, kImpossible), std::vector<double>(n, kImpossible)};
  const uint64_t first = uint64_t{1} << lowest(wanted), others = wanted & ~first;
  if (others == 0) {
    for (std::size_t p = 0; p < n; ++p) {
      if ((groups_[static_cast<std::size_t>(lowest(wanted))] >> p & 1) != 0) out.branch[p] = 0;
    }
  }
  // Divide the groups between two branches. One has the first group and possibly others, but not all.
  for (uint64_t left = others; left != 0;) {
    left = (left - 1) & others;
    const Row& a = rows_.at(left | first);
    const Row& b = rows_.at(others & ~left);
    for (std::size_t p = 0; p < n; ++p) out.branch[p] = std::min(out.branch[p], a.cost[p] + b.cost[p]);
  }
  for (std::size_t to = 0; to < n; ++to) {
    if (out.branch[to] == kImpossible) continue;
    for (std::size_t from = 0; from < n; ++from) {
      out.cost[from] = std::min(out.cost[from], distance_[from * n + to] + out.branch[to]);
    }
  }
  return out;
}

std::vector<PlacementReorder> Arborescences::reorders(int from, uint64_t wanted) {
  std::vector<PlacementReorder> out;
  PlacementSet made = PlacementSet{1} << from;
  grow(from, wanted, made, out);
  return out;
}

void Arborescences::walk(int from, int to, PlacementSet& made, std::vector<PlacementReorder>& out) const {
  while (from != to) {
    const int next = next_[index(from, to)];
    // Where reorders cost nothing, another branch may have made this placement already.
    if ((made >> next & 1) == 0) out.push_back({from, next});
    made |= PlacementSet{1} << next;
    from = next;
  }
}

void Arborescences::grow(int from, uint64_t wanted, PlacementSet& made, std::vector<PlacementReorder>& out) {
  if (wanted == 0) return;
  row(wanted);
  const Row& whole = rows_.at(wanted);
  int root = 0;
  const auto length = [&](int to) { return distance(from, to) + whole.branch[static_cast<std::size_t>(to)]; };
  for (int to = 1; to < placements_; ++to) {
    if (length(to) < length(root)) root = to;
  }
  walk(from, root, made, out);
  const uint64_t first = uint64_t{1} << lowest(wanted), others = wanted & ~first;
  for (uint64_t left = others; left != 0;) {
    left = (left - 1) & others;
    const std::size_t p = static_cast<std::size_t>(root);
    if (rows_.at(left | first).cost[p] + rows_.at(others & ~left).cost[p] > whole.branch[p]) continue;
    grow(root, left | first, made, out);
    grow(root, others & ~left, made, out);
    return;
  }
}

std::optional<std::vector<PlacementReorder>> cheapest_reorders(const ProblemTensor& tensor, int from,
                                                               PlacementSet placements) {
  std::vector<PlacementSet> groups;
  for (int p = 0; p < tensor.placements; ++p) {
    if (p != from && (placements >> p & 1) != 0) groups.push_back(PlacementSet{1} << p);
  }
  const uint64_t wanted = (uint64_t{1} << groups.size()) - 1;
  Arborescences arborescences(tensor, std::move(groups));
  if (arborescences.cost(from, wanted) == kImpossible) return std::nullopt;
  return arborescences.reorders(from, wanted);
}

Assignment assignment_of(const LayoutProblem& problem, std::vector<int> choice) {
  Assignment out{std::move(choice), std::vector<std::vector<PlacementReorder>>(problem.tensors.size())};
  std::vector<std::vector<PlacementSet>> groups(problem.tensors.size());
  std::vector<int> written(problem.tensors.size(), -1);
  for (std::size_t o = 0; o < problem.operations.size(); ++o) {
    const ProblemOperation& op = problem.operations[o];
    const ProblemChoice& chosen = op.choices[at(out.choice[o])];
    for (std::size_t i = 0; i < op.dst.size(); ++i) written[at(op.dst[i])] = chosen.dst[i];
    for (std::size_t i = 0; i < op.src.size(); ++i) {
      std::vector<PlacementSet>& wanted = groups[at(op.src[i])];
      const bool there = (chosen.src[i] >> written[at(op.src[i])] & 1) != 0;
      if (!there && std::ranges::find(wanted, chosen.src[i]) == wanted.end()) wanted.push_back(chosen.src[i]);
    }
  }
  for (std::size_t t = 0; t < groups.size(); ++t) {
    if (groups[t].empty()) continue;
    const uint64_t wanted = ~uint64_t{0} >> (64 - groups[t].size());
    out.reorders[t] = Arborescences(problem.tensors[t], std::move(groups[t])).reorders(written[t], wanted);
  }
  return out;
}

}  // namespace relayout::solve
