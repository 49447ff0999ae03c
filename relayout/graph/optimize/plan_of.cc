// Turns an assignment into a layout plan: which copies there are, in whose memory, and the reason of each reorder.
#include <algorithm>
#include <bit>

#include "relayout/graph/ir/ops.h"
#include "relayout/graph/optimize/optimize.h"
#include "relayout/graph/plan/layout_names.h"

namespace relayout::graph {
namespace {

class PlanMaker {
 public:
  PlanMaker(const Graph& graph, const ChoiceSpace& space, const solve::Assignment& assignment)
      : graph_(graph), space_(space), assignment_(assignment), producers_(producers(graph)) {
    plan_.nodes.resize(graph.nodes.size());
    written_.resize(graph.tensors.size(), kNone);
    copies_.resize(graph.tensors.size());
  }

  LayoutPlan run() {
    make_copies();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) plan_node(static_cast<NodeId>(n));
    for (TensorId t : graph_.inputs) plan_.inputs.push_back(copy_at(t, written_[at(t)]));
    plan_outputs();
    for (std::size_t c = 0; c < plan_.copies.size(); ++c) resolve(static_cast<CopyId>(c));
    drop_unread();
    for (std::size_t c = 0; c < plan_.copies.size(); ++c) {
      if (plan_.copies[c].from != kNone) plan_.copies[c].reason = reason_of(static_cast<CopyId>(c));
    }
    return std::move(plan_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  const solve::ProblemOperation& operation(std::size_t i) const { return space_.problem.operations[i]; }
  const solve::ProblemChoice& choice(std::size_t i) const { return operation(i).choices[at(assignment_.choice[i])]; }
  std::size_t operation_of(NodeId id) const { return at(space_.first_node + id); }
  const NodeChoice& meaning(NodeId id) const {
    return space_.choices[at(id)][at(assignment_.choice[operation_of(id)])];
  }
  const Placement& placement(TensorId t, int p) const { return space_.placements[at(t)][at(p)]; }
  CopyId copy_at(TensorId t, int p) const { return copies_[at(t)][at(p)]; }

  /// Makes one copy for each placement in which a tensor exists.
  void make_copies() {
    for (std::size_t t = 0; t < copies_.size(); ++t) copies_[t].resize(space_.placements[t].size(), kNone);
    for (std::size_t i = 0; i < space_.problem.operations.size(); ++i) {
      for (std::size_t d = 0; d < operation(i).dst.size(); ++d) {
        const TensorId t = operation(i).dst[d];
        written_[at(t)] = choice(i).dst[d];
        add(t, written_[at(t)], kNone);
      }
    }
    for (std::size_t t = 0; t < copies_.size(); ++t) {
      for (const solve::PlacementReorder& reorder : assignment_.reorders[t]) {
        const auto tensor = static_cast<TensorId>(t);
        add(tensor, reorder.to, copy_at(tensor, reorder.from));
      }
    }
  }

  void add(TensorId t, int p, CopyId from) {
    copies_[at(t)][at(p)] = static_cast<CopyId>(plan_.copies.size());
    placements_.push_back(p);
    plan_.copies.push_back(
        {.tensor = t, .layout = placement(t, p).layout, .opaque = placement(t, p).opaque, .from = from});
  }

  /// One of `placements` in which the tensor exists: the one that its producer wrote, if that is among them.
  int pick(TensorId t, solve::PlacementSet placements) const {
    const int written = written_[at(t)];
    if (written != kNone && (placements >> written & 1) != 0) return written;
    for (solve::PlacementSet left = placements; left != 0; left &= left - 1) {
      const int p = std::countr_zero(left);
      if (copy_at(t, p) != kNone) return p;
    }
    throw Error(ErrorCode::invalid_argument,
                "plan: the assignment makes \"" + escaped(graph_.tensor(t).name) + "\" in no placement that is read");
  }

  void plan_node(NodeId id) {
    const Node& node = graph_.node(id);
    const solve::ProblemChoice& chosen = choice(operation_of(id));
    PlannedNode& planned = plan_.nodes[at(id)];
    planned.implementation = meaning(id).implementation->name;
    planned.reference = meaning(id).implementation->reference;
    planned.rounds_more = meaning(id).implementation->rounds_more;
    std::size_t s = 0, d = 0;
    for (TensorId t : node.src) {
      planned.src.push_back(t == kNone ? kNone : copy_at(t, pick(t, chosen.src[s++])));
    }
    for (TensorId t : node.dst) planned.dst.push_back(t == kNone ? kNone : copy_at(t, chosen.dst[d++]));
    Copy& dst = plan_.copies[at(planned.dst[0] == kNone ? 0 : planned.dst[0])];
    if (meaning(id).in_place) dst.view_of = planned.src[0];
    if (planned.implementation != "view") return;
    if (node.kind != Kind::concat) dst.view_of = planned.src[0];
    if (node.kind != Kind::concat) return;
    for (CopyId part : planned.src) plan_.copies[at(part)].view_of = planned.dst[0];
  }

  void plan_outputs() {
    // Outputs are the last operations.
    std::size_t i = space_.problem.operations.size() - graph_.outputs.size();
    for (TensorId t : graph_.outputs) plan_.outputs.push_back(copy_at(t, pick(t, choice(i++).src[0])));
  }

  /// The layout of a copy in another's memory, which is known once the other one is.
  void resolve(CopyId id) {
    Copy& copy = plan_.copies[at(id)];
    if (copy.view_of == kNone || (resolved_.resize(plan_.copies.size()), resolved_[at(id)])) return;
    resolved_[at(id)] = true;
    resolve(copy.view_of);
    const Copy& of = plan_.copies[at(copy.view_of)];
    const NodeId part_of = placement(copy.tensor, placements_[at(id)]).part_of;
    if (part_of != kNone && graph_.node(part_of).dst[0] == of.tensor) {
      const std::vector<TensorId>& parts = graph_.node(part_of).src;
      const auto i = static_cast<std::size_t>(std::ranges::find(parts, copy.tensor) - parts.begin());
      copy.layout = concat_part(graph_, graph_.node(part_of), i, of.layout).value();
    } else if (const Node& maker = graph_.node(producers_[at(copy.tensor)]); is_view(maker.kind)) {
      copy.layout = view_of(graph_, maker, of.layout).canonical();
    } else {
      copy.layout = of.layout;  // in place
    }
  }

  /// Removes copies that nothing reads: an assignment may contain reorders that cost nothing and have no reader.
  void drop_unread() {
    for (bool more = true; more;) {
      more = false;
      const std::vector<int> readers = count_readers();
      for (std::size_t c = plan_.copies.size(); c-- > 0;) {
        if (plan_.copies[c].from == kNone || readers[c] > 0) continue;
        remove(static_cast<CopyId>(c));
        more = true;
        break;
      }
    }
  }

  std::vector<int> count_readers() const {
    std::vector<int> out(plan_.copies.size());
    const auto read = [&](CopyId id) { out[at(id == kNone ? 0 : id)] += id != kNone; };
    for (const PlannedNode& node : plan_.nodes) std::ranges::for_each(node.src, read);
    std::ranges::for_each(plan_.outputs, read);
    for (const Copy& copy : plan_.copies) read(copy.from), read(copy.view_of);
    return out;
  }

  void remove(CopyId gone) {
    plan_.copies.erase(plan_.copies.begin() + gone);
    const auto renumber = [&](CopyId& id) { id -= id > gone; };
    for (Copy& copy : plan_.copies) renumber(copy.from), renumber(copy.view_of);
    for (PlannedNode& node : plan_.nodes)
      std::ranges::for_each(node.src, renumber), std::ranges::for_each(node.dst, renumber);
    std::ranges::for_each(plan_.inputs, renumber);
    std::ranges::for_each(plan_.outputs, renumber);
  }

  std::string reason_of(CopyId id) const {
    const Copy& copy = plan_.copies[at(id)];
    const bool constant = graph_.tensor(copy.tensor).constant();
    std::string readers, concat;
    const auto add_reader = [&](const std::string& text) { readers += (readers.empty() ? "" : " and ") + text; };
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n) {
      const PlannedNode& planned = plan_.nodes[n];
      if (std::ranges::find(planned.src, id) == planned.src.end()) continue;
      const Node& node = graph_.nodes[n];
      const bool into = node.kind == Kind::concat && copy.view_of == planned.dst[0];
      if (into) concat = node.name;
      if (!into) add_reader(std::string(name(node.kind)) + " " + node.name + " (" + planned.implementation + ")");
    }
    if (std::ranges::find(plan_.outputs, id) != plan_.outputs.end()) add_reader("the graph's output");
    for (const Copy& other : plan_.copies) {
      if (other.from == id) add_reader("a reorder to " + names_.of(other));
    }
    const NodeId maker = producers_[at(copy.tensor)];
    const Copy& from = plan_.copies[at(copy.from)];
    const std::string origin = from.from != kNone ? "there is "
                               : maker != kNone   ? graph_.node(maker).name + " gives "
                               : constant         ? "the constant is stored as "
                                                  : "the input is ";
    const std::string take = readers.find(" and ") == std::string::npos ? " takes " : " take ";
    std::string reason =
        concat.empty() ? readers + take + names_.of(copy) : "a copy into the result of concat " + concat;
    if (!concat.empty() && !readers.empty()) reason += ", where " + readers + take + "it, too";
    return reason + "; " + origin + names_.of(from);
  }

  const Graph& graph_;
  const ChoiceSpace& space_;
  const solve::Assignment& assignment_;
  const std::vector<NodeId> producers_;
  const LayoutNames names_{graph_};
  LayoutPlan plan_;
  std::vector<int> written_;                 // by tensor: the placement
  std::vector<std::vector<CopyId>> copies_;  // by tensor and placement
  std::vector<int> placements_;              // by copy
  std::vector<bool> resolved_;
};

}  // namespace

LayoutPlan plan_of(const Graph& graph, const ChoiceSpace& space, const solve::Assignment& assignment) {
  return PlanMaker(graph, space, assignment).run();
}

LayoutPlan plan_of(const Graph& graph, const Backend& backend, const ChoiceSpace& space,
                   const solve::Assignment& assignment) {
  LayoutPlan out = plan_of(graph, space, assignment);
  out.policy = "optimal";
  out.backend = backend.name();
  out.threads = backend.threads();
  return out;
}

}  // namespace relayout::graph
