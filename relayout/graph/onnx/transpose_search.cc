// The search for the operators that should work in another order of dims: see transposing.h.
//
// What a division costs is a sum over tensors that no Transpose makes ("roots"): of each, one transposition for every
// order that somebody wants and that it does not have. Readers behind a chain of Transposes want the chain's order.
// Starting from no operator, and from all that are connected, operators change sides one by one for as long as the sum
// falls; the better of both ends is taken.
#include <algorithm>
#include <numeric>

#include "relayout/graph/onnx/transposing.h"

namespace relayout::graph::importing {
namespace {

using ::onnx::NodeProto;

/// A reader of a root: the order of the chain in front of it, and the node, or none for a reader that keeps its order.
struct Want {
  Order order;
  int node;
};

struct RootTensor {
  int maker = -1;  // the node, if it may work in another order
  bool constant = false;
  TensorFacts facts;
  std::vector<Want> wants;
};

class Division {
 public:
  Division(const Moving& moving, const Order& order) : moving_(moving), order_(order) { collect(); }

  std::vector<bool> best(double* cost) {
    const std::size_t count = free_.size();
    std::vector<bool> none(count, false), all = free_;
    const double first = improve(none), second = improve(all);
    const std::vector<bool>& found = second < first ? all : none;
    *cost = std::min(first, second);
    return found;
  }

 private:
  void collect() {
    const auto& graph = moving_.model.graph();
    const int rank = static_cast<int>(order_.size());
    std::unordered_map<std::string, const NodeProto*> makers;
    std::unordered_map<std::string, int> number;
    for (int n = 0; n < graph.node_size(); ++n) {
      for (const std::string& output : graph.node(n).output()) makers[output] = &graph.node(n), number[output] = n;
      free_.push_back(!order_of(moving_, graph.node(n)) && works_in_any_order(moving_, graph.node(n), rank));
    }
    touched_.resize(free_.size());
    const auto want = [&](const std::string& name, int node) {
      const auto facts = moving_.facts.find(name);
      if (facts == moving_.facts.end() || !facts->second.known) return;
      const Root root = root_of(makers, moving_, name);
      const auto [found, added] = by_name_.try_emplace(root.name, static_cast<int>(roots_.size()));
      if (added) {
        RootTensor& made = roots_.emplace_back();
        const auto at = number.find(root.name);
        if (at != number.end() && free_[static_cast<std::size_t>(at->second)]) made.maker = at->second;
        made.constant = moving_.constants.contains(root.name);
        const auto root_facts = moving_.facts.find(root.name);
        if (root_facts != moving_.facts.end()) made.facts = root_facts->second;
        if (made.maker >= 0) touched_[static_cast<std::size_t>(made.maker)].push_back(found->second);
      }
      roots_[static_cast<std::size_t>(found->second)].wants.push_back({root.order, node});
      if (node >= 0) touched_[static_cast<std::size_t>(node)].push_back(found->second);
    };
    for (int n = 0; n < graph.node_size(); ++n) {
      const NodeProto& node = graph.node(n);
      if (order_of(moving_, node)) continue;
      for (int i = 0; i < node.input_size(); ++i) {
        const bool free = free_[static_cast<std::size_t>(n)] && carries_dims(moving_, node, i, rank);
        if (!node.input(i).empty()) want(node.input(i), free ? n : -1);
      }
    }
    for (const std::string& name : moving_.needed) want(name, -1);
  }

  double cost_of(const RootTensor& root, const std::vector<bool>& division) const {
    if (root.constant) return 0;
    const bool moved = root.maker >= 0 && division[static_cast<std::size_t>(root.maker)];
    std::set<Order> wanted;
    for (const Want& want : root.wants) {
      const bool other = want.node >= 0 && division[static_cast<std::size_t>(want.node)];
      Order order = want.order;
      if (other) order = order.size() == order_.size() ? after(order, order_) : order;
      wanted.insert(order);
    }
    const Order have = moved ? order_ : identity(root.facts.dims.size());
    double out = 0;
    for (const Order& order : wanted) {
      if (order != have) out += moving_.cost(root.facts.dims, root.facts.dtype, order);
    }
    return out;
  }

  double whole(const std::vector<bool>& division) const {
    double out = 0;
    for (const RootTensor& root : roots_) out += cost_of(root, division);
    return out;
  }

  double touching(std::size_t node, const std::vector<bool>& division) const {
    double out = 0;
    std::set<int> seen;
    for (const int root : touched_[node]) {
      if (seen.insert(root).second) out += cost_of(roots_[static_cast<std::size_t>(root)], division);
    }
    return out;
  }

  /// Changes sides while that lowers the sum; returns it.
  double improve(std::vector<bool>& division) const {
    for (int pass = 0; pass < 50; ++pass) {
      bool changed = false;
      for (std::size_t n = 0; n < free_.size(); ++n) {
        if (!free_[n]) continue;
        const double before = touching(n, division);
        division[n] = !division[n];
        if (touching(n, division) < before * (1 - 1e-9))
          changed = true;
        else
          division[n] = !division[n];
      }
      if (!changed) break;
    }
    return whole(division);
  }

  const Moving& moving_;
  const Order& order_;
  std::vector<bool> free_;
  std::vector<RootTensor> roots_;
  std::unordered_map<std::string, int> by_name_;
  std::vector<std::vector<int>> touched_;  // the roots that a node makes or reads
};

}  // namespace

Order identity(int rank) {
  Order out(static_cast<std::size_t>(rank));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Order after(const Order& first, const Order& second) {
  Order out;
  for (const int d : second) out.push_back(first[static_cast<std::size_t>(d)]);
  return out;
}

Order inverse(const Order& order) {
  Order out(order.size());
  for (std::size_t d = 0; d < order.size(); ++d) out[static_cast<std::size_t>(order[d])] = static_cast<int>(d);
  return out;
}

Root root_of(const std::unordered_map<std::string, const NodeProto*>& makers, const Moving& moving,
             const std::string& name) {
  const auto facts = moving.facts.find(name);
  Root out{name, identity(facts == moving.facts.end() ? 0 : facts->second.dims.size())};
  for (auto maker = makers.find(out.name); maker != makers.end(); maker = makers.find(out.name)) {
    const auto order = order_of(moving, *maker->second);
    if (!order || order->size() != out.order.size()) break;
    out.order = after(*order, out.order);
    out.name = maker->second->input(0);
  }
  return out;
}

std::vector<bool> best_division(const Moving& moving, const Order& order, double* cost) {
  return Division(moving, order).best(cost);
}

}  // namespace relayout::graph::importing
