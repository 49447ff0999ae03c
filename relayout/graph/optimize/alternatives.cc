// Collects the alternatives: asks for the candidates of each node, follows views, and finds the concats that need not
// move data. See alternatives.h.
#include "relayout/graph/optimize/alternatives.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "relayout/graph/ir/described.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::graph {
namespace {

/// The most layouts of a tensor in memory of its own. Placements as parts of concats, and the layouts that candidates
/// need to make a required layout, come on top.
constexpr std::size_t kMaxLayouts = 20;
/// The most concats into which one tensor may be written. If each layer reads all earlier ones, as in DenseNet, every
/// further concat would double the sets of placements. Later concats are taken first.
constexpr std::size_t kMaxWholes = 3;

class Collector {
 public:
  Collector(const Graph& graph, const Backend& backend, const OptimizeOptions& options, CandidateFinder& finder)
      : graph_(graph),
        backend_(backend),
        options_(options),
        finder_(finder),
        producers_(producers(graph)),
        consumers_(consumers(graph)) {
    out_.placements.resize(graph.tensors.size());
    out_.implementations.resize(graph.nodes.size());
    out_.views.resize(graph.nodes.size());
    out_.concats.resize(graph.nodes.size());
  }

  Alternatives run() {
    add_given_placements();
    add_wanted_placements();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) collect(static_cast<NodeId>(n));
    for (std::size_t t = 0; t < out_.placements.size(); ++t) {
      if (out_.placements[t].empty()) add_layout(static_cast<TensorId>(t), plain(static_cast<TensorId>(t)));
    }
    if (options_.concat_in_place) {
      // The placements of a part follow from those of the concat's destination, which may itself be part of a later
      // concat: so concats are taken from the last to the first.
      for (std::size_t n = graph_.nodes.size(); n-- > 0;) add_part_placements(static_cast<NodeId>(n));
    }
    out_.left_out = left_out_.size();
    return std::move(out_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  const Tensor& tensor(TensorId t) const { return graph_.tensor(t); }
  int plain(TensorId t) { return finder_.layouts().id(Layout::contiguous(tensor(t).dims)); }

  void add_layout(TensorId t, int layout, bool wanted = false) {
    std::vector<NumberedPlacement>& placements = out_.placements[at(t)];
    if (std::ranges::find(placements, layout, &NumberedPlacement::layout) != placements.end()) return;
    if (placements.size() < (wanted ? std::size_t{solve::kMaxPlacements} : kMaxLayouts)) {
      placements.push_back({layout});
    } else {
      left_out_.insert({t, layout, kNone});
    }
  }

  /// Adds row-major placements of constants, and placements of inputs in their fixed layouts.
  void add_given_placements() {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto t = static_cast<TensorId>(i);
      if (tensor(t).constant()) {
        add_layout(t, plain(t));
      } else if (producers_[i] == kNone && tensor(t).layout) {
        add_layout(t, finder_.layouts().id(*tensor(t).layout));
      }
    }
  }

