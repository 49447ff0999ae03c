// The choices of a graph as a problem: places of tensors, ways of nodes, and what they cost. See optimize.h.
#include <algorithm>
#include <bit>

#include "relayout/graph/ops.h"
#include "relayout/graph/ways.h"

namespace relayout::graph {
namespace {

/// What a reorder of a constant costs that is not counted, so that needless ones are not made.
constexpr double kUncounted = 1e-6;
/// Layouts of a tensor by itself; parts of concats come on top.
constexpr std::size_t kMaxLayouts = 20;

std::string described(const Graph& graph, const Node& node) {
  std::string out = std::string(name(node.kind)) + " \"" + escaped(node.name) + "\" (" + std::string(name(node.pass));
  for (TensorId t : node.src) {
    if (t == kNone) continue;
    out += ", " + std::string(name(graph.tensor(t).dtype)) + " " + join(graph.tensor(t).dims, "x");
  }
  return out + ")";
}

/// Kinds whose backward pass takes what the forward one left in a layout of its own, or is made for its layouts alone.
bool follows_forward(Kind kind) {
  return kind == Kind::pooling || kind == Kind::lrn || kind == Kind::rnn || kind == Kind::shuffle;
}

/// A place as numbers.
struct NumberedPlace {
  int layout = kNone;
  NodeId part_of = kNone;
  int part_of_place = 0;
};

/// A way of a node with the forward ways that it goes with.
struct Offer {
  Way way;
  std::vector<const Way*> forward;
};

class SpaceBuilder {
 public:
  SpaceBuilder(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options)
      : graph_(graph),
        backend_(backend),
        options_(options),
        finder_(graph, backend, costs, options),
        producers_(producers(graph)),
        consumers_(consumers(graph)),
        places_(graph.tensors.size()),
        offers_(graph.nodes.size()),
        views_(graph.nodes.size()),
        choice_offers_(graph.nodes.size()) {}

