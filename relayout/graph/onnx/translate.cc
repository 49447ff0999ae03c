// Translating one node of the model: by its operator's function, or as a barrier where that cannot express it.
#include <algorithm>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

using ::onnx::NodeProto;

const Operator* operator_of(const NodeProto& node) {
  static const std::unordered_map<std::string_view, Operator> kOperators = [] {
    std::unordered_map<std::string_view, Operator> out;
    for (const Operator& known : all_operators()) out.emplace(known.name, known);
    return out;
  }();
  if (!standard_domain(node.domain())) return nullptr;
  const auto found = kOperators.find(node.op_type());
  return found == kOperators.end() ? nullptr : &found->second;
}

std::string operation_of(const NodeProto& node) {
  return node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type();
}

/// The warning of the unknown operator because of which dims of a node's sources are guesses; null if none are.
const std::string* guess_behind(const Import& model, const NodeProto& node) {
  for (const std::string& name : node.input()) {
    const auto found = model.guessed.find(name);
    if (found != model.guessed.end()) return &found->second;
  }
  return nullptr;
}

/// Adds the node as one that cannot run. Its destinations have the dims that the model states, else those of its
/// first source that is not constant.
void add_barrier(Op& op, const std::string& reason) {
  Import& model = op.model;
  std::vector<Value> src;
  for (int i = 0; i < op.inputs(); ++i) {
    if (op.has(i)) src.push_back(op.input(i));
  }
  const auto like = std::find_if(src.begin(), src.end(), [](const Value& value) { return !value.constant(); });
  const std::string operation = operation_of(op.node);
  std::string warning = "node " + in_quotes(op.name) + " (" + escaped(operation) + ") cannot run: " + reason;
  BarrierAttributes attributes{operation};
  std::vector<int> outputs;
  for (int i = 0; i < op.outputs(); ++i) {
    if (op.node.output(i).empty()) continue;
    const auto stated = model.stated.find(op.node.output(i));
    if (stated == model.stated.end() && src.empty()) op.corrupt("nothing says which dims it gives");
    if (stated == model.stated.end()) {
      warning += "; dims of " + in_quotes(op.node.output(i)) + " as those of its source";
      model.guessed.emplace(op.node.output(i), warning);
    }
    attributes.dims.push_back(stated != model.stated.end() ? stated->second.dims
                                                           : (like == src.end() ? src.front() : *like).dims);
    outputs.push_back(i);
  }
  model.warnings.push_back(warning);
  if (outputs.empty()) return;
  const std::vector<Value> dst = op.add(Kind::barrier, attributes, src, static_cast<int>(outputs.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value value = dst[i];
    const auto stated = model.stated.find(op.node.output(outputs[i]));
    if (stated != model.stated.end()) {
      value.dtype = model.graph.tensor(value.id).dtype = stated->second.dtype;
    }
    op.set(outputs[i], value);
  }
}

/// Calls the operator's function. NotExpressible where there is none, or where it leaves out a destination that is
/// read.
void call_operator(Op& op) {
  if (inline_function(op)) return;
  const Operator* known = operator_of(op.node);
  if (known == nullptr) throw NotExpressible{unsupported_reason(op.node)};
  check_attributes(op, known->attributes);
  known->translate(op);
  for (int i = 0; i < op.outputs(); ++i) {
    if (op.wanted(i) && !op.model.values.contains(op.node.output(i))) {
      throw NotExpressible{"destination " + std::to_string(i) + " is not known"};
    }
  }
}

}  // namespace

std::string in_quotes(std::string_view text) { return "\"" + escaped(text) + "\""; }

bool standard_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::string node_name(const NodeProto& node) {
  if (!node.name().empty() || node.output_size() == 0) return node.name();
  return node.output(0);
}

std::vector<Operator> all_operators() {
  std::vector<Operator> out;
  for (const auto family :
       {window_operators(), matrix_operators(), normalization_operators(), elementwise_operators(), shape_operators(),
        constant_operators(), resize_operators(), reduction_operators(), rnn_operators(), logic_operators(),
        cast_operators(), index_operators(), control_operators(), attention_operators(), loss_operators(),
        einsum_operators(), integer_operators(), linear_attention_operators(), signal_operators()}) {
    out.insert(out.end(), family.begin(), family.end());
  }
  return out;
}

void translate(Import& model, const NodeProto& node) {
  Op op(model, node, node_name(node));
  try {
    call_operator(op);
  } catch (const NotExpressible& why) {
    add_barrier(op, why.reason);
  } catch (const Error& error) {
    const bool contradicts = error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::corrupt;
    if (const std::string* guess = guess_behind(model, node); contradicts && guess != nullptr) {
      throw Error(ErrorCode::unsupported, "onnx: " + *guess + ", which other operators contradict: " + error.message(),
                  error.field(), error.value(), error.limit());
    }
    if (error.code() != ErrorCode::invalid_argument) throw;
    op.corrupt(error.message());
  }
  if (const std::string* guess = guess_behind(model, node)) {
    for (const std::string& name : node.output()) model.guessed.try_emplace(name, *guess);
  }
}

}  // namespace relayout::graph::importing