  /// Layouts that a plan must have are added before those that it may have, so that no limit leaves them out.
  void add_wanted_placements() {
    for (const auto& [t, layout] : options_.fixed) wanted_.emplace(t, finder_.layouts().id(layout));
    for (TensorId t : graph_.outputs) {
      if (tensor(t).layout) wanted_.emplace(t, finder_.layouts().id(*tensor(t).layout));
    }
    for (const auto& [t, layout] : wanted_) add_layout(t, layout, true);
    if (left_out_.empty()) return;
    const TensorId t = std::get<0>(*left_out_.begin());
    throw Error(ErrorCode::limit,
                "optimize: over " + std::to_string(solve::kMaxPlacements) + " layouts are fixed of \"" +
                    escaped(tensor(t).name) + "\"",
                "fixed", escaped(tensor(t).name), std::to_string(solve::kMaxPlacements));
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
    for (const NumberedPlacement& placement : out_.placements[at(node.src[0])]) {
      const bool of_view =
          producers_[at(node.src[0])] != kNone && is_view(graph_.node(producers_[at(node.src[0])]).kind);
      // Kernels accept padding of channels only, and kernels of prelu accept no unusual order of dims.
      const bool known = node.kind != Kind::prelu && !finder_.layouts().layout(placement.layout).padded();
      if (of_view && known && std::ranges::find(usual, placement.layout) == usual.end())
        leads.push_back(placement.layout);
    }
    std::vector<ImplementationAlternative>& alternatives = out_.implementations[at(id)];
    const bool in_place = may_run_in_place(id);
    if (node.hint == kNone || node.forward()) {
      for (const Candidate& candidate : finder_.candidates(id, leads, nullptr, in_place))
        alternatives.push_back({candidate, {}});
    } else if (!follows_forward(node.kind)) {
      for (const Candidate& candidate :
           finder_.candidates(id, leads, &out_.implementations[at(node.hint)][0].candidate, false))
        alternatives.push_back({candidate, {}});
    } else {
      collect_backward(id);
    }
    if (alternatives.empty()) {
      throw Error(ErrorCode::unsupported,
                  "optimize: " + backend_.name() + " has no way to run " + described(graph_, node), "node",
                  escaped(node.name));
    }
    for (const ImplementationAlternative& alternative : alternatives) {
      bool wanted = false;
      for (std::size_t i = 0; i < node.dst.size(); ++i) {
        wanted |= wanted_.contains({node.dst[i], alternative.candidate.dst[i]});
      }
      for (std::size_t i = 0; i < node.src.size(); ++i) {
        if (node.src[i] != kNone) add_layout(node.src[i], alternative.candidate.src[i], wanted);
      }
      for (std::size_t i = 0; i < node.dst.size(); ++i) {
        if (node.dst[i] != kNone) add_layout(node.dst[i], alternative.candidate.dst[i], wanted);
      }
    }
  }

  /// A candidate that is possible with several forward candidates is listed once, with all of them.
  void collect_backward(NodeId id) {
    std::vector<ImplementationAlternative>& alternatives = out_.implementations[at(id)];
    for (const ImplementationAlternative& forward : out_.implementations[at(graph_.node(id).hint)]) {
      for (const Candidate& candidate : finder_.candidates_with(id, forward.candidate)) {
        const auto known = std::ranges::find_if(alternatives, [&](const ImplementationAlternative& other) {
          return other.candidate.cost == candidate.cost && other.candidate.src == candidate.src &&
                 other.candidate.dst == candidate.dst &&
                 other.candidate.implementation->name == candidate.implementation->name;
        });
        if (known == alternatives.end()) {
          alternatives.push_back({candidate, {&forward.candidate}});
        } else {
          known->forward.push_back(&forward.candidate);
        }
      }
    }
  }

  void collect_view(NodeId id) {
    const Node& node = graph_.node(id);
    const TensorId src = node.src[0], dst = node.dst[0];
    add_layout(src, plain(src));
    for (const NumberedPlacement& placement : out_.placements[at(src)]) {
      try {
        const int view =
            finder_.layouts().id(view_of(graph_, node, finder_.layouts().layout(placement.layout)).canonical());
        add_layout(dst, view);
        out_.views[at(id)].push_back({placement.layout, view});
      } catch (const Error& error) {
        if (error.code() != ErrorCode::needs_copy) throw;
      }
    }
  }

  /// Whether the destination may be written over the first source: if nothing reads the source afterwards, and its
  /// memory is not shared with another tensor.
  bool may_run_in_place(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!options_.in_place || !can_overwrite_source(graph_, node)) return false;
    const TensorId src = node.src[0], dst = node.dst[0];
    const NodeId maker = producers_[at(src)];
    if (maker == kNone || is_view(graph_.node(maker).kind) || graph_.node(maker).kind == Kind::concat) return false;
    if (tensor(src).dims != tensor(dst).dims || bits(tensor(src).dtype) != bits(tensor(dst).dtype)) return false;
    const std::vector<NodeId>& readers = consumers_[at(src)];
    return readers.back() == id && std::ranges::count(node.src, src) == 1 &&
           std::ranges::find(graph_.outputs, src) == graph_.outputs.end() &&
           std::ranges::none_of(readers, [&](NodeId n) { return is_view(graph_.node(n).kind); });
  }

