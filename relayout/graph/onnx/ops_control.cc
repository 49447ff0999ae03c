// ONNX's control flow and a model's own functions: their graphs take the place of the node that has them. A condition
// and a number of turns must be known at import; a loop's turns then stand one behind the other.
#include <algorithm>
#include <array>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using NameSet = std::unordered_set<std::string>;
/// What each name of a body is called in the model.
using Renamed = std::unordered_map<std::string, std::string>;

/// Functions and graphs that are nested deeper are taken for ones that call themselves.
constexpr int kMostDepth = 40;

NameSet defined_in(const GraphProto& graph) {
  NameSet out;
  for (const auto& input : graph.input()) out.insert(input.name());
  for (const auto& constant : graph.initializer()) out.insert(constant.name());
  for (const NodeProto& node : graph.node()) out.insert(node.output().begin(), node.output().end());
  return out;
}

void add_names(const NodeProto& node, NameSet& out) {
  out.insert(node.input().begin(), node.input().end());
  for (const AttributeProto& attribute : node.attribute()) {
    const auto add_graph = [&](const GraphProto& graph) {
      NameSet own;
      for (const NodeProto& inner : graph.node()) add_names(inner, own);
      for (const auto& output : graph.output()) own.insert(output.name());
      for (const std::string& name : defined_in(graph)) own.erase(name);
      out.merge(own);
    };
    if (attribute.has_g()) add_graph(attribute.g());
    for (const GraphProto& graph : attribute.graphs()) add_graph(graph);
  }
}

void rename(std::string& name, const Renamed& renamed) {
  if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
}

void rename_sources(NodeProto& node, const Renamed& renamed);

/// Renames what a graph inside a node reads from outside.
void rename_graph(GraphProto& graph, Renamed renamed) {
  for (const std::string& name : defined_in(graph)) renamed.erase(name);
  for (NodeProto& node : *graph.mutable_node()) rename_sources(node, renamed);
  for (auto& output : *graph.mutable_output()) rename(*output.mutable_name(), renamed);
}

void rename_sources(NodeProto& node, const Renamed& renamed) {
  for (std::string& name : *node.mutable_input()) rename(name, renamed);
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_graph(*attribute.mutable_g(), renamed);
    for (GraphProto& graph : *attribute.mutable_graphs()) rename_graph(graph, renamed);
  }
}

/// Replaces attributes that stand for one of the call's by that one, and drops those that the call does not have.
void fill_attributes(NodeProto& node, const NodeProto& call) {
  auto& attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i) {
    AttributeProto& attribute = attributes[i];
    if (attribute.has_g()) {
      for (NodeProto& inner : *attribute.mutable_g()->mutable_node()) fill_attributes(inner, call);
    }
    if (attribute.ref_attr_name().empty()) continue;
    const auto given = std::ranges::find(call.attribute(), attribute.ref_attr_name(), &AttributeProto::name);
    if (given == call.attribute().end()) {
      attributes.erase(attributes.begin() + i);
      continue;
    }
    const std::string name = attribute.name();
    attribute = *given;
    attribute.set_name(name);
  }
}

