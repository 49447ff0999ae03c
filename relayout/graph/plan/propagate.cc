// The policies as one walk over the nodes: requests for a node's operands, the backend's answer, reorders to it.
#include "relayout/graph/plan/propagate.h"

#include <algorithm>

#include "relayout/graph/ir/described.h"
#include "relayout/graph/ir/ops.h"
#include "relayout/graph/plan/layout_names.h"
#include "relayout/graph/plan/layout_requests.h"

namespace relayout::graph {
namespace {

class Propagation {
 public:
  Propagation(const Graph& graph, const Backend& backend, const PropagateOptions& options)
      : graph_(graph),
        backend_(backend),
        options_(options),
        main_(graph.tensors.size(), kNone),
        copies_(graph.tensors.size()),
        chosen_(graph.nodes.size()),
        producers_(producers(graph)),
        weights_(weights_of(graph)),
        context_{graph, options, weights_, [this](TensorId t) { return current(t); }} {
    plan_.policy = name(options.policy);
    plan_.backend = backend.name();
    plan_.threads = backend.threads();
    plan_.nodes.resize(graph.nodes.size());
  }

  LayoutPlan run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) plan_node(static_cast<NodeId>(n));
    for (TensorId t : graph_.outputs) {
      const Tensor& tensor = graph_.tensor(t);
      const CopyId made = main(t);
      plan_.outputs.push_back(tensor.layout ? copy_in(t, *tensor.layout, "the graph's output has a fixed layout")
                                            : made);
    }
    for (TensorId t : graph_.inputs) plan_.inputs.push_back(main(t));
    return std::move(plan_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }

  /// The copy of an input or constant, in its fixed layout or row-major.
  CopyId given(TensorId t) {
    if (main_[at(t)] == kNone) {
      main_[at(t)] = add({.tensor = t, .layout = current(t)});
    }
    return main_[at(t)];
  }

  /// The copy that the producer of a tensor wrote.
  CopyId main(TensorId t) { return main_[at(t)] != kNone ? main_[at(t)] : given(t); }

  /// The layout of the copy that main() gives, without making one.
  Layout current(TensorId t) const {
    if (main_[at(t)] != kNone) return plan_.copy(main_[at(t)]).layout;
    const Tensor& tensor = graph_.tensor(t);
    return tensor.layout && !tensor.constant() ? *tensor.layout : Layout::contiguous(tensor.dims);
  }

  CopyId add(Copy copy) {
    const auto id = static_cast<CopyId>(plan_.copies.size());
    copies_[at(copy.tensor)].push_back(id);
    plan_.copies.push_back(std::move(copy));
    return id;
  }

  /// A copy of that tensor in that layout: an existing one, or one that a new reorder makes. An input without a fixed
  /// layout arrives in the layout that its first reader needs.
  CopyId copy_in(TensorId t, const Layout& layout, std::string reason, const std::optional<Opaque>& opaque = {}) {
    const Tensor& tensor = graph_.tensor(t);
    if (main_[at(t)] == kNone && !tensor.layout && !tensor.constant())
      return main_[at(t)] = add({.tensor = t, .layout = layout});
    const CopyId first = main(t);
    for (CopyId copy : copies_[at(t)]) {
      if (plan_.copy(copy).layout == layout && plan_.copy(copy).opaque == opaque) return copy;
    }
    return add({.tensor = t, .layout = layout, .opaque = opaque, .from = first, .reason = std::move(reason)});
  }