  /// Whether a concat can have its sources written into its destination: they must be distinct tensors, and none may be
  /// constant.
  bool may_move_nothing(const Node& node) const {
    if (node.kind != Kind::concat) return false;
    return std::ranges::all_of(
               node.src, [&](TensorId t) { return !tensor(t).constant() && std::ranges::count(node.src, t) == 1; }) &&
           !Layout::contiguous(tensor(node.dst[0]).dims).empty();
  }

  /// Adds the placements of a concat's sources as parts of its destination. With channels last, or with several images,
  /// such a part has gaps, which reorders can write but few primitives. In row-major or blocked layouts of one image it
  /// is as dense as in memory of its own.
  void add_part_placements(NodeId id) {
    const Node& node = graph_.node(id);
    if (!may_move_nothing(node)) return;
    const std::size_t wholes = out_.placements[at(node.dst[0])].size();
    for (std::size_t q = 0; q < wholes; ++q) {
      const int whole = out_.placements[at(node.dst[0])][q].layout;
      std::vector<int> layouts;
      for (std::size_t i = 0; i < node.src.size(); ++i) {
        const std::optional<Layout> part = concat_part(graph_, node, i, finder_.layouts().layout(whole));
        if (!part) break;
        layouts.push_back(finder_.layouts().id(*part));
      }
      const auto is_full = [&](TensorId t) {
        std::set<NodeId> concats = {id};
        for (const NumberedPlacement& placement : out_.placements[at(t)]) {
          if (placement.part_of != kNone) concats.insert(placement.part_of);
        }
        return out_.placements[at(t)].size() >= std::size_t{solve::kMaxPlacements} || concats.size() > kMaxWholes;
      };
      if (layouts.size() < node.src.size()) continue;
      if (std::ranges::any_of(node.src, is_full)) {
        left_out_.insert({node.dst[0], whole, id});
        continue;
      }
      ConcatAlternative alternative{static_cast<int>(q), {}};
      for (std::size_t i = 0; i < node.src.size(); ++i) {
        if (out_.placement(node.src[i], layouts[i], id) == kNone) {
          out_.placements[at(node.src[i])].push_back({layouts[i], id, static_cast<int>(q)});
        }
        alternative.src.push_back(out_.placement(node.src[i], layouts[i], id));
      }
      out_.concats[at(id)].push_back(std::move(alternative));
    }
  }

  const Graph& graph_;
  const Backend& backend_;
  const OptimizeOptions& options_;
  CandidateFinder& finder_;
  const std::vector<NodeId> producers_;
  const std::vector<std::vector<NodeId>> consumers_;
  Alternatives out_;
  /// The layouts that are fixed, and those in which outputs are returned.
  std::set<std::pair<TensorId, int>> wanted_;
  /// Layouts that were left out: of a tensor in memory of its own, or of a concat's destination that its sources would
  /// be written into.
  std::set<std::tuple<TensorId, int, NodeId>> left_out_;
};

}  // namespace

int Alternatives::placement(TensorId tensor, int layout, NodeId part_of) const {
  const std::vector<NumberedPlacement>& all = placements[static_cast<std::size_t>(tensor)];
  const auto is_it = [&](const NumberedPlacement& placement) {
    return placement.part_of == part_of && placement.layout == layout;
  };
  const auto found = std::ranges::find_if(all, is_it);
  return found == all.end() ? kNone : static_cast<int>(found - all.begin());
}

Alternatives collect_alternatives(const Graph& graph, const Backend& backend, const OptimizeOptions& options,
                                  CandidateFinder& finder) {
  return Collector(graph, backend, options, finder).run();
}

}  // namespace relayout::graph
