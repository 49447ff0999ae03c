// Backward: walks from the last node to the first and computes the gradients of each node's sources from those of its
// destinations.
//
// Kinds that have backward primitives follow one rule, by the names of their operands (signature() in ops.h): "diff_x"
// is the gradient of the forward node's x, and any other name is the forward node's operand of that name. All other
// kinds are in backward_rules.cc.
#include "relayout/graph/passes/backward.h"

#include <algorithm>

#include "relayout/graph/ir/ops_families.h"
#include "relayout/graph/passes/backward_rules.h"
#include "relayout/graph/passes/simplify.h"

namespace relayout::graph {
namespace {

std::string_view without_diff(std::string_view name) {
  return name.starts_with("diff_") ? name.substr(std::string_view("diff_").size()) : name;
}

/// The index of a name in a list of operands, or nothing.
std::optional<std::size_t> find(std::string_view words, std::string_view operand) {
  const std::vector<OperandName> names = operand_names(words);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].name == operand) return i;
  }
  return std::nullopt;
}

TensorId tensor_at(const std::vector<TensorId>& list, std::optional<std::size_t> i) {
  return i && *i < list.size() ? list[*i] : kNone;
}

class GradientBuilder {
 public:
  GradientBuilder(Graph& graph, std::span<const TensorId> wrt)
      : graph_(graph), parts_(graph.tensors.size()), wanted_(graph.tensors.size(), false) {
    for (TensorId t : wrt) {
      if (t < 0 || static_cast<std::size_t>(t) >= graph.tensors.size() || !is_floating(graph.tensor(t).dtype)) {
        throw Error(ErrorCode::invalid_argument, "backward: tensor " + std::to_string(t) + " has no gradient", "wrt",
                    std::to_string(t), "a floating tensor of the graph");
      }
      wanted_[static_cast<std::size_t>(t)] = true;
    }
    for (const Node& node : graph.nodes) {
      const bool reached = std::any_of(node.src.begin(), node.src.end(), [&](TensorId t) { return wanted(t); });
      for (TensorId t : node.dst) {
        if (reached && t != kNone && is_floating(graph.tensor(t).dtype)) wanted_[static_cast<std::size_t>(t)] = true;
      }
    }
  }

  Gradients run(std::span<const TensorId> wrt) {
    Gradients out;
    for (TensorId t : std::vector<TensorId>(graph_.outputs)) {
      const Tensor tensor = graph_.tensor(t);
      out.diff_outputs.push_back(graph_.input("diff_" + tensor.name, tensor.dims, tensor.dtype));
      add_part(t, out.diff_outputs.back());
    }
    for (int n = static_cast<int>(graph_.nodes.size()) - 1; n >= 0; --n) run_node(n);
    for (TensorId t : wrt) {
      out.of.push_back(gradient(t));
      if (out.of.back() != kNone) graph_.output(out.of.back());
    }
    return out;
  }

 private:
  bool wanted(TensorId t) const { return t != kNone && wanted_[static_cast<std::size_t>(t)]; }

  void add_part(TensorId tensor, TensorId part) {
    if (part != kNone && wanted(tensor)) parts_[static_cast<std::size_t>(tensor)].push_back(part);
  }

  /// The sum of the gradients that the readers of a tensor computed. It is asked for when all readers have been
  /// visited.
  TensorId gradient(TensorId tensor) {
    if (tensor == kNone) return kNone;
    std::vector<TensorId>& parts = parts_[static_cast<std::size_t>(tensor)];
    if (parts.size() > 1) {
      const std::string name = "diff_" + graph_.tensor(tensor).name + "_sum";
      parts = graph_.add(Node{.name = name, .kind = Kind::sum, .attributes = SumAttributes{}, .src = parts}, 0);
    }
    return parts.empty() ? kNone : parts[0];
  }

  void run_node(int n) {
    const Node node = graph_.node(n);  // a copy: nodes are added below
    std::vector<TensorId> diff_dst;
    for (TensorId t : node.dst) diff_dst.push_back(gradient(t));
    const auto present = [](TensorId t) { return t != kNone; };
    if (std::none_of(diff_dst.begin(), diff_dst.end(), present)) return;
    if (!node.post_ops.empty()) refuse_backward(node, "its post-ops");
    if (!has_backward_pass(node.kind)) {
      const std::vector<TensorId> diff_src =
          backward_rule(graph_, node, diff_dst[0], [&](std::size_t i) { return wanted(node.src[i]); });
      for (std::size_t i = 0; i < diff_src.size(); ++i) add_part(node.src[i], diff_src[i]);
      return;
    }
    check_differentiable(node);
    for (const Pass pass : {Pass::backward_weights, Pass::backward_data, Pass::backward}) {
      add_pass(n, node, pass, diff_dst);
    }
  }

