// The choices of a graph as a layout problem for the solver: placements of tensors, choices of nodes, and their costs.
// See optimize.h.
#include <algorithm>
#include <bit>

#include "relayout/graph/ir/described.h"
#include "relayout/graph/optimize/alternatives.h"

namespace relayout::graph {
namespace {

/// Reorders of constants whose time is not counted cost this little, so that none is made without need.
constexpr double kUncounted = 1e-6;
class SpaceBuilder {
 public:
  SpaceBuilder(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options)
      : graph_(graph),
        options_(options),
        finder_(graph, backend, costs, options),
        alternatives_(collect_alternatives(graph, backend, options, finder_)),
        producers_(producers(graph)),
        is_hint_(graph.nodes.size()),
        choice_alternatives_(graph.nodes.size()) {
    for (const Node& node : graph.nodes) {
      if (node.hint != kNone) is_hint_[at(node.hint)] = true;
    }
  }

  ChoiceSpace run() {
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) add_tensor(static_cast<TensorId>(t));
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (producers_[t] == kNone) add_source(static_cast<TensorId>(t));
    }
    space_.first_node = static_cast<int>(space_.problem.operations.size());
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) add_operation(static_cast<NodeId>(n));
    for (TensorId t : graph_.outputs) add_output(t);
    space_.left_out = alternatives_.left_out;
    return std::move(space_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  const Tensor& tensor(TensorId t) const { return graph_.tensor(t); }
  int plain(TensorId t) { return finder_.layouts().id(Layout::contiguous(tensor(t).dims)); }

  void add_tensor(TensorId t) {
    const std::vector<NumberedPlacement>& placements = alternatives_.placements[at(t)];
    solve::ProblemTensor out{.placements = static_cast<int>(placements.size())};
    for (std::size_t i = 0; i < placements.size(); ++i) {
      for (std::size_t j = 0; j < placements.size(); ++j) {
        out.reorder.push_back(i == j ? 0 : reorder_cost(t, placements[i].layout, placements[j].layout));
      }
    }
    space_.problem.tensors.push_back(std::move(out));
    std::vector<Placement>& named = space_.placements.emplace_back();
    for (const NumberedPlacement& placement : placements) {
      named.push_back({finder_.layouts().layout(placement.layout), finder_.layouts().opaque(placement.layout),
                       placement.part_of, placement.part_of_placement});
    }
  }

  double reorder_cost(TensorId t, int from, int to) {
    if (!tensor(t).constant()) return finder_.reorder_cost(t, from, to);
    if (options_.runs <= 0) return finder_.may_reorder(t, from, to) ? kUncounted : kImpossible;
    // A constant is reordered once, at load. A run pays its share of that time, without the margin for a noisy
    // prediction.
    return finder_.reorder_cost(t, from, to) / (1 + kMoveMargin) / static_cast<double>(options_.runs);
  }

  solve::PlacementSet placements_in(TensorId t, int layout) const {
    solve::PlacementSet out = 0;
    for (std::size_t p = 0; p < alternatives_.placements[at(t)].size(); ++p) {
      if (alternatives_.placements[at(t)][p].layout == layout) out |= solve::PlacementSet{1} << p;
    }
    return out;
  }
  std::vector<int> fixed(TensorId t) {
    std::vector<int> out;
    for (const auto& [tensor, layout] : options_.fixed) {
      if (tensor == t) out.push_back(finder_.layouts().id(layout));
    }
    return out;
  }

  void add_operation(NodeId id) {
    const Node& node = graph_.node(id);
    solve::ProblemOperation op;
    std::ranges::copy_if(node.src, std::back_inserter(op.src), [](TensorId t) { return t != kNone; });
    std::ranges::copy_if(node.dst, std::back_inserter(op.dst), [](TensorId t) { return t != kNone; });
    space_.problem.operations.push_back(std::move(op));
    space_.choices.emplace_back();
    if (node.kind == Kind::barrier) {
      add_barrier(node);
    } else if (is_view(node.kind)) {
      for (const ViewAlternative& view : alternatives_.views[at(id)]) add_view(node, view.src, view.dst);
    } else {
      for (const ImplementationAlternative& alternative : alternatives_.implementations[at(id)])
        add_implementation(id, alternative);
      for (const ConcatAlternative& concat : alternatives_.concats[at(id)]) add_concat(node, concat);
    }
    tidy(id);
  }

  solve::ProblemOperation& last() { return space_.problem.operations.back(); }

  void add_choice(solve::ProblemChoice choice, NodeChoice meaning, const ImplementationAlternative* alternative) {
    last().choices.push_back(std::move(choice));
    space_.choices.back().push_back(std::move(meaning));
    choice_alternatives_[space_.choices.size() - 1].push_back(alternative);
  }

  void add_barrier(const Node& node) {
    solve::ProblemChoice choice;
    NodeChoice meaning{.implementation = std::make_shared<const Implementation>(Implementation{.name = "barrier"})};
    for (TensorId t : node.src) {
      if (t != kNone) choice.src.push_back(placements_in(t, plain(t)));
    }
    for (TensorId t : node.dst) {
      if (t != kNone) choice.dst.push_back(alternatives_.placement(t, plain(t)));
    }
    add_choice(std::move(choice), std::move(meaning), nullptr);
  }

  NodeChoice view_choice(const std::vector<int>& src, int dst) {
    Implementation out{.name = "view"};
    for (int layout : src) out.src.emplace_back(finder_.layouts().layout(layout));
    out.dst.emplace_back(finder_.layouts().layout(dst));
    return {.implementation = std::make_shared<const Implementation>(std::move(out))};
  }

  void add_view(const Node& node, int from, int to) {
    const int placement = alternatives_.placement(node.dst[0], to);
    if (placement == kNone) return;
    add_choice({.src = {placements_in(node.src[0], from)}, .dst = {placement}}, view_choice({from}, to), nullptr);
  }

  void add_concat(const Node& node, const ConcatAlternative& alternative) {
    solve::ProblemChoice choice{.dst = {alternative.dst}};
    std::vector<int> layouts;
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      choice.src.push_back(solve::PlacementSet{1} << alternative.src[i]);
      layouts.push_back(alternatives_.placements[at(node.src[i])][at(alternative.src[i])].layout);
    }
    add_choice(std::move(choice),
               view_choice(layouts, alternatives_.placements[at(node.dst[0])][at(alternative.dst)].layout), nullptr);
  }

