// move_transposes(): reads a model, tries the orders of dims that its Transposes have, and says what became of each.
#include <algorithm>

#include "relayout/graph/onnx/transposes.h"
#include "relayout/graph/onnx/transposing.h"

namespace relayout::graph {
namespace {

using importing::Moving;
using importing::Order;
using ::onnx::ModelProto;
using ::onnx::NodeProto;

bool is_input(const ModelProto& model, const std::string& name) {
  return std::ranges::any_of(model.graph().input(), [&](const auto& input) { return input.name() == name; });
}

void state_facts(Moving& moving, const ::onnx::ValueInfoProto& info) {
  const auto& type = info.type().tensor_type();
  if (!info.type().has_tensor_type() || !type.has_shape() || type.shape().dim_size() > kMaxDims) return;
  importing::TensorFacts facts{.known = true, .fixed = true};
  try {
    facts.dtype = importing::dtype_of(type.elem_type(), info.name());
  } catch (const Error&) {
    return;
  }
  for (const auto& dim : type.shape().dim()) {
    const bool given = dim.has_dim_value() && dim.dim_value() >= 0;
    facts.fixed = facts.fixed && given;
    facts.dims.push_back(given ? dim.dim_value() : 1);
  }
  moving.facts.try_emplace(info.name(), facts);
}

/// Whether every input has all its dims, so that what follows from them holds whenever the model is run.
bool all_fixed(const ModelProto& model) {
  return std::ranges::all_of(model.graph().input(), [](const auto& input) {
    return std::ranges::all_of(input.type().tensor_type().shape().dim(),
                               [](const auto& dim) { return dim.has_dim_value() && dim.dim_value() >= 0; });
  });
}

/// Dims and types of all tensors: as the importer computes them or, of a model that it does not take, as they are
/// stated.
void find_facts(Moving& moving, const OnnxOptions& options, const std::filesystem::path& folder,
                std::vector<std::string>& notes) {
  ModelProto copy = moving.model;
  importing::Import import;
  import.options = options;
  if (import.options.unknown_extent == 0) import.options.unknown_extent = 1;
  import.folder = folder;
  const bool fixed = all_fixed(moving.model);
  try {
    importing::import_model(import, copy);
    for (const auto& [name, value] : import.values) {
      if (import.guessed.contains(name)) continue;
      moving.facts[name] = {value.dims, value.dtype, true, fixed || moving.constants.contains(name)};
    }
  } catch (const Error& error) {
    notes.push_back("Dims are those that the file states, because the model is not read: " + error.message());
  }
  for (const auto& info : moving.model.graph().value_info()) state_facts(moving, info);
  for (const auto& info : moving.model.graph().input()) state_facts(moving, info);
  for (const auto& info : moving.model.graph().output()) state_facts(moving, info);
  for (const auto& [name, tensor] : moving.constants) {
    Dims dims;
    for (const int64_t dim : tensor->dims()) dims.push_back(dim);
    try {
      moving.facts[name] = {dims, importing::dtype_of(tensor->data_type(), name), true, true};
    } catch (const Error&) {
      continue;
    }
  }
}

std::string words(const NodeProto& node) { return node.op_type() + " (" + importing::node_name(node) + ")"; }

std::vector<OnnxTranspose> listed(const Moving& moving) {
  std::vector<OnnxTranspose> out;
  const auto& graph = moving.model.graph();
  for (const NodeProto& node : graph.node()) {
    const auto order = importing::order_of(moving, node);
    if (!order) continue;
    OnnxTranspose& made = out.emplace_back(OnnxTranspose{.name = importing::node_name(node), .perm = *order});
    made.source = node.input(0);
    made.result = node.output(0);
    const auto facts = moving.facts.find(made.source);
    if (facts != moving.facts.end() && facts->second.known)
      made.dims = facts->second.dims, made.dtype = facts->second.dtype;
    made.maker = is_input(moving.model, made.source) ? "the model's input" : "a constant";
    made.reader = moving.needed.contains(made.result) ? "its output" : "nobody";
    for (const NodeProto& other : graph.node()) {
      if (std::ranges::find(other.output(), made.source) != other.output().end()) made.maker = words(other);
      if (std::ranges::find(other.input(), made.result) != other.input().end() && made.reader == "nobody")
        made.reader = words(other);
    }
  }
  return out;
}

double total(const Moving& moving, const std::vector<OnnxTranspose>& all) {
  double out = 0;
  for (const OnnxTranspose& transpose : all) {
    if (!moving.constants.contains(transpose.source))
      out += moving.cost(transpose.dims, transpose.dtype, transpose.perm);
  }
  return out;
}

/// The orders that are tried: those of the model's Transposes and their inverses.
std::set<Order> orders_of(const Moving& moving) {
  std::set<Order> out;
  for (const NodeProto& node : moving.model.graph().node()) {
    if (const auto order = importing::order_of(moving, node)) {
      out.insert(*order);
      out.insert(importing::inverse(*order));
    }
  }
  return out;
}

bool of_constants(const Moving& moving) {
  return std::ranges::any_of(moving.model.graph().node(), [&](const NodeProto& node) {
    return importing::order_of(moving, node) && moving.constants.contains(node.input(0));
  });
}

/// All that nodes and the outside read.
std::set<std::string> names_read_in(const Moving& moving) {
  std::set<std::string> out = moving.needed;
  for (const NodeProto& node : moving.model.graph().node()) {
    for (const std::string& name : importing::names_read(node)) out.insert(name);
  }
  return out;
}

/// Drops constants that were read before, or made since, and that nobody reads now.
void drop_constants(Moving& moving, const std::set<std::string>& before) {
  const std::set<std::string> now = names_read_in(moving);
  auto* constants = moving.model.mutable_graph()->mutable_initializer();
  for (int k = constants->size() - 1; k >= 0; --k) {
    const std::string& name = constants->Get(k).name();
    const bool made = name.find("__") != std::string::npos;
    if (now.contains(name) || is_input(moving.model, name) || !(made || before.contains(name))) continue;
    moving.constants.erase(name);
    constants->DeleteSubrange(k, 1);
  }
}

/// Why a transposition is not in the new model.
std::string reason(const Moving& moving, const OnnxTranspose& gone, const std::vector<OnnxTranspose>& all) {
  if (moving.constants.contains(gone.source)) return "Its source is a constant, which can be kept transposed.";
  for (const OnnxTranspose& other : all) {
    const bool pair = other.result == gone.source || gone.result == other.source;
    if (pair && importing::after(other.perm, gone.perm) == importing::identity(static_cast<int>(gone.perm.size())))
      return "It and " + other.name + " undo each other.";
  }
  if (gone.dims.size() == static_cast<int>(gone.perm.size())) {
    int last = -1;
    bool still = true;
    for (const int d : gone.perm) {
      if (gone.dims[d] == 1) continue;
      still = still && d > last;
      last = d;
    }
    if (still) return "Only dims of extent 1 change places, so that a Reshape does it.";
  }
  if (gone.reader.starts_with("Gemm") || gone.reader.starts_with("MatMul"))
    return gone.reader + " can read the matrix as it is, by transA or transB.";
  return "What lies between it and the other transpositions, from " + gone.maker + " to " + gone.reader +
         ", works in any order of dims with its axes renamed.";
}

void mark_removed(const Moving& moving, OnnxTransposes& out) {
  std::set<std::string> left;
  for (const OnnxTranspose& transpose : out.after) left.insert(transpose.name);
  for (OnnxTranspose& transpose : out.before) {
    transpose.removed = !left.contains(transpose.name);
    transpose.why = transpose.removed
                        ? reason(moving, transpose, out.before)
                        : transpose.maker + " makes one order of dims, and " + transpose.reader + " wants another.";
  }
}

/// What rewrite() changes of a model, to take it back.
class BeforeRewrite {
 public:
  explicit BeforeRewrite(const Moving& moving)
      : nodes_(moving.model.graph().node()),
        facts_(moving.facts),
        constants_(moving.model.graph().initializer_size()) {}