  static bool has_backward_pass(Kind kind) {
    return !signature(kind, Pass::backward_data).dst.empty() || !signature(kind, Pass::backward).dst.empty();
  }

  static void check_differentiable(const Node& node) {
    if (node.kind == Kind::eltwise) {
      const EltwiseAlgorithm algorithm = node.as<EltwiseAttributes>().algorithm;
      const bool has_steps = algorithm == EltwiseAlgorithm::round ||
                             (algorithm >= EltwiseAlgorithm::sign && algorithm <= EltwiseAlgorithm::atanh);
      if (has_steps) refuse_backward(node, std::string(name(algorithm)));
    }
    if (node.pass != Pass::forward_training) refuse_backward(node, std::string(name(node.pass)));
  }

  /// Adds the node of one backward pass, if the kind has this pass and one of its results is needed.
  void add_pass(int n, const Node& node, Pass pass, const std::vector<TensorId>& diff_dst) {
    const Signature words = signature(node.kind, pass);
    if (words.dst.empty()) return;
    const Signature forward = signature(node.kind, node.pass);
    std::vector<TensorId> diff_of;  // the forward tensor of each result
    int dsts = 0;
    bool any = false;
    for (const OperandName& operand : operand_names(words.dst)) {
      diff_of.push_back(tensor_at(node.src, find(forward.src, without_diff(operand.name))));
      if (diff_of.back() != kNone) dsts = static_cast<int>(diff_of.size());
      any = any || wanted(diff_of.back());
    }
    if (!any) return;
    Node backward{.name = node.name + "_" + std::string(name(pass)),
                  .kind = node.kind,
                  .pass = pass,
                  .attributes = node.attributes,
                  .hint = n};
    std::vector<bool> used(diff_dst.size(), false);
    for (const OperandName& operand : operand_names(words.src)) {
      backward.src.push_back(operand_of(node, forward, operand.name, diff_dst, used));
    }
    for (std::size_t i = 0; i < diff_dst.size(); ++i) {
      if (diff_dst[i] != kNone && !used[i]) refuse_backward(node, "the gradient of destination " + std::to_string(i));
    }
    const std::vector<TensorId> dst = graph_.add(std::move(backward), dsts);
    for (std::size_t i = 0; i < dst.size(); ++i) add_part(diff_of[i], dst[i]);
  }

  /// The source of a backward node of that name. Marks the gradients that are used.
  static TensorId operand_of(const Node& node, const Signature& forward, std::string_view operand,
                             const std::vector<TensorId>& diff_dst, std::vector<bool>& used) {
    const std::optional<std::size_t> dst = find(forward.dst, without_diff(operand));
    if (operand.starts_with("diff_")) {
      if (dst && *dst < used.size()) used[*dst] = true;
      return tensor_at(diff_dst, dst);
    }
    // Some algorithms compute their gradient from the destination, which is then passed as the source.
    const bool from_dst =
        node.kind == Kind::eltwise && node.as<EltwiseAttributes>().algorithm >= EltwiseAlgorithm::relu_dst;
    if (from_dst) return node.dst[0];
    const TensorId src = tensor_at(node.src, find(forward.src, operand));
    return src != kNone ? src : tensor_at(node.dst, dst);
  }

  Graph& graph_;
  std::vector<std::vector<TensorId>> parts_;  // of each forward tensor, the gradients through its readers
  std::vector<bool> wanted_;                  // it depends on a tensor whose gradient is asked for
};

}  // namespace

Gradients append_backward(Graph& graph, std::span<const TensorId> wrt) {
  // A copy, because the graph's own list of inputs may be given, which grows while gradients are added.
  const std::vector<TensorId> tensors(wrt.begin(), wrt.end());
  return GradientBuilder(graph, tensors).run(tensors);
}

Gradients append_training(Graph& graph) {
  prune(graph);
  std::vector<TensorId> weights;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    Tensor& tensor = graph.tensors[t];
    if (!tensor.constant() || tensor.dtype != DType::f32) continue;
    tensor.data = nullptr;
    graph.inputs.push_back(static_cast<TensorId>(t));
    weights.push_back(static_cast<TensorId>(t));
  }
  return append_backward(graph, weights);
}

}  // namespace relayout::graph