  /// One choice for each placement of the first destination that has its layout: in memory of its own, or as a part of
  /// a concat.
  void add_implementation(NodeId id, const ImplementationAlternative& alternative) {
    const Node& node = graph_.node(id);
    solve::ProblemChoice choice{.cost = alternative.candidate.cost};
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      if (node.src[i] == kNone) continue;
      choice.src.push_back(placements_in(node.src[i], alternative.candidate.src[i]));
      if (choice.src.back() == 0) return;
    }
    for (std::size_t i = 0; i < node.dst.size(); ++i) {
      if (node.dst[i] == kNone) continue;
      choice.dst.push_back(alternatives_.placement(node.dst[i], alternative.candidate.dst[i]));
      if (choice.dst.back() == kNone) return;
    }
    if (!add_hint(id, alternative, choice)) return;
    const NodeChoice meaning{.implementation = alternative.candidate.implementation};
    if (node.dst[0] != kNone) {
      for (solve::PlacementSet left = placements_in(node.dst[0], alternative.candidate.dst[0]); left != 0;
           left &= left - 1) {
        choice.dst[0] = std::countr_zero(left);
        add_choice(choice, meaning, &alternative);
      }
    } else {
      add_choice(choice, meaning, &alternative);
    }
    if (alternative.candidate.in_place_cost == kImpossible) return;
    choice.src[0] = solve::PlacementSet{1} << alternatives_.placement(node.src[0], alternative.candidate.src[0]);
    choice.dst[0] = alternatives_.placement(node.dst[0], alternative.candidate.dst[0]);
    choice.cost = alternative.candidate.in_place_cost;
    add_choice(choice, {.implementation = alternative.candidate.implementation, .in_place = true}, &alternative);
  }

  /// Sets the forward choices with which a choice is possible; false if none of them is left.
  bool add_hint(NodeId id, const ImplementationAlternative& alternative, solve::ProblemChoice& choice) {
    const NodeId hint = graph_.node(id).hint;
    if (alternative.forward.empty() || alternative.forward.size() == alternatives_.implementations[at(hint)].size())
      return true;
    const std::vector<const ImplementationAlternative*>& made = choice_alternatives_[at(hint)];
    for (std::size_t c = 0; c < made.size(); ++c) {
      const auto is_it = [&](const Candidate* candidate) {
        return made[c] != nullptr && candidate == &made[c]->candidate;
      };
      if (std::ranges::any_of(alternative.forward, is_it)) choice.with_hint.push_back(static_cast<int>(c));
    }
    last().hint = space_.first_node + hint;
    return !choice.with_hint.empty();
  }

  /// Removes choices that do not write a fixed layout, and choices that another one makes superfluous, because it
  /// allows as much and costs no more.
  void tidy(NodeId id) {
    const Node& node = graph_.node(id);
    solve::ProblemOperation& op = last();
    std::vector<std::size_t> kept;
    // A dearer forward choice may allow a cheaper backward one, so choices of a hint are compared within one candidate.
    const auto covers = [&](std::size_t i, std::size_t j) {
      const solve::ProblemChoice &a = op.choices[i], &b = op.choices[j];
      if (a.cost > b.cost || a.dst != b.dst || a.with_hint != b.with_hint) return false;
      if (is_hint_[at(id)] && choice_alternatives_[at(id)][i] != choice_alternatives_[at(id)][j]) return false;
      for (std::size_t k = 0; k < a.src.size(); ++k) {
        if ((b.src[k] & ~a.src[k]) != 0) return false;
      }
      return true;
    };
    // Only choices that write the same placement of the first destination need comparing.
    const auto first = [](const solve::ProblemChoice& choice) { return choice.dst.empty() ? 0 : at(choice.dst[0]); };
    std::vector<std::vector<std::size_t>> alike(solve::kMaxPlacements);
    for (std::size_t c = 0; c < op.choices.size(); ++c) alike[first(op.choices[c])].push_back(c);
    for (std::size_t c = 0; c < op.choices.size(); ++c) {
      const bool covered = std::ranges::any_of(alike[first(op.choices[c])], [&](std::size_t other) {
        return other != c && covers(other, c) && (other < c || !covers(c, other));
      });
      if (!covered && makes_fixed(op, op.choices[c])) kept.push_back(c);
    }
    if (kept.empty()) {
      throw Error(ErrorCode::unsupported,
                  "optimize: no way to run " + described(graph_, node) + " in the layouts that are fixed", "node",
                  escaped(node.name));
    }
    const auto keep = [&](auto& list) {
      for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i] != i) list[i] = std::move(list[kept[i]]);
      }
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(kept.size()), list.end());
    };
    keep(op.choices);
    keep(space_.choices.back());
    keep(choice_alternatives_[at(id)]);
  }

  bool makes_fixed(const solve::ProblemOperation& op, const solve::ProblemChoice& choice) {
    for (std::size_t i = 0; i < op.dst.size(); ++i) {
      const std::vector<NumberedPlacement>& placements = alternatives_.placements[at(op.dst[i])];
      for (int layout : fixed(op.dst[i])) {
        if (placements[at(choice.dst[i])].layout != layout) return false;
      }
    }
    return true;
  }

  /// Adds the operation of an input or constant. An input without a fixed layout may arrive in any.
  void add_source(TensorId t) {
    solve::ProblemOperation op{.dst = {t}};
    const std::vector<int> wanted = fixed(t);
    const bool given = tensor(t).constant() || tensor(t).layout;
    for (std::size_t p = 0; p < alternatives_.placements[at(t)].size(); ++p) {
      const NumberedPlacement& placement = alternatives_.placements[at(t)][p];
      if (placement.part_of != kNone || (given && p > 0)) continue;
      if (!given && !finder_.layouts().layout(placement.layout).injective_with_padding()) continue;
      if (!given && !wanted.empty() && wanted[0] != placement.layout) continue;
      op.choices.push_back({.dst = {static_cast<int>(p)}});
    }
    space_.problem.operations.push_back(std::move(op));
  }

  /// Adds the operation of an output. It must have memory of its own, so that it can be returned without a copy.
  void add_output(TensorId t) {
    solve::PlacementSet any = 0;
    for (std::size_t p = 0; p < alternatives_.placements[at(t)].size(); ++p) {
      const NumberedPlacement& placement = alternatives_.placements[at(t)][p];
      const bool wanted = !tensor(t).layout || placement.layout == finder_.layouts().id(*tensor(t).layout);
      if (placement.part_of == kNone && wanted) any |= solve::PlacementSet{1} << p;
    }
    space_.problem.operations.push_back({.src = {t}, .choices = {{.src = {any}}}});
  }

  const Graph& graph_;
  const OptimizeOptions& options_;
  CandidateFinder finder_;
  const Alternatives alternatives_;
  const std::vector<NodeId> producers_;
  std::vector<bool> is_hint_;  // by node: whether it is the hint of a backward node
  std::vector<std::vector<const ImplementationAlternative*>> choice_alternatives_;  // by node and choice
  ChoiceSpace space_;
};

}  // namespace

ChoiceSpace choice_space(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options) {
  return SpaceBuilder(graph, backend, costs, options).run();
}

}  // namespace relayout::graph
