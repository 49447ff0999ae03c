// Lists a plan's steps, and checks that each of them reads copies that were written: see order.h.
#include "relayout/execute/run/order.h"

#include <algorithm>

#include "relayout/graph/ir/ops.h"

namespace relayout::execute {

using graph::Copy;
using graph::CopyId;
using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::LayoutPlan;
using graph::Node;
using graph::NodeId;
using graph::PlannedNode;
using graph::TensorId;

namespace {

/// What the memory of a copy holds at the present step.
enum class Contents : uint8_t { nothing, values, overwritten };

class Ordering {
 public:
  Ordering(const Graph& graph, const LayoutPlan& plan)
      : graph_(graph), plan_(plan), contents_(plan.copies.size(), Contents::nothing), given_(plan.copies.size()) {}

  PlanOrder run() {
    for (CopyId id : plan_.inputs) give(id);
    for (std::size_t i = 0; i < plan_.copies.size(); ++i) {
      const Copy& copy = plan_.copies[i];
      if (tensor(static_cast<CopyId>(i)).constant() && copy.from == kNone && copy.view_of == kNone) {
        give(static_cast<CopyId>(i));
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) add_node(static_cast<NodeId>(n));
    for (CopyId id : plan_.outputs) read(id, "the graph's output");
    return std::move(out_);
  }

 private:
  const graph::Tensor& tensor(CopyId id) const { return graph_.tensor(plan_.copy(id).tensor); }
  Contents& contents(CopyId id) { return contents_[static_cast<std::size_t>(id)]; }

  [[noreturn]] void refuse(CopyId id, const std::string& what) const {
    const std::string name = escaped(tensor(id).name);
    throw Error(ErrorCode::invalid_argument, "plan: copy " + std::to_string(id) + " of tensor \"" + name + "\" " + what,
                name, std::to_string(id));
  }

  void give(CopyId id) {
    if (plan_.copy(id).view_of != kNone) refuse(id, "is given from outside, and lies in another's memory");
    given_[static_cast<std::size_t>(id)] = true;
    contents(id) = Contents::values;
  }

  /// Inserts the reorders that make a copy before it is read.
  void read(CopyId id, const std::string& reader) {
    const Copy& copy = plan_.copy(id);
    if (contents(id) == Contents::nothing && copy.from != kNone) {
      read(copy.from, "a reorder");
      write(id);
      const bool once = tensor(root_of(plan_, id)).constant();
      (once ? out_.load : out_.run).push_back({.reorder = id});
    }
    if (contents(id) == Contents::values) return;
    refuse(id, "is read by " + reader +
                   (contents(id) == Contents::nothing ? ", and nothing has written it" : ", and has been overwritten"));
  }

  void write(CopyId id) {
    if (given_[static_cast<std::size_t>(root_of(plan_, id))])
      refuse(id, "is written into memory of an input or constant");
    contents(id) = Contents::values;
  }

  /// Whether one copy lies in the memory of the other, or both are the same.
  bool related(CopyId a, CopyId b) const {
    const auto lies_in = [&](CopyId inner, CopyId outer) {
      while (inner != kNone && inner != outer) inner = plan_.copy(inner).view_of;
      return inner == outer;
    };
    return lies_in(a, b) || lies_in(b, a);
  }

  void add_node(NodeId id) {
    const Node& node = graph_.node(id);
    const PlannedNode& planned = plan_.nodes[static_cast<std::size_t>(id)];
    for (CopyId src : planned.src) {
      if (src != kNone) read(src, escaped(node.name));
    }
    if (planned.implementation == "view") return add_view(node, planned);
    out_.run.push_back({.node = id});
    for (CopyId dst : planned.dst) {
      if (dst == kNone) continue;
      for (CopyId src : planned.src) {
        if (src != kNone && is_in_place(plan_, src, dst)) overwrite(src);
      }
      write(dst);
    }
  }

  void overwrite(CopyId src) {
    for (std::size_t i = 0; i < plan_.copies.size(); ++i) {
      const auto other = static_cast<CopyId>(i);
      if (contents(other) == Contents::values && related(other, src)) contents(other) = Contents::overwritten;
    }
  }

  void add_view(const Node& node, const PlannedNode& planned) {
    const CopyId dst = planned.dst.at(0);
    if (node.kind == Kind::concat) {
      for (std::size_t i = 0; i < planned.src.size(); ++i) {
        const Copy& part = plan_.copy(planned.src[i]);
        const auto place = graph::concat_part(graph_, node, i, plan_.copy(dst).layout);
        if (part.view_of != dst || !place || part.layout != *place) {
          refuse(planned.src[i], "is no part of the destination of " + escaped(node.name));
        }
      }
    } else if (plan_.copy(dst).view_of != planned.src.at(0)) {
      refuse(dst, "is no view of the source of " + escaped(node.name));
    }
    contents(dst) = Contents::values;
  }

  const Graph& graph_;
  const LayoutPlan& plan_;
  PlanOrder out_;
  std::vector<Contents> contents_;
  std::vector<bool> given_;  // by copy: an input, or a constant as the graph has it
};

}  // namespace

CopyId root_of(const LayoutPlan& plan, CopyId copy) {
  while (plan.copy(copy).view_of != kNone) copy = plan.copy(copy).view_of;
  return copy;
}

bool is_in_place(const LayoutPlan& plan, CopyId src, CopyId dst) { return plan.copy(dst).view_of == src; }

std::pair<NodeId, std::size_t> first_reader(const LayoutPlan& plan, CopyId copy) {
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const std::vector<CopyId>& src = plan.nodes[n].src;
    const auto found = std::find(src.begin(), src.end(), copy);
    if (found != src.end()) return {static_cast<NodeId>(n), static_cast<std::size_t>(found - src.begin())};
  }
  return {kNone, 0};
}

PlanOrder order_of(const Graph& graph, const LayoutPlan& plan) { return Ordering(graph, plan).run(); }

}  // namespace relayout::execute
