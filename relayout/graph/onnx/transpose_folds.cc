// Transpositions that move nothing, or that a neighbour can do as well: see transposing.h.
#include <algorithm>

#include "relayout/core/view.h"
#include "relayout/graph/onnx/transposing.h"

namespace relayout::graph::importing {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;

class Folds {
 public:
  explicit Folds(Moving& moving) : moving_(moving) {
    for (NodeProto& node : *moving.model.mutable_graph()->mutable_node()) {
      for (const std::string& output : node.output()) makers_[output] = &node;
    }
  }

  bool run() {
    bool changed = false;
    for (NodeProto& node : *moving_.model.mutable_graph()->mutable_node()) {
      const auto order = order_of(moving_, node);
      if (order) changed = still(node, *order) || shuffle_back(node, *order) || changed;
      if (node.op_type() == "Gemm" || node.op_type() == "MatMul") changed = into_product(node) || changed;
    }
    drop_unread();
    return changed;
  }

 private:
  const TensorFacts* sure(const std::string& name) const {
    const auto found = moving_.facts.find(name);
    return found != moving_.facts.end() && found->second.known && found->second.fixed ? &found->second : nullptr;
  }

  /// Only dims of extent 1 change places: a Reshape gives the same, and moves nothing.
  bool still(NodeProto& node, const Order& order) {
    const TensorFacts* facts = sure(node.input(0));
    if (!facts) return false;
    const Layout view = permute(Layout::contiguous(facts->dims), order);
    if (!(view == Layout::contiguous(view.dims()))) return false;
    make_reshape(node, node.input(0), view.dims());
    return true;
  }

  /// A Transpose behind a Reshape behind a Transpose, by which every element is back where it was.
  bool shuffle_back(NodeProto& node, const Order& order) {
    const auto middle = makers_.find(node.input(0));
    if (middle == makers_.end() || middle->second->op_type() != "Reshape") return false;
    const auto first = makers_.find(middle->second->input(0));
    if (first == makers_.end()) return false;
    const auto first_order = order_of(moving_, *first->second);
    const TensorFacts *src = sure(first->second->input(0)), *between = sure(node.input(0));
    if (!first_order || !src || !between) return false;
    try {
      const Layout moved = permute(Layout::contiguous(src->dims), *first_order);
      const Layout whole = permute(view(moved, between->dims), order);
      if (!(whole == Layout::contiguous(whole.dims()))) return false;
      make_reshape(node, first->second->input(0), whole.dims());
      return true;
    } catch (const Error&) {  // no view: the elements are in another order
      return false;
    }
  }

  void make_reshape(NodeProto& node, std::string source, const Dims& dims) {
    node.set_op_type("Reshape");
    node.clear_attribute();
    node.clear_input();
    node.add_input(std::move(source));
    node.add_input(add_integers(moving_, std::vector<int64_t>(dims.begin(), dims.end())));
  }

  /// A matrix that is transposed in front of a product: Gemm reads it as it is.
  bool into_product(NodeProto& node) {
    bool changed = false;
    for (int side = 0; side < 2; ++side) {
      const auto maker = makers_.find(node.input(side));
      if (maker == makers_.end() || !order_of(moving_, *maker->second) || maker->second->input_size() == 0) continue;
      const auto facts = moving_.facts.find(maker->second->input(0));
      if (facts == moving_.facts.end() || !facts->second.known || facts->second.dims.size() != 2) continue;
      if (*order_of(moving_, *maker->second) != Order{1, 0}) continue;
      if (node.op_type() == "MatMul" && !becomes_gemm(node)) return changed;
      toggle(node, side == 0 ? "transA" : "transB");
      node.set_input(side, maker->second->input(0));
      changed = true;
    }
    return changed;
  }

  bool becomes_gemm(NodeProto& node) const {
    for (const std::string& input : node.input()) {
      const auto facts = moving_.facts.find(input);
      if (facts == moving_.facts.end() || !facts->second.known || facts->second.dims.size() != 2) return false;
      if (facts->second.dtype != DType::f32) return false;
    }
    for (const auto& opset : moving_.model.opset_import()) {
      if (standard_domain(opset.domain()) && opset.version() < 11) return false;  // Gemm had three operands
    }
    node.set_op_type("Gemm");
    return true;
  }

  static void toggle(NodeProto& node, const char* name) {
    for (AttributeProto& found : *node.mutable_attribute()) {
      if (found.name() != name) continue;
      found.set_i(found.i() == 0 ? 1 : 0);
      return;
    }
    AttributeProto* added = node.add_attribute();
    added->set_name(name);
    added->set_type(AttributeProto::INT);
    added->set_i(1);
  }

  /// Transposes and Reshapes that nobody reads any more.
  void drop_unread() {
    auto* nodes = moving_.model.mutable_graph()->mutable_node();
    for (bool changed = true; changed;) {
      changed = false;
      std::set<std::string> read(moving_.needed.begin(), moving_.needed.end());
      for (const NodeProto& node : *nodes) read.insert(node.input().begin(), node.input().end());
      for (int n = nodes->size() - 1; n >= 0; --n) {
        const NodeProto& node = nodes->Get(n);
        if ((node.op_type() != "Transpose" && node.op_type() != "Reshape") || read.contains(node.output(0))) continue;
        nodes->DeleteSubrange(n, 1);
        changed = true;
      }
    }
  }

  Moving& moving_;
  std::unordered_map<std::string, NodeProto*> makers_;
};

}  // namespace

bool fold_into_neighbours(Moving& moving) { return Folds(moving).run(); }

}  // namespace relayout::graph::importing
