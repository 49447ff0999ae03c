// How the specification treats the layout of each operand of a node: its table itself (operands.h), and the rules that
// the planner derives from it (ops.h). Also which elementwise operations keep zeros.
#include <algorithm>

#include "relayout/graph/ir/operands.h"
#include "relayout/graph/ir/ops.h"
#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

/// The name of an operand that only post-ops read.
constexpr std::string_view kPostSource = "other";
bool is_post_source(const Node& node, std::size_t i, bool dst) { return !dst && i >= node.own_sources(); }

/// The rule of an operand of two or more dims.
OperandRule rule_of(const Node& node, std::string_view operand, bool dst) {
  if (compute_bound(node.kind)) return operand.ends_with("bias") ? OperandRule::plain : OperandRule::any;
  switch (node.kind) {
    case Kind::gather:
    case Kind::array:
    case Kind::barrier: return OperandRule::plain;
    case Kind::concat:
    case Kind::sum:
    case Kind::binary: return dst ? OperandRule::any : OperandRule::actual;
    default: break;
  }
  if (dst || operand == "weights") return OperandRule::follows;
  return operand.starts_with("diff_") ? OperandRule::any : OperandRule::actual;
}

/// The specification's table.
Asked asked_for(const Node& node, std::string_view operand, bool dst) {
  if (compute_bound(node.kind)) return Asked::any;
  const bool moves = node.kind >= Kind::reorder;  // from reorders to barriers
  if (dst) return moves ? Asked::given : Asked::any;
  return operand.starts_with("diff_") ? Asked::any : Asked::actual;
}

}  // namespace

std::string_view name(Asked asked) {
  switch (asked) {
    case Asked::any: return "any";
    case Asked::actual: return "actual";
    case Asked::given: break;
  }
  return "given";
}

std::vector<Operand> operands(const Node& node) {
  const Signature words = signature(node.kind, node.pass);
  std::vector<Operand> out;
  const auto append = [&](std::string_view list, const std::vector<TensorId>& ids, bool dst) {
    const std::vector<OperandName> names = operand_names(list);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == kNone) continue;
      const bool post = is_post_source(node, i, dst);
      std::string_view operand = post ? kPostSource : names[std::min(i, names.size() - 1)].name;
      if (operand.ends_with("...")) operand.remove_suffix(3);
      out.push_back({operand, ids[i], !dst, static_cast<int>(i), post ? Asked::actual : asked_for(node, operand, dst)});
    }
  };
  append(words.src, node.src, false);
  append(words.dst, node.dst, true);
  return out;
}

std::vector<OperandRule> operand_rules(const Graph& graph, const Node& node) {
  const Signature words = signature(node.kind, node.pass);
  std::vector<OperandRule> out;
  const auto append = [&](std::string_view list, const std::vector<TensorId>& ids, bool dst) {
    const std::vector<OperandName> names = operand_names(list);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool plain = ids[i] == kNone || graph.tensor(ids[i]).dims.size() <= 1;
      const std::string_view operand = names[std::min(i, names.size() - 1)].name;
      const bool post = is_post_source(node, i, dst);
      out.push_back(plain ? OperandRule::plain : post ? OperandRule::actual : rule_of(node, operand, dst));
    }
  };
  append(words.src, node.src, false);
  append(words.dst, node.dst, true);
  return out;
}

bool keeps_zero(const EltwiseAttributes& attributes) {
  using enum EltwiseAlgorithm;
  const double alpha = attributes.alpha, beta = attributes.beta;
  switch (attributes.algorithm) {
    case soft_relu:
    case logistic:
    case logistic_dst:
    case exp:
    case exp_dst:
    case log:
    case logsigmoid:
    case logical_not:
    case bitwise_not:
    case cos:
    case acos:
    case cosh:
    case acosh: return false;
    case linear: return beta == 0;
    case bounded_relu:  // min(max(x, 0), alpha)
      return alpha >= 0;
    case clip:
    case clip_v2:
    case clip_v2_dst: return alpha <= 0 && beta >= 0;
    case pow:  // alpha * x^beta
      return beta > 0 || (alpha == 0 && beta == 0);
    case hardsigmoid:  // max(0, min(1, alpha * x + beta))
      return beta <= 0;
    case relu:
    case relu_dst:
    case tanh:
    case tanh_dst:
    case elu:
    case elu_dst:
    case square:
    case abs:
    case sqrt:
    case sqrt_dst:
    case gelu_tanh:
    case gelu_erf:
    case swish:
    case round:
    case erf:
    case sign:
    case floor:
    case ceil:
    case trunc:
    case is_nan:
    case is_infinite:
    case sin:
    case tan:
    case asin:
    case atan:
    case sinh:
    case asinh:
    case atanh:
    case mish:
    case hardswish: return true;
  }
  return false;
}

}  // namespace relayout::graph