/// The nodes of a graph or a function on their way into the model.
class Body {
 public:
  Body(Op& op, std::string scope) : model_(op.model), op_(op), scope_(std::move(scope) + "/") {
    if (++model_.depth > kMostDepth) op.corrupt("functions or graphs inside each other, more than 40");
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() { --model_.depth; }

  void bind(const std::string& name, const Value& value) {
    model_.values.insert_or_assign(renamed_.emplace(name, scope_ + name).first->second, value);
  }
  /// A source that the call does not have; nodes that read it do not have it either.
  void leave_out(const std::string& name) { renamed_.emplace(name, std::string()); }
  void constants(const GraphProto& graph) {
    for (const auto& tensor : graph.initializer())
      bind(tensor.name(), constant_of(model_, tensor, scope_ + tensor.name()));
  }
  /// Translates the nodes; `call` has the attributes that theirs may stand for.
  template <typename Nodes, typename Outputs>
  void translate_all(const Nodes& nodes, const Outputs& outputs, const NodeProto* call = nullptr) {
    std::vector<NodeProto> copies;
    for (const NodeProto& node : nodes) {
      for (const std::string& name : node.output()) {
        if (!name.empty()) renamed_.emplace(name, scope_ + name);
      }
    }
    for (const NodeProto& node : nodes) {
      NodeProto& copy = copies.emplace_back(node);
      if (call != nullptr) fill_attributes(copy, *call);
      rename_sources(copy, renamed_);
      for (std::string& name : *copy.mutable_output()) rename(name, renamed_);
      copy.set_name(scope_ + node_name(node));
      model_.read.merge(names_read(copy));
    }
    for (const std::string& name : outputs) model_.read.insert(called(name));
    // A body counts as a node itself, so that a loop of nothing ends, too.
    count_steps(op_, static_cast<int64_t>(copies.size()) + 1);
    for (const NodeProto& node : copies) translate(model_, node);
  }
  Value result(const std::string& name) const {
    const auto found = model_.values.find(called(name));
    if (found == model_.values.end()) op_.corrupt("nothing in its body makes " + in_quotes(name));
    return found->second;
  }

 private:
  std::string called(const std::string& name) const {
    const auto found = renamed_.find(name);
    return found == renamed_.end() ? name : found->second;
  }

  Import& model_;
  Op& op_;
  std::string scope_;
  Renamed renamed_{};
};

std::vector<std::string> output_names(const GraphProto& graph) {
  std::vector<std::string> out;
  for (const auto& output : graph.output()) out.push_back(output.name());
  return out;
}

const GraphProto& graph_of(const Op& op, std::string_view attribute) {
  const AttributeProto* found = op.find(attribute);
  if (found == nullptr || !found->has_g()) op.corrupt("attribute \"" + std::string(attribute) + "\" is no graph");
  return found->g();
}

/// The results of a graph for these sources.
std::vector<Value> results_of(Op& op, const GraphProto& graph, const std::vector<Value>& src,
                              const std::string& scope) {
  Body body(op, op.name + "/" + scope);
  if (static_cast<std::size_t>(graph.input_size()) != src.size()) {
    op.corrupt(std::to_string(graph.input_size()) + " inputs of a graph for " + std::to_string(src.size()) + " values");
  }
  body.constants(graph);
  for (int i = 0; i < graph.input_size(); ++i) body.bind(graph.input(i).name(), src[static_cast<std::size_t>(i)]);
  const std::vector<std::string> names = output_names(graph);
  body.translate_all(graph.node(), names);
  std::vector<Value> out;
  for (const std::string& name : names) out.push_back(body.result(name));
  return out;
}

bool truth_of(const Value& condition, const std::string& what) {
  if (!condition.constant() || elements_of(condition.dims) != 1) {
    throw NotExpressible{what + " is computed at run time"};
  }
  return integers_of(condition).front() != 0;
}

void branch(Op& op) {
  const bool yes = truth_of(op.input(0), "its condition");
  const std::vector<Value> out =
      results_of(op, graph_of(op, yes ? "then_branch" : "else_branch"), {}, yes ? "then" : "else");
  if (static_cast<int>(out.size()) < op.outputs()) op.corrupt("a branch of " + std::to_string(out.size()) + " outputs");
  for (int i = 0; i < op.outputs(); ++i) op.set(i, out[static_cast<std::size_t>(i)]);
}

/// The values of all turns of a loop, one after the other along a new dim at `axis`.
Value stacked(Op& op, const std::vector<Value>& turns, int64_t axis) {
  if (turns.empty()) throw NotExpressible{"a loop of no turns whose values of each turn are read"};
  const int at = op.axis(axis, turns.front().rank() + 1);
  std::vector<Value> parts;
  for (const Value& value : turns) {
    Dims dims = value.dims;
    dims.insert(at, 1);
    parts.push_back(reshape(op, value, dims));
  }
  return concat(op, parts, at);
}

void loop(Op& op) {
  const GraphProto& body = graph_of(op, "body");
  const int carried = op.inputs() - 2, kept = body.output_size() - 1 - carried;
  if (carried < 0 || kept < 0) op.corrupt("a body of " + std::to_string(body.output_size()) + " outputs");
  int64_t most = std::numeric_limits<int64_t>::max();
  if (op.has(0)) {
    if (!op.input(0).constant()) throw NotExpressible{"its number of turns is computed at run time"};
    most = op.integers_of(0).front();
  }
  Value condition = op.has(1) ? op.input(1) : integer_constant({}, std::array{int64_t{1}}, DType::boolean);
  std::vector<Value> values;
  for (int i = 0; i < carried; ++i) values.push_back(op.input(i + 2));
  std::vector<std::vector<Value>> turns(static_cast<std::size_t>(kept));
  for (int64_t i = 0; i < most && truth_of(condition, "its condition"); ++i) {
    std::vector<Value> src = {integer_constant({}, std::array{i}), condition};
    src.insert(src.end(), values.begin(), values.end());
    const std::vector<Value> out = results_of(op, body, src, std::to_string(i));
    condition = out.front();
    values.assign(out.begin() + 1, out.begin() + 1 + carried);
    for (std::size_t k = 0; k < turns.size(); ++k) {
      turns[k].push_back(out[k + 1 + static_cast<std::size_t>(carried)]);
    }
  }
  for (int i = 0; i < op.outputs(); ++i) {
    if (i < carried)
      op.set(i, values[static_cast<std::size_t>(i)]);
    else if (op.wanted(i))
      op.set(i, stacked(op, turns.at(static_cast<std::size_t>(i - carried)), 0));
  }
}

/// An entry of a list that may be absent.
int64_t listed(const Op& op, std::string_view attribute, int i) {
  const auto list = op.integers(attribute);
  if (!list) return 0;
  if (static_cast<std::size_t>(i) >= list->size()) op.corrupt("attribute \"" + std::string(attribute) + "\" is short");
  return (*list)[static_cast<std::size_t>(i)];
}

void scan(Op& op) {
  if (op.model.opset < 9) throw NotExpressible{"the form of opset 8, which has batches"};
  const GraphProto& body = graph_of(op, "body");
  const auto read = static_cast<int>(op.integer("num_scan_inputs", 0)), carried = op.inputs() - read;
  const int kept = body.output_size() - carried;
  if (read < 1 || carried < 0 || kept < 0) op.corrupt("num_scan_inputs " + std::to_string(read));
  std::vector<Value> values;
  for (int i = 0; i < carried; ++i) values.push_back(op.input(i));
  std::vector<std::vector<Value>> turns(static_cast<std::size_t>(kept));
  const auto axis_of = [&](int i) { return op.axis(listed(op, "scan_input_axes", i), op.input(carried + i).rank()); };
  const int64_t count = op.input(carried).dims[axis_of(0)];
  for (int64_t turn = 0; turn < count; ++turn) {
    std::vector<Value> src = values;
    for (int i = 0; i < read; ++i) {
      const int64_t at = listed(op, "scan_input_directions", i) != 0 ? count - 1 - turn : turn;
      src.push_back(gather(op, op.input(carried + i), integer_constant({}, std::array{at}), axis_of(i)));
    }
    const std::vector<Value> out = results_of(op, body, src, std::to_string(turn));
    values.assign(out.begin(), out.begin() + carried);
    for (std::size_t k = 0; k < turns.size(); ++k) turns[k].push_back(out[k + static_cast<std::size_t>(carried)]);
  }
  for (int i = 0; i < op.outputs(); ++i) {
    if (i < carried) {
      op.set(i, values[static_cast<std::size_t>(i)]);
    } else if (op.wanted(i)) {
      auto& list = turns.at(static_cast<std::size_t>(i - carried));
      if (listed(op, "scan_output_directions", i - carried) != 0) std::ranges::reverse(list);
      op.set(i, stacked(op, list, listed(op, "scan_output_axes", i - carried)));
    }
  }
}

}  // namespace