  void plan_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (is_view(node.kind) && plan_view(id)) return;
    if (node.kind == Kind::barrier) return plan_barrier(id);
    const Implementation* forward = node.hint == kNone ? nullptr : &chosen_[at(node.hint)];
    const Implementation found = implementation_for(id, forward);
    PlannedNode& planned = plan_.nodes[at(id)];
    planned.implementation = found.name;
    planned.reference = found.reference;
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      const TensorId t = node.src[i];
      planned.src.push_back(t == kNone ? kNone
                                       : copy_in(t, *found.src[i], reason_of(id, found, i), found.opaque_src(i)));
    }
    for (std::size_t i = 0; i < node.dst.size(); ++i) {
      const TensorId t = node.dst[i];
      if (t != kNone) main_[at(t)] = add({.tensor = t, .layout = *found.dst[i]});
      planned.dst.push_back(t == kNone ? kNone : main_[at(t)]);
    }
    chosen_[at(id)] = found;
  }

  /// Plans a view of the source as it is, or else of a row-major copy. Returns false if even a view of the row-major
  /// copy would have to move data.
  bool plan_view(NodeId id) {
    const Node& node = graph_.node(id);
    const TensorId src = node.src[0], dst = node.dst[0];
    CopyId of = main(src);
    std::optional<Layout> layout = view_layout(node, plan_.copy(of).layout);
    if (!layout) {
      const Layout plain = Layout::contiguous(graph_.tensor(src).dims);
      layout = view_layout(node, plain);
      if (!layout) return false;
      of = copy_in(src, plain, std::string(name(node.kind)) + " " + node.name + " is a view of row-major data only");
    }
    main_[at(dst)] = add({.tensor = dst, .layout = *layout, .view_of = of});
    plan_.nodes[at(id)] = {.implementation = "view", .src = {of}, .dst = {main_[at(dst)]}};
    return true;
  }

  std::optional<Layout> view_layout(const Node& node, const Layout& src) const {
    try {
      return view_of(graph_, node, src).canonical();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::needs_copy) return std::nullopt;
      throw;
    }
  }

  void plan_barrier(NodeId id) {
    const Node& node = graph_.node(id);
    PlannedNode& planned = plan_.nodes[at(id)];
    planned.implementation = "barrier";
    for (TensorId t : node.src) {
      planned.src.push_back(t == kNone ? kNone
                                       : copy_in(t, Layout::contiguous(graph_.tensor(t).dims),
                                                 node.name + " is an unknown operator, which takes row-major data"));
    }
    for (TensorId t : node.dst) {
      if (t != kNone) main_[at(t)] = add({.tensor = t, .layout = Layout::contiguous(graph_.tensor(t).dims)});
      planned.dst.push_back(t == kNone ? kNone : main_[at(t)]);
    }
  }

  /// What the backend offers to a program that asks for layouts alone.
  std::vector<Implementation> offered(NodeId id, const LayoutRequests& requests, const Implementation* forward) const {
    std::vector<Implementation> out = backend_.implementations(graph_, id, requests.src, requests.dst, forward);
    std::erase_if(out, [&](const Implementation& one) { return one.rounds_more || writes_twice(id, one); });
    return out;
  }

  /// Whether a result, or a source that has to be reordered, would have a layout in which elements share memory: that
  /// of a source that is broadcast, which was requested of other operands too.
  bool writes_twice(NodeId id, const Implementation& one) const {
    const Node& node = graph_.node(id);
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      const TensorId t = node.src[i];
      if (t != kNone && one.src[i] != current(t) && !one.src[i]->injective_with_padding()) return true;
    }
    return std::ranges::any_of(one.dst, [](const auto& dst) { return dst && !dst->injective_with_padding(); });
  }

  /// The first implementation that is not a slow reference, for the policy's requests in their order. If the first
  /// request is met, this is the backend's first choice; for later ones, it is the implementation whose sources need
  /// the least reordering.
  Implementation implementation_for(NodeId id, const Implementation* forward) {
    const RequestList list = requests_of(context_, id);
    if (options_.policy == Policy::openvino) {
      if (auto found = most_matching(id, list, forward)) return *std::move(found);
    }
    std::optional<Implementation> slow;
    bool met = true;
    for (const LayoutRequests& requests : list.requests) {
      std::vector<Implementation> found = offered(id, requests, forward);
      const auto fast =
          std::stable_partition(found.begin(), found.end(), [](const auto& one) { return !one.reference; });
      if (fast != found.begin()) {
        const auto least = std::min_element(found.begin(), fast, [&](const auto& a, const auto& b) {
          return reordered_elements(id, a) < reordered_elements(id, b);
        });
        return std::move(met ? found.front() : *least);
      }
      if (!slow && !found.empty()) slow = std::move(found.front());
      met = false;
    }
    if (slow) return *slow;
    throw Error(ErrorCode::unsupported,
                "propagate: " + backend_.name() + " has no way to run " + described(graph_, graph_.node(id)), "node",
                escaped(graph_.node(id).name));
  }

  /// OpenVINO's choice: an implementation of the best family; of these, one with the most sources that are in its
  /// layouts already; of these, the first.
  std::optional<Implementation> most_matching(NodeId id, const RequestList& list, const Implementation* forward) {
    std::optional<Implementation> best;
    std::pair<int, int> best_rank;
    for (std::size_t i = 0; i < list.preferred; ++i) {
      for (Implementation& implementation : offered(id, list.requests[i], forward)) {
        const std::pair<int, int> rank = {family(id, implementation), -matching_sources(id, implementation)};
        if (best && rank >= best_rank) continue;
        best_rank = rank;
        best = std::move(implementation);
      }
    }
    return best && !best->reference ? std::move(best) : std::nullopt;
  }

  /// The rank of an implementation's family: generated code, then general matrix multiplication, then references.
  int family(NodeId id, const Implementation& implementation) const {
    if (implementation.reference) return 2;
    return backend_.performance(graph_, id, implementation).multiplies_matrices ? 1 : 0;
  }

  /// Sources that are in the layouts of an implementation already. Constants always count.
  int matching_sources(NodeId id, const Implementation& implementation) const {
    const Node& node = graph_.node(id);
    int out = 0;
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      const TensorId t = node.src[i];
      if (t != kNone) out += context_.is_weights(t) || current(t) == *implementation.src[i];
    }
    return out;
  }

  /// Elements of the sources that exist in no copy of the layout that an implementation needs.
  int64_t reordered_elements(NodeId id, const Implementation& implementation) const {
    const Node& node = graph_.node(id);
    int64_t out = 0;
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      const TensorId t = node.src[i];
      if (t == kNone || graph_.tensor(t).constant()) continue;
      const auto is_it = [&](CopyId copy) { return plan_.copy(copy).layout == *implementation.src[i]; };
      if (std::ranges::none_of(copies_[at(t)], is_it)) out += implementation.src[i]->elements();
    }
    return out;
  }

  std::string reason_of(NodeId id, const Implementation& found, std::size_t operand) {
    const Node& node = graph_.node(id);
    const TensorId t = node.src[operand];
    const NodeId maker = producers_[at(t)];
    const std::string from = maker == kNone
                                 ? (graph_.tensor(t).constant() ? "the constant is stored as " : "the input is ")
                                 : graph_.node(maker).name + " gives ";
    return std::string(name(node.kind)) + " " + node.name + " (" + found.name + ") takes " +
           names_.of(t, *found.src[operand], found.opaque_src(operand)) + "; " + from + names_.of(t, current(t));
  }

  const Graph& graph_;
  const Backend& backend_;
  const PropagateOptions& options_;
  LayoutPlan plan_;
  std::vector<CopyId> main_;
  std::vector<std::vector<CopyId>> copies_;
  std::vector<Implementation> chosen_;
  std::vector<NodeId> producers_;
  std::vector<bool> weights_;
  RequestContext context_;
  const LayoutNames names_{graph_};
};

}  // namespace

LayoutPlan propagate(const Graph& graph, const Backend& backend, const PropagateOptions& options) {
  return Propagation(graph, backend, options).run();
}

}  // namespace relayout::graph