  void restore(Moving& moving) {
    auto* constants = moving.model.mutable_graph()->mutable_initializer();
    constants->DeleteSubrange(constants_, constants->size() - constants_);
    moving.constants.clear();
    for (const auto& constant : *constants) moving.constants[constant.name()] = &constant;
    moving.model.mutable_graph()->mutable_node()->Swap(&nodes_);
    moving.facts = std::move(facts_);
  }

 private:
  google::protobuf::RepeatedPtrField<NodeProto> nodes_;
  std::unordered_map<std::string, importing::TensorFacts> facts_;
  int constants_;
};

/// Rewrites the model for one order where that lowers the sum of costs without more transpositions, as each is a node
/// that costs something by itself, or frees it of transpositions of constants. What the search promises is an estimate,
/// so that the new model's own sum decides. Returns whether it did.
bool improve(Moving& moving, const Order& order) {
  double promised = 0;
  const std::vector<bool> division = importing::best_division(moving, order, &promised);
  const std::vector<OnnxTranspose> old = listed(moving);
  const double now = total(moving, old), less = now * (1 - 1e-9);
  const bool constants = of_constants(moving);
  if (promised >= less && !constants) return false;
  BeforeRewrite before(moving);
  importing::rewrite(moving, order, division);
  const std::vector<OnnxTranspose> made = listed(moving);
  const double then = total(moving, made);
  if ((then < less && made.size() <= old.size()) || (then <= now && constants && !of_constants(moving))) return true;
  before.restore(moving);
  return false;
}

double plain_bytes(const Dims& dims, DType dtype, const std::vector<int>&) {
  const auto count = checked_product(dims);
  return count ? static_cast<double>(*count) * bits(dtype) / 8 : 1;
}

}  // namespace

namespace importing {

std::optional<Order> order_of(const Moving& moving, const ::onnx::NodeProto& node) {
  if (node.op_type() != "Transpose" || !standard_domain(node.domain()) || node.input_size() != 1) return std::nullopt;
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() != "perm") continue;
    Order order(attribute.ints().begin(), attribute.ints().end());
    Order sorted = order;
    std::ranges::sort(sorted);
    if (sorted != identity(static_cast<int>(order.size()))) return std::nullopt;
    const auto facts = moving.facts.find(node.input(0));
    if (facts == moving.facts.end() || facts->second.dims.size() != static_cast<int>(order.size())) return std::nullopt;
    return order;
  }
  const auto facts = moving.facts.find(node.input(0));
  if (facts == moving.facts.end() || !facts->second.known) return std::nullopt;
  Order order = identity(facts->second.dims.size());
  std::ranges::reverse(order);
  return order;
}

}  // namespace importing

