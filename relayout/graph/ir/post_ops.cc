// Post-ops as nodes, and their checks: see post_ops.h.
#include "relayout/graph/ir/post_ops.h"

#include <algorithm>

#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

/// Refuses a source of a post-op unless its elements can be combined with those that the node computes.
void check_post_operand(const Node& node, const PostOp& op, const Tensor& tensor, const OperandSpec& computed) {
  const std::string operand = "post-op '" + escaped(op.name) + "'";
  if (tensor.dtype != computed.dtype) {
    refuse(node, operand, std::string(name(tensor.dtype)), std::string(name(computed.dtype)));
  }
  bool fits = tensor.dims.size() == computed.dims.size();
  for (int d = 0; fits && d < tensor.dims.size(); ++d) fits = tensor.dims[d] == 1 || tensor.dims[d] == computed.dims[d];
  if (!fits) refuse(node, operand, join(tensor.dims), join(computed.dims) + ", or extents of 1");
}

}  // namespace

Node without_post_ops(const Node& node) {
  Node out = node;
  out.src.resize(node.own_sources());
  out.post_ops.clear();
  out.post_sources = 0;
  return out;
}

Kind kind_of(const PostOp& op) {
  static constexpr Kind kKinds[] = {Kind::eltwise, Kind::binary, Kind::sum};
  return kKinds[op.function.index()];
}

NodeAttributes attributes_of(const PostOp& op) {
  return std::visit([](const auto& attributes) { return NodeAttributes(attributes); }, op.function);
}

std::string_view function_name(const PostOp& op) {
  if (const auto* eltwise = std::get_if<EltwiseAttributes>(&op.function)) return name(eltwise->algorithm);
  if (const auto* binary = std::get_if<BinaryAttributes>(&op.function)) return name(binary->algorithm);
  return name(Kind::sum);
}

Graph written_apart(const Graph& graph, const Node& node) {
  Graph out;
  for (TensorId t : node.src) out.tensors.push_back(t == kNone ? Tensor{.dims = {1}} : graph.tensor(t));
  const Tensor& dst = graph.tensor(node.dst[0]);
  const auto add = [&](Node each, DType dtype) {
    each.dst = {static_cast<TensorId>(out.tensors.size())};
    out.tensors.push_back({.name = each.name, .dims = dst.dims, .dtype = dtype});
    out.nodes.push_back(std::move(each));
  };
  Node own = without_post_ops(node);
  for (std::size_t i = 0; i < own.src.size(); ++i) {
    if (own.src[i] != kNone) own.src[i] = static_cast<TensorId>(i);
  }
  const DType computed = computed_type(graph, node);
  add(std::move(own), computed);
  for (const PostOp& op : node.post_ops) {
    add({.name = op.name, .kind = kind_of(op), .pass = node.pass, .attributes = attributes_of(op), .src = op.src},
        computed);
  }
  if (dst.dtype != computed) {
    const TensorId last = out.nodes.back().dst[0];
    add({.name = node.name,
         .kind = Kind::reorder,
         .pass = node.pass,
         .attributes = ReorderAttributes{.dtype = dst.dtype},
         .src = {last}},
        dst.dtype);
  }
  out.outputs = {out.nodes.back().dst[0]};
  return out;
}

PostOpsAlone post_ops_alone(const Graph& graph, const Node& node) {
  PostOpsAlone out;
  const auto sources = static_cast<int>(node.src.size());
  const auto source = [&](int number) {
    const auto known = std::ranges::find(out.from, static_cast<std::size_t>(number));
    if (known != out.from.end()) return static_cast<TensorId>(known - out.from.begin());
    const TensorId t = number < sources ? node.src[static_cast<std::size_t>(number)] : node.dst[0];
    out.from.push_back(static_cast<std::size_t>(number));
    out.graph.tensors.push_back(graph.tensor(t));
    if (number == sources) out.graph.tensors.back().dtype = computed_type(graph, node);
    return static_cast<TensorId>(out.graph.tensors.size()) - 1;
  };
  const PostOp& first = node.post_ops.front();
  Node alone{.name = node.name, .kind = kind_of(first), .pass = node.pass, .attributes = attributes_of(first)};
  for (int number : first.src) alone.src.push_back(source(number));
  const std::size_t own = alone.src.size();
  for (const PostOp& op : node.post_ops) {
    for (int number : op.src) {
      if (number > sources) continue;
      const TensorId t = source(number);
      if (std::ranges::find(alone.src, t) == alone.src.end()) alone.src.push_back(t);
    }
  }
  alone.post_sources = alone.src.size() - own;
  const auto number_of = [&](int number) {
    if (number > sources) return static_cast<int>(alone.src.size()) + number - sources - 1;
    return static_cast<int>(std::ranges::find(alone.src, source(number)) - alone.src.begin());
  };
  alone.post_ops.assign(node.post_ops.begin() + 1, node.post_ops.end());
  for (PostOp& op : alone.post_ops) std::ranges::transform(op.src, op.src.begin(), number_of);
  alone.dst = {static_cast<TensorId>(out.graph.tensors.size())};
  out.graph.tensors.push_back(graph.tensor(node.dst[0]));
  out.graph.nodes.push_back(std::move(alone));
  return out;
}

DType computed_type(const Graph& graph, const Node& node) {
  return infer(graph, without_post_ops(node), static_cast<int>(node.dst.size()))[0].value().dtype;
}

void check_post_ops(const Graph& graph, const Node& node, const OperandSpec& computed) {
  if (node.pass != Pass::forward_inference) {
    refuse(node, "post-ops", std::string(name(node.pass)), std::string(name(Pass::forward_inference)));
  }
  auto known = static_cast<int>(node.src.size());
  for (const PostOp& op : node.post_ops) {
    const std::size_t wanted = op.function.index() == 0 ? 1 : 2;
    const bool list = std::holds_alternative<SumAttributes>(op.function);
    if (op.src.empty() || (!list && op.src.size() != wanted)) {
      refuse(node, "post-op '" + escaped(op.name) + "'", std::to_string(op.src.size()) + " sources",
             list ? "1 or more" : std::to_string(wanted));
    }
    if (list) {
      const std::size_t scales = std::get<SumAttributes>(op.function).scales.size();
      if (scales != 0 && scales != op.src.size()) {
        refuse(node, "post-op '" + escaped(op.name) + "'", std::to_string(scales) + " scales",
               std::to_string(op.src.size()) + ", or none");
      }
    }
    for (int number : op.src) {
      const auto i = static_cast<std::size_t>(number);
      const bool is_source = number >= 0 && i < node.src.size();
      if (number < 0 || number > known || (is_source && node.src[i] == kNone)) {
        refuse(node, "post-op '" + escaped(op.name) + "'", "source " + std::to_string(number),
               "a source of the node, or a result before it");
      }
      if (is_source) check_post_operand(node, op, graph.tensor(node.src[i]), computed);
    }
    ++known;
  }
}

}  // namespace relayout::graph
