// One ONNX node: its inputs and attributes as the operators read them, and what they add.
#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

using ::onnx::AttributeProto;

/// The attribute, or null if the node lacks it. Error{corrupt} if it has another type; files of ONNX's first versions
/// do not say the type.
const AttributeProto* typed(const Op& op, std::string_view name, AttributeProto::AttributeType type) {
  const AttributeProto* attribute = op.find(name);
  if (attribute == nullptr) return nullptr;
  if (attribute->type() != type && attribute->type() != AttributeProto::UNDEFINED) {
    op.corrupt("attribute \"" + std::string(name) + "\" has another type");
  }
  return attribute;
}

}  // namespace

Op::Op(Import& in, const ::onnx::NodeProto& proto, std::string shown)
    : model(in), node(proto), name(std::move(shown)) {}

void Op::corrupt(const std::string& what) const {
  throw Error(ErrorCode::corrupt, "onnx: node \"" + escaped(name) + "\" (" + escaped(node.op_type()) + "): " + what,
              escaped(name));
}

const Value& Op::input(int i) const {
  if (!has(i)) corrupt("source " + std::to_string(i) + " is missing");
  const auto found = model.values.find(node.input(i));
  if (found == model.values.end()) corrupt("reads " + in_quotes(node.input(i)) + ", which nothing makes");
  return found->second;
}

std::vector<int64_t> Op::integers_of(int i) const {
  const Value& value = input(i);
  if (!value.constant()) throw NotExpressible{"source " + std::to_string(i) + " is no constant"};
  return importing::integers_of(value);
}

std::vector<double> Op::numbers_of(int i) const {
  const Value& value = input(i);
  if (!value.constant()) throw NotExpressible{"source " + std::to_string(i) + " is no constant"};
  return importing::numbers_of(value);
}

const AttributeProto* Op::find(std::string_view attribute) const {
  for (const AttributeProto& candidate : node.attribute()) {
    if (candidate.name() == attribute) return &candidate;
  }
  return nullptr;
}

int64_t Op::integer(std::string_view attribute, int64_t otherwise) const {
  const AttributeProto* found = typed(*this, attribute, AttributeProto::INT);
  return found != nullptr ? found->i() : otherwise;
}

double Op::number(std::string_view attribute, double otherwise) const {
  const AttributeProto* found = typed(*this, attribute, AttributeProto::FLOAT);
  return found != nullptr ? found->f() : otherwise;
}

std::string Op::text(std::string_view attribute, std::string_view otherwise) const {
  const AttributeProto* found = typed(*this, attribute, AttributeProto::STRING);
  return found != nullptr ? found->s() : std::string(otherwise);
}

std::optional<std::vector<int64_t>> Op::integers(std::string_view attribute) const {
  const AttributeProto* found = typed(*this, attribute, AttributeProto::INTS);
  if (found == nullptr) return std::nullopt;
  return std::vector<int64_t>(found->ints().begin(), found->ints().end());
}

std::vector<double> Op::numbers(std::string_view attribute) const {
  const AttributeProto* found = typed(*this, attribute, AttributeProto::FLOATS);
  if (found == nullptr) return {};
  return {found->floats().begin(), found->floats().end()};
}

std::vector<std::string> Op::texts(std::string_view attribute) const {
  const AttributeProto* found = typed(*this, attribute, AttributeProto::STRINGS);
  if (found == nullptr) return {};
  return {found->strings().begin(), found->strings().end()};
}

int Op::axis(int64_t value, int rank) const {
  if (value < -rank || value >= rank) {
    corrupt("axis " + std::to_string(value) + " of " + std::to_string(rank) + " dims");
  }
  return static_cast<int>(value < 0 ? value + rank : value);
}

bool Op::wanted(int i) const {
  return i < node.output_size() && !node.output(i).empty() && model.read.contains(node.output(i));
}

void Op::set(int i, Value value) {
  if (i >= node.output_size() || node.output(i).empty()) return;
  const std::string& output = node.output(i);
  if (value.constant()) {
    if (value.name.empty()) value.name = output;
  } else {
    // A tensor that this node made gets the name that the model gives it.
    Tensor& tensor = model.graph.tensor(value.id);
    if (tensor.name.empty() && !output.empty()) tensor.name = unique_name(model, output);
  }
  model.values.insert_or_assign(output, std::move(value));
}

Value Op::add(Kind kind, NodeAttributes attributes, const std::vector<Value>& src) {
  return add(kind, std::move(attributes), src, 1).front();
}

Value Op::add(Kind kind, NodeAttributes attributes, const std::vector<Value>& src, DType dtype) {
  if (folds) {
    if (const auto constants = fold_node(*this, kind, attributes, src, 1, dtype)) return constants->front();
  }
  Value out = add(kind, std::move(attributes), src, 1).front();
  out.dtype = model.graph.tensor(out.id).dtype = dtype;
  return out;
}

std::vector<Value> Op::add(Kind kind, NodeAttributes attributes, const std::vector<Value>& src, int dsts) {
  if (folds) {
    if (auto constants = fold_node(*this, kind, attributes, src, dsts, std::nullopt)) return *std::move(constants);
  }
  Graph& graph = model.graph;
  Node made{.name = added_ == 0 ? name : name + "." + std::to_string(added_ + 1),
            .kind = kind,
            .pass = graph.pass,
            .attributes = std::move(attributes)};
  ++added_;
  for (Value value : src) {
    if (value.constant() && value.name.empty()) value.name = name + ".constant";
    made.src.push_back(place(model, value));
  }
  std::vector<Value> out;
  const std::vector<TensorId> added = graph.add(std::move(made), dsts);
  model.makers.resize(graph.tensors.size(), kNone);
  for (const TensorId id : added) {
    Tensor& tensor = graph.tensor(id);
    tensor.name.clear();
    model.makers[static_cast<std::size_t>(id)] = static_cast<NodeId>(graph.nodes.size()) - 1;
    out.push_back({.id = id, .dims = tensor.dims, .dtype = tensor.dtype});
  }
  return out;
}

std::string unique_name(Import& model, const std::string& wanted) {
  std::string name = wanted;
  while (!model.names.insert(name).second) name += "." + std::to_string(model.names.size());
  return name;
}

TensorId place(Import& model, const Value& value) {
  if (!value.constant()) return value.id;
  const auto [at, fresh] =
      model.placed.try_emplace({value.data.get(), std::vector<int64_t>(value.dims.begin(), value.dims.end())}, kNone);
  if (fresh) {
    at->second = model.graph.constant(unique_name(model, value.name.empty() ? "constant" : value.name), value.dims,
                                      value.dtype, value.data);
    model.makers.resize(model.graph.tensors.size(), kNone);
  }
  return at->second;
}

const Node* maker(const Import& model, TensorId tensor, Kind kind) {
  if (tensor == kNone || static_cast<std::size_t>(tensor) >= model.makers.size()) return nullptr;
  const NodeId id = model.makers[static_cast<std::size_t>(tensor)];
  return id != kNone && model.graph.node(id).kind == kind ? &model.graph.node(id) : nullptr;
}

}  // namespace relayout::graph::importing
