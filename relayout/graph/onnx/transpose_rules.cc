// Which operators work in any order of their dims, and how their axes are renamed: see transposing.h.
#include <algorithm>
#include <array>
#include <numeric>

#include "relayout/graph/onnx/transposing.h"

namespace relayout::graph::importing {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;

/// Operators that compute element by element, with broadcasting where they have several sources.
constexpr std::array<std::string_view, 58> kElementwise = {"Abs",
                                                           "Acos",
                                                           "Add",
                                                           "And",
                                                           "Asin",
                                                           "Atan",
                                                           "Cast",
                                                           "Ceil",
                                                           "Celu",
                                                           "Clip",
                                                           "Cos",
                                                           "Div",
                                                           "Elu",
                                                           "Equal",
                                                           "Erf",
                                                           "Exp",
                                                           "Floor",
                                                           "Gelu",
                                                           "Greater",
                                                           "Identity",
                                                           "HardSigmoid",
                                                           "HardSwish",
                                                           "LeakyRelu",
                                                           "Less",
                                                           "LessOrEqual",
                                                           "Log",
                                                           "Max",
                                                           "Mean",
                                                           "Min",
                                                           "Mish",
                                                           "Mod",
                                                           "Mul",
                                                           "Neg",
                                                           "Not",
                                                           "Or",
                                                           "PRelu",
                                                           "Pow",
                                                           "Reciprocal",
                                                           "Relu",
                                                           "Round",
                                                           "Selu",
                                                           "Sigmoid",
                                                           "Sign",
                                                           "Sin",
                                                           "Softplus",
                                                           "Softsign",
                                                           "Sqrt",
                                                           "Sub",
                                                           "Sum",
                                                           "Tan",
                                                           "Tanh",
                                                           "ThresholdedRelu",
                                                           "Where",
                                                           "Xor",
                                                           "GreaterOrEqual",
                                                           "IsNaN",
                                                           "IsInf",
                                                           "Swish"};
constexpr std::array<std::string_view, 10> kReductions = {
    "ReduceMean", "ReduceSum", "ReduceMax",    "ReduceMin",       "ReduceProd",
    "ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceSumSquare", "ReduceLogSumExp"};

const AttributeProto* attribute(const NodeProto& node, std::string_view name) {
  for (const AttributeProto& found : node.attribute()) {
    if (found.name() == name) return &found;
  }
  return nullptr;
}

AttributeProto* mutable_attribute(NodeProto& node, std::string_view name) {
  for (AttributeProto& found : *node.mutable_attribute()) {
    if (found.name() == name) return &found;
  }
  return nullptr;
}

/// The numbers of a constant of integers; nothing where the input is none.
std::optional<std::vector<int64_t>> integers_at(const Moving& moving, const NodeProto& node, int input) {
  if (input >= node.input_size() || node.input(input).empty()) return std::nullopt;
  const auto found = moving.constants.find(node.input(input));
  if (found == moving.constants.end()) return std::nullopt;
  try {
    Import scratch;
    return integers_of(constant_of(scratch, *found->second, node.input(input)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

const TensorFacts* facts_of(const Moving& moving, const std::string& name) {
  const auto found = moving.facts.find(name);
  return found == moving.facts.end() || !found->second.known ? nullptr : &found->second;
}

bool one_element(const TensorFacts& facts) {
  return std::ranges::all_of(facts.dims, [](int64_t extent) { return extent == 1; });
}

bool has(const auto& list, const std::string& op) { return std::ranges::find(list, op) != list.end(); }

/// Whether all inputs are of the rank, or one element, or a constant, which can be given the rank.
bool broadcasts(const Moving& moving, const NodeProto& node, int rank) {
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    const TensorFacts* facts = facts_of(moving, node.input(i));
    if (!facts || facts->dims.size() > rank) return false;
    if (facts->dims.size() == rank || one_element(*facts)) continue;
    if (!moving.constants.contains(node.input(i))) return false;
  }
  return true;
}

bool outputs_have_rank(const Moving& moving, const NodeProto& node, int rank) {
  return std::ranges::all_of(node.output(), [&](const std::string& name) {
    const TensorFacts* facts = facts_of(moving, name);
    return name.empty() || (facts && facts->dims.size() == rank);
  });
}

/// The axes of a reduction, which must be known; all where none are given and that means all.
std::optional<std::vector<int64_t>> axes_reduced(const Moving& moving, const NodeProto& node, int rank) {
  if (const AttributeProto* axes = attribute(node, "axes"))
    return std::vector<int64_t>(axes->ints().begin(), axes->ints().end());
  if (node.input_size() > 1 && !node.input(1).empty()) return integers_at(moving, node, 1);
  const AttributeProto* nothing = attribute(node, "noop_with_empty_axes");
  if (nothing && nothing->i() != 0) return std::vector<int64_t>{};
  std::vector<int64_t> all(static_cast<std::size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool reduces(const Moving& moving, const NodeProto& node, int rank) {
  const AttributeProto* keeps = attribute(node, "keepdims");
  return (!keeps || keeps->i() != 0) && axes_reduced(moving, node, rank).has_value();
}

bool pads(const Moving& moving, const NodeProto& node, int rank) {
  if (attribute(node, "pads") != nullptr) return true;
  const auto sizes = integers_at(moving, node, 1);
  return sizes && static_cast<int>(sizes->size()) == 2 * rank && (node.input_size() < 4 || node.input(3).empty());
}

bool slices(const Moving& moving, const NodeProto& node) {
  if (attribute(node, "starts") != nullptr) return false;  // of opset 9 and before
  const auto starts = integers_at(moving, node, 1);
  return starts && (node.input_size() < 4 || node.input(3).empty() || integers_at(moving, node, 3));
}

/// Quantisation with one scale, or with one for each index of an axis.
bool quantises(const Moving& moving, const NodeProto& node) {
  return facts_of(moving, node.input(1)) != nullptr && facts_of(moving, node.input(1))->dims.size() <= 1 &&
         attribute(node, "block_size") == nullptr;
}

int64_t renamed(int64_t axis, const Order& order) {
  const auto rank = static_cast<int64_t>(order.size());
  const auto found = std::ranges::find(order, static_cast<int>(axis < 0 ? axis + rank : axis));
  return found - order.begin();
}

void set_axis(NodeProto& node, int64_t otherwise, const Order& order) {
  AttributeProto* axis = mutable_attribute(node, "axis");
  if (axis == nullptr) {
    axis = node.add_attribute();
    axis->set_name("axis");
    axis->set_type(AttributeProto::INT);
    axis->set_i(otherwise);
  }
  axis->set_i(renamed(axis->i(), order));
}

void rename_reduction(Moving& moving, NodeProto& node, const Order& order) {
  std::vector<int64_t> axes = *axes_reduced(moving, node, static_cast<int>(order.size()));
  for (int64_t& axis : axes) axis = renamed(axis, order);
  std::ranges::sort(axes);
  if (AttributeProto* listed = mutable_attribute(node, "axes")) {
    listed->mutable_ints()->Assign(axes.begin(), axes.end());
  } else if (node.input_size() > 1 && !node.input(1).empty()) {
    node.set_input(1, add_integers(moving, axes));
  }
}

void rename_padding(Moving& moving, NodeProto& node, const Order& order) {
  AttributeProto* listed = mutable_attribute(node, "pads");
  const std::vector<int64_t> sizes =
      listed ? std::vector<int64_t>(listed->ints().begin(), listed->ints().end()) : *integers_at(moving, node, 1);
  std::vector<int64_t> out;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const int d : order) out.push_back(sizes[side * order.size() + static_cast<std::size_t>(d)]);
  }
  if (listed)
    listed->mutable_ints()->Assign(out.begin(), out.end());
  else
    node.set_input(1, add_integers(moving, out));
}

void rename_slices(Moving& moving, NodeProto& node, const Order& order) {
  std::vector<int64_t> axes;
  if (const auto given = integers_at(moving, node, 3)) {
    axes = *given;
  } else {
    axes.resize(integers_at(moving, node, 1)->size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) axis = renamed(axis, order);
  while (node.input_size() < 4) node.add_input("");
  node.set_input(3, add_integers(moving, axes));
}

}  // namespace

bool carries_dims(const Moving& moving, const NodeProto& node, int input, int rank) {
  const std::string& name = node.input(input);
  if (name.empty()) return false;
  const std::string& op = node.op_type();
  // Of these only the first input is the tensor; the others are sizes, axes and scales.
  if (input > 0 && !has(kElementwise, op) && op != "Concat") return false;
  const TensorFacts* facts = facts_of(moving, name);
  if (!facts || one_element(*facts)) return false;
  return facts->dims.size() == rank || moving.constants.contains(name);
}

bool works_in_any_order(const Moving& moving, const NodeProto& node, int rank) {
  if (!standard_domain(node.domain()) || rank < 2 || node.input_size() == 0) return false;
  const std::string& op = node.op_type();
  const TensorFacts* first = facts_of(moving, node.input(0));
  if (!outputs_have_rank(moving, node, rank)) return false;
  if (has(kElementwise, op)) return broadcasts(moving, node, rank);
  if (!first || first->dims.size() != rank) return false;
  if (op == "Concat") return broadcasts(moving, node, rank);
  if (op == "Split") return true;
  if (op == "Pad") return pads(moving, node, rank);
  if (op == "Slice") return slices(moving, node);
  if (op == "QuantizeLinear" || op == "DequantizeLinear") return node.input_size() > 1 && quantises(moving, node);
  return has(kReductions, op) && reduces(moving, node, rank);
}

void rename_axes(Moving& moving, NodeProto& node, const Order& order) {
  const std::string& op = node.op_type();
  if (op == "Concat") set_axis(node, 0, order);
  if (op == "Split") set_axis(node, 0, order);
  if (op == "QuantizeLinear" || op == "DequantizeLinear") {
    if (facts_of(moving, node.input(1))->dims.size() == 1 && facts_of(moving, node.input(1))->dims[0] != 1)
      set_axis(node, 1, order);
  }
  if (op == "Pad") rename_padding(moving, node, order);
  if (op == "Slice") rename_slices(moving, node, order);
  if (has(kReductions, op)) rename_reduction(moving, node, order);
}

}  // namespace relayout::graph::importing
