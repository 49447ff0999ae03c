// Layout problems for tests: random small ones, and the costs of all assignments of one, computed without the solver.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "relayout/solve/problem.h"

namespace relayout::solve::cases {

struct ProblemShape {
  int operations = 10;
  int choices = 4, placements = 5;
  /// The most combinations of choices; further operations have one choice each.
  int64_t combinations = 1024;
};

/// Random operations (inputs, outputs, several sources and destinations, the same source twice, hints, single choices,
/// concats without a copy), and random reorders (some without cost, some impossible). Some have no possible assignment.
class RandomProblem {
 public:
  RandomProblem(uint64_t seed, const ProblemShape& shape) : random_(seed), shape_(shape) { style_ = below(3); }

  LayoutProblem make() {
    const int count = 1 + below(shape_.operations);
    for (int o = 0; o < count; ++o) add_operation();
    return std::move(problem_);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  /// Small whole numbers make assignments of equal cost; other numbers make none.
  double cost() { return style_ == 0 ? below(4) : style_ == 1 ? below(1000) * 0.37 : std::ldexp(below(1 << 20), -14); }

  int add_tensor() {
    ProblemTensor tensor;
    tensor.placements = 1 + below(shape_.placements);
    for (int from = 0; from < tensor.placements; ++from) {
      for (int to = 0; to < tensor.placements; ++to) {
        const bool free = from == to || chance(5);
        tensor.reorder.push_back(free ? 0 : chance(8) ? kImpossible : cost());
      }
    }
    problem_.tensors.push_back(std::move(tensor));
    return static_cast<int>(problem_.tensors.size()) - 1;
  }

  const ProblemTensor& tensor(int t) const { return problem_.tensors[static_cast<std::size_t>(t)]; }

  PlacementSet some_placements(int t) {
    const PlacementSet all = (PlacementSet{2} << (tensor(t).placements - 1)) - 1;
    const PlacementSet one = PlacementSet{1} << below(tensor(t).placements);
    if (chance(2)) return 0;
    return chance(70) ? one : (static_cast<PlacementSet>(random_()) & all) | one;
  }

  void add_operation() {
    ProblemOperation op;
    const int tensors = static_cast<int>(problem_.tensors.size());
    for (int n = tensors == 0 || chance(10) ? 0 : 1 + below(3); n > 0; --n) op.src.push_back(below(tensors));
    for (int n = chance(10) && !op.src.empty() ? 0 : 1 + below(10) / 8; n > 0; --n) op.dst.push_back(add_tensor());
    const bool concat = chance(15);
    if (!problem_.operations.empty() && chance(15)) op.hint = below(static_cast<int>(problem_.operations.size()));
    int count = chance(15) ? 1 : 1 + below(shape_.choices);
    if (combinations_ * count > shape_.combinations) count = 1;
    combinations_ *= count;
    for (int c = 0; c < count; ++c) op.choices.push_back(make_choice(op, concat && c == 0));
    problem_.operations.push_back(std::move(op));
  }

  /// With `in_place` each source is read as a part of the destination, which is the last of its placements, and nothing
  /// is copied.
  ProblemChoice make_choice(const ProblemOperation& op, bool in_place) {
    ProblemChoice out;
    for (int t : op.src)
      out.src.push_back(in_place ? PlacementSet{1} << (tensor(t).placements - 1) : some_placements(t));
    for (int t : op.dst) out.dst.push_back(below(tensor(t).placements));
    out.cost = in_place ? 0 : chance(3) ? kImpossible : cost();
    if (op.hint >= 0 && chance(60)) {
      const auto forward = static_cast<int>(problem_.operations[static_cast<std::size_t>(op.hint)].choices.size());
      for (int h = 0; h < forward; ++h) {
        if (chance(60)) out.with_hint.push_back(h);
      }
    }
    return out;
  }

  std::mt19937_64 random_;
  ProblemShape shape_;
  int style_;
  int64_t combinations_ = 1;
  LayoutProblem problem_;
};

struct Combination {
  double cost = 0;
  std::vector<int> choice;
};

/// Every possible combination of choices with the cheapest reorders for it, cheapest first. For each tensor, reorders
/// are tried in every order.
class BruteForce {
 public:
  explicit BruteForce(const LayoutProblem& problem) : problem_(problem) {
    for (const ProblemTensor& tensor : problem.tensors) {
      std::vector<std::vector<double>>& costs = made_.emplace_back();
      for (int from = 0; from < tensor.placements; ++from) costs.push_back(costs_of_sets(tensor, from));
    }
  }

  std::vector<Combination> run() {
    choice_.assign(problem_.operations.size(), 0);
    enumerate(0);
    std::ranges::stable_sort(out_, {}, &Combination::cost);
    return std::move(out_);
  }

 private:
  /// By set of placements: the cheapest way to make exactly these of `from`, placement after placement.
  static std::vector<double> costs_of_sets(const ProblemTensor& tensor, int from) {
    std::vector<double> out(std::size_t{1} << tensor.placements, kImpossible);
    out[std::size_t{1} << from] = 0;
    for (std::size_t set = 1; set < out.size(); ++set) {
      for (int a = 0; a < tensor.placements; ++a) {
        for (int b = 0; b < tensor.placements; ++b) {
          if ((set >> a & 1) == 0 || (set >> b & 1) != 0) continue;
          double& next = out[set | std::size_t{1} << b];
          next = std::min(next, out[set] + tensor.reorder_cost(a, b));
        }
      }
    }
    return out;
  }

  void enumerate(std::size_t o) {
    if (o == problem_.operations.size()) {
      if (const double total = cost(); total != kImpossible) out_.push_back({total, choice_});
      return;
    }
    for (std::size_t c = 0; c < problem_.operations[o].choices.size(); ++c) {
      choice_[o] = static_cast<int>(c);
      enumerate(o + 1);
    }
  }

  double cost() const {
    double total = 0;
    std::vector<int> written(problem_.tensors.size(), -1);
    std::vector<std::vector<PlacementSet>> wanted(problem_.tensors.size());
    for (std::size_t o = 0; o < problem_.operations.size(); ++o) {
      const ProblemOperation& op = problem_.operations[o];
      const ProblemChoice& choice = op.choices[static_cast<std::size_t>(choice_[o])];
      total += choice.cost;
      if (op.hint >= 0 && !choice.with_hint.empty()) {
        const int forward = choice_[static_cast<std::size_t>(op.hint)];
        if (std::ranges::count(choice.with_hint, forward) == 0) return kImpossible;
      }
      for (std::size_t i = 0; i < op.dst.size(); ++i) written[static_cast<std::size_t>(op.dst[i])] = choice.dst[i];
      for (std::size_t i = 0; i < op.src.size(); ++i) {
        wanted[static_cast<std::size_t>(op.src[i])].push_back(choice.src[i]);
      }
    }
    for (std::size_t t = 0; t < wanted.size() && total != kImpossible; ++t) {
      if (wanted[t].empty()) continue;
      const std::vector<double>& sets = made_[t][static_cast<std::size_t>(written[t])];
      double best = kImpossible;
      for (std::size_t set = 0; set < sets.size(); ++set) {
        if (sets[set] >= best) continue;
        if (std::ranges::all_of(wanted[t], [&](PlacementSet any) { return (any & set) != 0; })) best = sets[set];
      }
      total += best;
    }
    return total;
  }

  const LayoutProblem& problem_;
  std::vector<std::vector<std::vector<double>>> made_;  // by tensor, written placement and set
  std::vector<int> choice_;
  std::vector<Combination> out_;
};

}  // namespace relayout::solve::cases
