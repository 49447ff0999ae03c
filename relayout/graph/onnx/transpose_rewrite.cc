// Writes the list of nodes anew, by a division into orders of dims: see transposing.h.
#include <algorithm>

#include "relayout/core/view.h"
#include "relayout/graph/onnx/transposing.h"

namespace relayout::graph::importing {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;

/// A constant as a tensor of the model.
void add_constant(Moving& moving, const std::string& name, const Dims& dims, int data_type, std::string bytes) {
  ::onnx::TensorProto* tensor = moving.model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(data_type);
  for (const int64_t dim : dims) tensor->add_dims(dim);
  tensor->set_raw_data(std::move(bytes));
  // Adding one may have moved those that are pointed to.
  moving.constants.clear();
  for (const auto& constant : moving.model.graph().initializer()) moving.constants[constant.name()] = &constant;
}

void set_order(NodeProto& node, const Order& order) {
  AttributeProto* perm = nullptr;
  for (AttributeProto& found : *node.mutable_attribute()) {
    if (found.name() == "perm") perm = &found;
  }
  if (perm == nullptr) perm = node.add_attribute();
  perm->set_name("perm");
  perm->set_type(AttributeProto::INTS);
  perm->mutable_ints()->Assign(order.begin(), order.end());
}

class Rewriter {
 public:
  Rewriter(Moving& moving, const Order& order, const std::vector<bool>& division)
      : moving_(moving), order_(order), division_(division) {
    old_.Swap(moving.model.mutable_graph()->mutable_node());
  }

  void run() {
    for (int n = 0; n < old_.size(); ++n) {
      for (const std::string& output : old_.Get(n).output()) makers_[output] = &old_.Get(n);
      if (order_of(moving_, old_.Get(n))) names_[old_.Get(n).output(0)] = old_.Get(n).name();
    }
    rename_moved();
    for (int n = 0; n < old_.size(); ++n) {
      if (!order_of(moving_, old_.Get(n))) add(n);
    }
    for (const std::string& name : moving_.needed) finish(name);
  }

 private:
  bool moved(int n) const { return division_[static_cast<std::size_t>(n)]; }

  /// What a moved node makes gets another name, because the old one is the tensor in the file's order.
  void rename_moved() {
    for (int n = 0; n < old_.size(); ++n) {
      if (!moved(n)) continue;
      for (const std::string& output : old_.Get(n).output()) {
        if (output.empty()) continue;
        have_[output] = order_;
        stored_[output] = new_name(moving_, output);
        TensorFacts facts = moving_.facts[output];
        if (facts.known) facts.dims = in_order(facts.dims, order_);
        moving_.facts[stored_[output]] = facts;
      }
    }
  }

  static Dims in_order(const Dims& dims, const Order& order) {
    Dims out;
    for (const int d : order) out.push_back(dims[d]);
    return out;
  }

  const std::string& stored(const std::string& root) const {
    const auto found = stored_.find(root);
    return found == stored_.end() ? root : found->second;
  }

  /// The name of a root's tensor in an order; makes the Transpose where it is wanted for the first time. It keeps the
  /// name of the node that made it in the file, where one did.
  std::string in(const std::string& root, const Order& wanted, const std::string& as, const std::string& node_name) {
    const auto have = have_.find(root);
    const Order now = have == have_.end() ? identity(static_cast<int>(wanted.size())) : have->second;
    if (now == wanted) return stored(root);
    const auto made = made_.find({root, wanted});
    if (made != made_.end()) return made->second;
    if (moving_.constants.contains(root)) return made_[{root, wanted}] = reordered_constant(moving_, root, wanted);
    NodeProto* node = moving_.model.mutable_graph()->add_node();
    const std::string name = as.empty() ? new_name(moving_, root) : as;
    node->set_op_type("Transpose");
    const bool free = !node_name.empty() && used_.insert(node_name).second;
    node->set_name(free ? node_name : new_name(moving_, "moved_transpose"));
    node->add_input(stored(root));
    node->add_output(name);
    set_order(*node, after(inverse(now), wanted));
    TensorFacts facts = moving_.facts[root];
    if (facts.known) facts.dims = in_order(facts.dims, wanted);
    moving_.facts[name] = facts;
    return made_[{root, wanted}] = name;
  }

  /// The name by which a node reads a tensor of the file.
  std::string read(const std::string& name, bool other) {
    const Root root = root_of(makers_, moving_, name);
    if (!other && root.name == name && !have_.contains(name)) return name;
    const auto known = names_.find(name);
    if (!other) return in(root.name, root.order, keep_name(root, name), known == names_.end() ? "" : known->second);
    if (root.order.size() != order_.size()) return with_rank(name);
    return in(root.name, after(root.order, order_), "", known == names_.end() ? "" : known->second);
  }

  /// The file's own name for a tensor that is transposed, unless its root has that name now.
  std::string keep_name(const Root& root, const std::string& name) const {
    const bool taken = name == root.name && !stored_.contains(name);
    return taken ? "" : name;
  }