  ChoiceSpace run() {
    place_given();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) collect(static_cast<NodeId>(n));
    for (const auto& [t, layout] : options_.fixed) add_layout(t, finder_.layouts().id(layout));
    for (TensorId t : graph_.outputs) {
      if (graph_.tensor(t).layout) add_layout(t, finder_.layouts().id(*graph_.tensor(t).layout));
    }
    for (std::vector<NumberedPlace>& places : places_) {
      if (places.empty()) {
        const auto t = static_cast<TensorId>(&places - places_.data());
        add_layout(t, plain(t));
      }
    }
    if (options_.concat_in_place) {
      // A part's places follow from its destination's, which may be parts of a later one.
      for (std::size_t n = graph_.nodes.size(); n-- > 0;) place_parts(static_cast<NodeId>(n));
    }
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) add_tensor(static_cast<TensorId>(t));
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (producers_[t] == kNone) add_source(static_cast<TensorId>(t));
    }
    space_.first_node = static_cast<int>(space_.problem.operations.size());
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) add_operation(static_cast<NodeId>(n));
    for (TensorId t : graph_.outputs) add_output(t);
    return std::move(space_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  const Tensor& tensor(TensorId t) const { return graph_.tensor(t); }
  int plain(TensorId t) { return finder_.layouts().id(Layout::contiguous(tensor(t).dims)); }

  void add_layout(TensorId t, int layout) {
    std::vector<NumberedPlace>& places = places_[at(t)];
    if (std::ranges::find(places, layout, &NumberedPlace::layout) == places.end() && places.size() < kMaxLayouts) {
      places.push_back({layout});
    }
  }

  /// Constants are given row-major, inputs in their fixed layout.
  void place_given() {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto t = static_cast<TensorId>(i);
      if (tensor(t).constant()) {
        add_layout(t, plain(t));
      } else if (producers_[i] == kNone && tensor(t).layout) {
        add_layout(t, finder_.layouts().id(*tensor(t).layout));
      }
    }
  }

  void collect(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind == Kind::barrier) {
      for (const auto* operands : {&node.src, &node.dst}) {
        for (TensorId t : *operands) {
          if (t != kNone) add_layout(t, plain(t));
        }
      }
      return;
    }
    if (is_view(node.kind)) return collect_view(id);
    std::vector<int> leads;
    const std::vector<int>& usual = finder_.families(tensor(node.src[0]).dims);
    for (const NumberedPlace& place : places_[at(node.src[0])]) {
      const bool of_view =
          producers_[at(node.src[0])] != kNone && is_view(graph_.node(producers_[at(node.src[0])]).kind);
      if (of_view && std::ranges::find(usual, place.layout) == usual.end()) leads.push_back(place.layout);
    }
    std::vector<Offer>& offers = offers_[at(id)];
    const bool in_place = may_run_in_place(id);
    if (node.hint == kNone || node.forward()) {
      for (const Way& way : finder_.ways(id, leads, nullptr, in_place)) offers.push_back({way, {}});
    } else if (!follows_forward(node.kind)) {
      for (const Way& way : finder_.ways(id, leads, &offers_[at(node.hint)][0].way, false)) offers.push_back({way, {}});
    } else {
      collect_backward(id);
    }
    if (offers.empty()) {
      throw Error(ErrorCode::unsupported,
                  "optimize: " + backend_.name() + " has no way to run " + described(graph_, node), "node",
                  escaped(node.name));
    }
    for (const Offer& offer : offers) {
      for (std::size_t i = 0; i < node.src.size(); ++i) {
        if (node.src[i] != kNone) add_layout(node.src[i], offer.way.src[i]);
      }
      for (std::size_t i = 0; i < node.dst.size(); ++i) {
        if (node.dst[i] != kNone) add_layout(node.dst[i], offer.way.dst[i]);
      }
    }
  }

  /// Ways that go with several forward ones stand once.
  void collect_backward(NodeId id) {
    std::vector<Offer>& offers = offers_[at(id)];
    for (const Offer& forward : offers_[at(graph_.node(id).hint)]) {
      for (const Way& way : finder_.ways_as(id, forward.way)) {
        const auto known = std::ranges::find_if(offers, [&](const Offer& other) {
          return other.way.implementation.name == way.implementation.name && other.way.src == way.src &&
                 other.way.dst == way.dst && other.way.cost == way.cost;
        });
        if (known == offers.end()) {
          offers.push_back({way, {&forward.way}});
        } else {
          known->forward.push_back(&forward.way);
        }
      }
    }
  }

  void collect_view(NodeId id) {
    const Node& node = graph_.node(id);
    const TensorId src = node.src[0], dst = node.dst[0];
    add_layout(src, plain(src));
    for (const NumberedPlace& place : places_[at(src)]) {
      try {
        const int view =
            finder_.layouts().id(view_of(graph_, node, finder_.layouts().layout(place.layout)).canonical());
        add_layout(dst, view);
        views_[at(id)].emplace_back(place.layout, view);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::needs_copy) throw;
      }
    }
  }

  /// Where the destination may be written over the first source: nothing reads that afterwards, and its memory is
  /// no other tensor's.
  bool may_run_in_place(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!options_.in_place || !runs_in_place(graph_, node)) return false;
    const TensorId src = node.src[0], dst = node.dst[0];
    const NodeId maker = producers_[at(src)];
    if (maker == kNone || is_view(graph_.node(maker).kind) || graph_.node(maker).kind == Kind::concat) return false;
    if (tensor(src).dims != tensor(dst).dims || bits(tensor(src).dtype) != bits(tensor(dst).dtype)) return false;
    const std::vector<NodeId>& readers = consumers_[at(src)];
    return readers.back() == id && std::ranges::count(node.src, src) == 1 &&
           std::ranges::find(graph_.outputs, src) == graph_.outputs.end() &&
           std::ranges::none_of(readers, [&](NodeId n) { return is_view(graph_.node(n).kind); });
  }

  /// Parts are distinct tensors that are made anew in each run.
  bool may_move_nothing(const Node& node) const {
    if (node.kind != Kind::concat) return false;
    return std::ranges::all_of(
               node.src, [&](TensorId t) { return !tensor(t).constant() && std::ranges::count(node.src, t) == 1; }) &&
           !Layout::contiguous(tensor(node.dst[0]).dims).empty();
  }

  std::optional<int> part_layout(const Node& node, std::size_t i, int whole) {
    const std::optional<Layout> part = concat_part(graph_, node, i, finder_.layouts().layout(whole));
    return part ? std::optional(finder_.layouts().id(*part)) : std::nullopt;
  }

  void place_parts(NodeId id) {
    const Node& node = graph_.node(id);
    if (!may_move_nothing(node)) return;
    const TensorId dst = node.dst[0];
    for (std::size_t q = 0; q < places_[at(dst)].size(); ++q) {
      std::vector<int> layouts;
      for (std::size_t i = 0; i < node.src.size(); ++i) {
        const std::optional<int> part = part_layout(node, i, places_[at(dst)][q].layout);
        if (!part) break;
        layouts.push_back(*part);
      }
      if (layouts.size() < node.src.size()) continue;
      const auto is_full = [&](TensorId t) { return places_[at(t)].size() >= std::size_t{kMaxPlaces}; };
      if (std::ranges::any_of(node.src, is_full)) continue;
      for (std::size_t i = 0; i < node.src.size(); ++i) {
        if (part_place(node.src[i], id, layouts[i]) != kNone) continue;
        places_[at(node.src[i])].push_back({layouts[i], id, static_cast<int>(q)});
      }
    }
  }

  /// The place of a tensor as a part of that concat in that layout, or kNone.
  int part_place(TensorId t, NodeId concat, int layout) const {
    const std::vector<NumberedPlace>& places = places_[at(t)];
    for (std::size_t p = 0; p < places.size(); ++p) {
      if (places[p].part_of == concat && places[p].layout == layout) return static_cast<int>(p);
    }
    return kNone;
  }

  void add_tensor(TensorId t) {
    const std::vector<NumberedPlace>& places = places_[at(t)];
    ProblemTensor out{.places = static_cast<int>(places.size())};
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t j = 0; j < places.size(); ++j) {
        out.reorder.push_back(i == j ? 0 : reorder_cost(t, places[i].layout, places[j].layout));
      }
    }
    space_.problem.tensors.push_back(std::move(out));
    std::vector<Place>& named = space_.places.emplace_back();
    for (const NumberedPlace& place : places) {
      named.push_back({finder_.layouts().layout(place.layout), place.part_of, place.part_of_place});
    }
  }

  double reorder_cost(TensorId t, int from, int to) {
    if (!tensor(t).constant()) return finder_.reorder_cost(t, from, to);
    if (options_.runs <= 0) return kUncounted;
    return finder_.reorder_cost(t, from, to) / static_cast<double>(options_.runs);
  }

  PlaceSet places_in(TensorId t, int layout) const {
    PlaceSet out = 0;
    for (std::size_t p = 0; p < places_[at(t)].size(); ++p) {
      if (places_[at(t)][p].layout == layout) out |= PlaceSet{1} << p;
    }
    return out;
  }
  /// By itself in memory.
  int alone(TensorId t, int layout) const { return part_place(t, kNone, layout); }

  std::vector<int> fixed(TensorId t) {
    std::vector<int> out;
    for (const auto& [tensor, layout] : options_.fixed) {
      if (tensor == t) out.push_back(finder_.layouts().id(layout));
    }
    return out;
  }

  void add_operation(NodeId id) {
    const Node& node = graph_.node(id);
    ProblemOperation op;
    std::ranges::copy_if(node.src, std::back_inserter(op.src), [](TensorId t) { return t != kNone; });
    std::ranges::copy_if(node.dst, std::back_inserter(op.dst), [](TensorId t) { return t != kNone; });
    space_.problem.operations.push_back(std::move(op));
    space_.choices.emplace_back();
    if (node.kind == Kind::barrier) {
      add_barrier(node);
    } else if (is_view(node.kind)) {
      for (const auto& [from, to] : views_[at(id)]) add_view(node, from, to);
    } else {
      for (const Offer& offer : offers_[at(id)]) add_way(id, offer);
      if (may_move_nothing(node) && options_.concat_in_place) add_parts(id);
    }
    tidy(id);
  }

  ProblemOperation& last() { return space_.problem.operations.back(); }

  void add_choice(ProblemChoice choice, NodeChoice meaning, const Offer* offer) {
    last().choices.push_back(std::move(choice));
    space_.choices.back().push_back(std::move(meaning));
    choice_offers_[space_.choices.size() - 1].push_back(offer);
  }

  void add_barrier(const Node& node) {
    ProblemChoice choice;
    NodeChoice meaning{.implementation = {.name = "barrier"}};
    for (TensorId t : node.src) {
      if (t != kNone) choice.src.push_back(places_in(t, plain(t)));
    }
    for (TensorId t : node.dst) {
      if (t != kNone) choice.dst.push_back(alone(t, plain(t)));
    }
    add_choice(std::move(choice), std::move(meaning), nullptr);
  }

  NodeChoice view_choice(const std::vector<int>& src, int dst) {
    NodeChoice out{.implementation = {.name = "view"}};
    for (int layout : src) out.implementation.src.emplace_back(finder_.layouts().layout(layout));
    out.implementation.dst.emplace_back(finder_.layouts().layout(dst));
    return out;
  }

  void add_view(const Node& node, int from, int to) {
    const int place = alone(node.dst[0], to);
    if (place == kNone) return;
    add_choice({.src = {places_in(node.src[0], from)}, .dst = {place}}, view_choice({from}, to), nullptr);
  }

  void add_parts(NodeId id) {
    const Node& node = graph_.node(id);
    const std::vector<NumberedPlace>& wholes = places_[at(node.dst[0])];
    for (std::size_t q = 0; q < wholes.size(); ++q) {
      ProblemChoice choice{.dst = {static_cast<int>(q)}};
      std::vector<int> layouts;
      for (std::size_t i = 0; i < node.src.size(); ++i) {
        const std::optional<int> part = part_layout(node, i, wholes[q].layout);
        const int place = part ? part_place(node.src[i], id, *part) : kNone;
        if (place == kNone) break;
        choice.src.push_back(PlaceSet{1} << place);
        layouts.push_back(*part);
      }
      if (layouts.size() < node.src.size()) continue;
      add_choice(std::move(choice), view_choice(layouts, wholes[q].layout), nullptr);
    }
  }

  /// The first destination may lie anywhere in its layout, by itself or as a part.
  void add_way(NodeId id, const Offer& offer) {
    const Node& node = graph_.node(id);
    ProblemChoice choice{.cost = offer.way.cost};
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      if (node.src[i] == kNone) continue;
      choice.src.push_back(places_in(node.src[i], offer.way.src[i]));
      if (choice.src.back() == 0) return;
    }
    for (std::size_t i = 0; i < node.dst.size(); ++i) {
      if (node.dst[i] == kNone) continue;
      choice.dst.push_back(alone(node.dst[i], offer.way.dst[i]));
      if (choice.dst.back() == kNone) return;
    }
    add_hint(id, offer, choice);
    const NodeChoice meaning{.implementation = offer.way.implementation};
    if (node.dst[0] != kNone) {
      for (PlaceSet left = places_in(node.dst[0], offer.way.dst[0]); left != 0; left &= left - 1) {
        choice.dst[0] = std::countr_zero(left);
        add_choice(choice, meaning, &offer);
      }
    } else {
      add_choice(choice, meaning, &offer);
    }
    if (offer.way.in_place_cost == kImpossible) return;
    choice.src[0] = PlaceSet{1} << alone(node.src[0], offer.way.src[0]);
    choice.dst[0] = alone(node.dst[0], offer.way.dst[0]);
    choice.cost = offer.way.in_place_cost;
    add_choice(choice, {.implementation = offer.way.implementation, .in_place = true}, &offer);
  }

  void add_hint(NodeId id, const Offer& offer, ProblemChoice& choice) {
    const NodeId hint = graph_.node(id).hint;
    if (offer.forward.empty() || offer.forward.size() == offers_[at(hint)].size()) return;
    const std::vector<const Offer*>& made = choice_offers_[at(hint)];
    for (std::size_t c = 0; c < made.size(); ++c) {
      const auto is_it = [&](const Way* way) { return made[c] != nullptr && way == &made[c]->way; };
      if (std::ranges::any_of(offer.forward, is_it)) choice.with_hint.push_back(static_cast<int>(c));
    }
    last().hint = space_.first_node + hint;
  }

  /// Choices that are nothing but dearer than another go, and those that make no fixed layout.
  void tidy(NodeId id) {
    const Node& node = graph_.node(id);
    ProblemOperation& op = last();
    std::vector<ProblemChoice> choices;
    std::vector<NodeChoice> meanings;
    std::vector<const Offer*> offers;
    // A forward way may be dearer for what comes back.
    const bool is_hint = std::ranges::any_of(graph_.nodes, [&](const Node& other) { return other.hint == id; });
    const auto covers = [&](std::size_t i, std::size_t j) {
      const ProblemChoice &a = op.choices[i], &b = op.choices[j];
      if (a.cost > b.cost || a.dst != b.dst || a.with_hint != b.with_hint) return false;
      if (is_hint && choice_offers_[at(id)][i] != choice_offers_[at(id)][j]) return false;
      for (std::size_t k = 0; k < a.src.size(); ++k) {
        if ((b.src[k] & ~a.src[k]) != 0) return false;
      }
      return true;
    };
    for (std::size_t c = 0; c < op.choices.size(); ++c) {
      const ProblemChoice& choice = op.choices[c];
      bool stays = makes_fixed(op, choice);
      for (std::size_t other = 0; other < op.choices.size() && stays; ++other) {
        const bool equal = covers(c, other);
        stays = other == c || !covers(other, c) || (equal && c < other);
      }
      if (!stays) continue;
      choices.push_back(choice);
      meanings.push_back(space_.choices.back()[c]);
      offers.push_back(choice_offers_[at(id)][c]);
    }
    if (choices.empty()) {
      throw Error(ErrorCode::unsupported,
                  "optimize: no way to run " + described(graph_, node) + " in the layouts that are fixed", "node",
                  escaped(node.name));
    }
    op.choices = std::move(choices);
    space_.choices.back() = std::move(meanings);
    choice_offers_[at(id)] = std::move(offers);
  }

  bool makes_fixed(const ProblemOperation& op, const ProblemChoice& choice) {
    for (std::size_t i = 0; i < op.dst.size(); ++i) {
      const std::vector<NumberedPlace>& places = places_[at(op.dst[i])];
      for (int layout : fixed(op.dst[i])) {
        if (places[at(choice.dst[i])].layout != layout) return false;
      }
    }
    return true;
  }

  /// An input or constant: an input without a fixed layout arrives in any.
  void add_source(TensorId t) {
    ProblemOperation op{.dst = {t}};
    const std::vector<int> wanted = fixed(t);
    const bool given = tensor(t).constant() || tensor(t).layout;
    for (std::size_t p = 0; p < places_[at(t)].size(); ++p) {
      const NumberedPlace& place = places_[at(t)][p];
      if (place.part_of != kNone || (given && p > 0)) continue;
      if (!given && !finder_.layouts().layout(place.layout).injective_with_padding()) continue;
      if (!given && !wanted.empty() && wanted[0] != place.layout) continue;
      op.choices.push_back({.dst = {static_cast<int>(p)}});
    }
    space_.problem.operations.push_back(std::move(op));
  }

  /// In memory of its own, so that it leaves without another copy.
  void add_output(TensorId t) {
    PlaceSet any = 0;
    for (std::size_t p = 0; p < places_[at(t)].size(); ++p) {
      const NumberedPlace& place = places_[at(t)][p];
      const bool wanted = !tensor(t).layout || place.layout == finder_.layouts().id(*tensor(t).layout);
      if (place.part_of == kNone && wanted) any |= PlaceSet{1} << p;
    }
    space_.problem.operations.push_back({.src = {t}, .choices = {{.src = {any}}}});
  }

  const Graph& graph_;
  const Backend& backend_;
  const OptimizeOptions& options_;
  WayFinder finder_;
  std::vector<NodeId> producers_;
  std::vector<std::vector<NodeId>> consumers_;
  std::vector<std::vector<NumberedPlace>> places_;        // by tensor
  std::vector<std::vector<Offer>> offers_;                // by node
  std::vector<std::vector<std::pair<int, int>>> views_;   // by node: layouts of source and destination
  std::vector<std::vector<const Offer*>> choice_offers_;  // by node and choice
  ChoiceSpace space_;
};

}  // namespace

ChoiceSpace choice_space(const Graph& graph, const Backend& backend, Costs& costs, const OptimizeOptions& options) {
  return SpaceBuilder(graph, backend, costs, options).run();
}

}  // namespace relayout::graph