std::vector<OnnxNode> importing::nodes_of(const ModelProto& model) {
  std::set<std::string> constants;
  for (const auto& tensor : model.graph().initializer()) constants.insert(tensor.name());
  std::vector<OnnxNode> out;
  for (const NodeProto& node : model.graph().node()) {
    OnnxNode& made = out.emplace_back(OnnxNode{.name = node.name(), .op = node.op_type(), .domain = node.domain()});
    made.inputs.assign(node.input().begin(), node.input().end());
    made.outputs.assign(node.output().begin(), node.output().end());
    for (const std::string& input : made.inputs) {
      if (constants.contains(input)) made.constants.push_back(input);
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "perm") made.perm.assign(attribute.ints().begin(), attribute.ints().end());
    }
  }
  return out;
}

OnnxTransposes importing::moved_transposes(ModelProto& model, const std::filesystem::path& folder,
                                           const OnnxOptions& options, const TransposeCost& cost) {
  OnnxTransposes out;
  Moving moving{.model = model, .cost = cost ? cost : plain_bytes};
  for (const auto& tensor : model.graph().initializer()) {
    moving.constants[tensor.name()] = &tensor;
    if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL)
      throw Error(ErrorCode::unsupported,
                  "explain: constants of the model lie in other files, and only models of one "
                  "file are changed",
                  "initializer", escaped(tensor.name()));
  }
  for (const auto& output : model.graph().output()) moving.needed.insert(output.name());
  for (const NodeProto& node : model.graph().node()) {
    for (const std::string& name : importing::names_read(node)) {
      if (std::ranges::find(node.input(), name) == node.input().end()) moving.needed.insert(name);
    }
  }
  find_facts(moving, options, folder, out.notes);
  out.before = listed(moving);
  out.cost_before = out.cost_after = total(moving, out.before);
  const Moving first = moving;
  const std::set<std::string> before = names_read_in(moving);
  for (bool changed = true; changed;) {
    changed = importing::fold_into_neighbours(moving);
    for (const Order& order : orders_of(moving)) changed = improve(moving, order) || changed;
  }
  drop_constants(moving, before);
  out.after = listed(moving);
  out.cost_after = total(moving, out.after);
  mark_removed(first, out);
  model.SerializeToString(&out.model);
  return out;
}

}  // namespace relayout::graph