  /// A constant of fewer dims, with dims of extent 1 in front, in the new order.
  std::string with_rank(const std::string& name) {
    const ::onnx::TensorProto& constant = *moving_.constants.at(name);
    Import scratch;
    const Value value = constant_of(scratch, constant, name);
    Dims dims;
    while (dims.size() + value.dims.size() < static_cast<int>(order_.size())) dims.push_back(1);
    for (const int64_t dim : value.dims) dims.push_back(dim);
    const std::string made = new_name(moving_, name);
    const auto* bytes = reinterpret_cast<const char*>(value.data->data());
    add_constant(moving_, made, dims, constant.data_type(), std::string(bytes, value.data->size()));
    moving_.facts[made] = {dims, value.dtype, true, true};
    return reordered_constant(moving_, made, order_);
  }

  void add(int n) {
    NodeProto node = old_.Get(n);
    if (moved(n)) rename_axes(moving_, node, order_);
    for (int i = 0; i < node.input_size(); ++i) {
      if (node.input(i).empty() || !moving_.facts[node.input(i)].known) continue;
      const bool other = moved(n) && i < old_.Get(n).input_size() && node.input(i) == old_.Get(n).input(i) &&
                         carries_dims(moving_, old_.Get(n), i, static_cast<int>(order_.size()));
      if (moved(n) && !other && moving_.constants.contains(node.input(i))) continue;
      node.set_input(i, read(node.input(i), other));
    }
    if (moved(n)) {
      for (int i = 0; i < node.output_size(); ++i) {
        if (!node.output(i).empty()) node.set_output(i, stored(node.output(i)));
      }
    }
    *moving_.model.mutable_graph()->add_node() = std::move(node);
  }

  /// A name that the outside reads has to be there in the file's order.
  void finish(const std::string& name) {
    const Root root = root_of(makers_, moving_, name);
    if (root.name == name && !have_.contains(name)) return;
    const std::string found = read(name, false);
    if (found == name) return;
    // Another name holds what is wanted: its maker writes the wanted name instead, if nobody outside wants that too.
    const bool made_here = std::ranges::any_of(moving_.model.graph().node(), [&](const NodeProto& node) {
      return std::ranges::find(node.output(), found) != node.output().end();
    });
    if (made_here && !moving_.needed.contains(found)) {
      replace(found, name);
      return;
    }
    NodeProto* node = moving_.model.mutable_graph()->add_node();
    node->set_op_type("Identity");
    node->set_name(new_name(moving_, "same"));
    node->add_input(found);
    node->add_output(name);
  }

  void replace(const std::string& from, const std::string& to) {
    for (NodeProto& node : *moving_.model.mutable_graph()->mutable_node()) {
      for (std::string& input : *node.mutable_input()) {
        if (input == from) input = to;
      }
      for (std::string& output : *node.mutable_output()) {
        if (output == from) output = to;
      }
    }
    for (auto& [root, name] : stored_) {
      if (name == from) name = to;
    }
    for (auto& [key, name] : made_) {
      if (name == from) name = to;
    }
  }

  Moving& moving_;
  const Order& order_;
  const std::vector<bool>& division_;
  google::protobuf::RepeatedPtrField<NodeProto> old_;
  std::unordered_map<std::string, const NodeProto*> makers_;
  std::unordered_map<std::string, std::string> names_;   // of the file's Transposes, by what they make
  std::unordered_map<std::string, Order> have_;          // the orders of what moved nodes make
  std::unordered_map<std::string, std::string> stored_;  // its new names
  std::map<std::pair<std::string, Order>, std::string> made_;
  std::set<std::string> used_;  // names of Transposes
};

}  // namespace

std::string new_name(Moving& moving, const std::string& from) {
  for (;;) {
    const std::string name = from + "__" + std::to_string(++moving.made);
    if (!moving.facts.contains(name)) return name;
  }
}

std::string add_integers(Moving& moving, const std::vector<int64_t>& values) {
  const std::string name = new_name(moving, "integers");
  const Dims dims{static_cast<int64_t>(values.size())};
  add_constant(moving, name, dims, ::onnx::TensorProto::INT64,
               std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)));
  moving.facts[name] = {dims, DType::s64, true, true};
  return name;
}

std::string reordered_constant(Moving& moving, const std::string& name, const Order& order) {
  const ::onnx::TensorProto& constant = *moving.constants.at(name);
  Import scratch;
  const Value value = constant_of(scratch, constant, name);
  const Layout view = permute(Layout::contiguous(value.dims), order);
  const auto size = static_cast<std::size_t>(bits(value.dtype) / 8);
  std::string bytes(value.data->size(), '\0');
  Dims index;
  for (int d = 0; d < view.ndims(); ++d) index.push_back(0);
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const auto from = static_cast<std::size_t>(view.offset(index)) * size;
    for (std::size_t k = 0; k < size; ++k) bytes[at + k] = static_cast<char>((*value.data)[from + k]);
    for (int d = view.ndims() - 1; d >= 0 && ++index[d] == view.dim(d); --d) index[d] = 0;
  }
  const std::string made = new_name(moving, name);
  const int data_type = constant.data_type();
  add_constant(moving, made, view.dims(), data_type, std::move(bytes));
  moving.facts[made] = {view.dims(), value.dtype, true, true};
  return made;
}

void rewrite(Moving& moving, const Order& order, const std::vector<bool>& division) {
  Rewriter(moving, order, division).run();
}

}  // namespace relayout::graph::importing