std::unordered_set<std::string> names_read(const NodeProto& node) {
  NameSet out;
  add_names(node, out);
  return out;
}

void count_steps(Op& op, int64_t count) {
  Import& model = op.model;
  const auto all = checked_add(model.inlined, count);
  if (all && *all <= model.options.max_nodes) {
    model.inlined = *all;
    return;
  }
  throw Error(ErrorCode::limit,
              "onnx: node " + in_quotes(op.name) + ": more nodes than " + std::to_string(model.options.max_nodes) +
                  " in functions, branches, loops and steps",
              "nodes", std::to_string(count), std::to_string(model.options.max_nodes));
}

bool inline_function(Op& op) {
  const auto found = op.model.functions.find({op.node.domain(), op.node.op_type()});
  if (found == op.model.functions.end()) return false;
  const ::onnx::FunctionProto& function = *found->second;
  if (op.inputs() > function.input_size() || op.outputs() > function.output_size()) {
    op.corrupt("more operands than its function has");
  }
  Body body(op, op.name);
  for (int i = 0; i < function.input_size(); ++i) {
    op.has(i) ? body.bind(function.input(i), op.input(i)) : body.leave_out(function.input(i));
  }
  const int64_t opset = op.model.opset;
  for (const auto& entry : function.opset_import()) {
    if (standard_domain(entry.domain())) op.model.opset = entry.version();
  }
  body.translate_all(function.node(), function.output(), &op.node);
  op.model.opset = opset;
  for (int i = 0; i < op.outputs(); ++i) {
    if (op.wanted(i)) op.set(i, body.result(function.output(i)));
  }
  return true;
}

std::span<const Operator> control_operators() {
  static constexpr std::array<Operator, 3> kOperators = {
      {{"If", branch, "else_branch then_branch"},
       {"Loop", loop, "body"},
       {"Scan", scan,
        "body directions:8-8 num_scan_inputs scan_input_axes:9- scan_input_directions:9- scan_output_axes:9- "
        "scan_output_directions:9-"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
