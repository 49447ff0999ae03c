// Gradients of matmul, sum, binary, concat, reorder, reduction, and of the kinds that only move elements, computed by
// nodes of these same kinds.
#include "relayout/graph/passes/backward_rules.h"

#include <algorithm>

namespace relayout::graph {
namespace {

/// Adds the nodes that compute the gradients of one forward node.
class Rule {
 public:
  Rule(Graph& graph, const Node& node, const std::function<bool(std::size_t)>& wanted)
      : graph_(graph), node_(node), wanted_(wanted) {}

  std::vector<TensorId> run(TensorId diff) {
    std::vector<TensorId> out(node_.src.size(), kNone);
    const auto any = [&] {
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (wanted_(i)) return true;
      }
      return false;
    };
    if (!any()) return out;
    switch (node_.kind) {
      case Kind::matmul: matmul(diff, out); break;
      case Kind::sum: sum(diff, out); break;
      case Kind::binary: binary(diff, out); break;
      case Kind::concat: concat(diff, out); break;
      case Kind::reorder: out[0] = reorder(diff); break;
      case Kind::reduction: out[0] = reduction(diff); break;
      case Kind::reshape: out[0] = reshaped(diff, dims(node_.src[0])); break;
      case Kind::transpose: out[0] = transposed_back(diff); break;
      case Kind::broadcast: out[0] = reduced(diff, dims(node_.src[0])); break;
      case Kind::slice: out[0] = slice(diff); break;
      case Kind::pad: out[0] = pad(diff); break;
      default: refuse_backward(node_, std::string(name(node_.kind)));
    }
    return out;
  }

 private:
  Dims dims(TensorId t) const { return graph_.tensor(t).dims; }

  TensorId add(Kind kind, NodeAttributes attributes, std::vector<TensorId> src) {
    Node node{.name = node_.name + "_backward_" + std::to_string(graph_.nodes.size()),
              .kind = kind,
              .attributes = std::move(attributes),
              .src = std::move(src)};
    return graph_.add(std::move(node), 0)[0];
  }

  TensorId binary(BinaryAlgorithm algorithm, TensorId a, TensorId b) {
    return add(Kind::binary, BinaryAttributes{algorithm}, {a, b});
  }
  TensorId scaled(TensorId t, double scale) {
    if (scale == 1) return t;
    return add(Kind::eltwise, EltwiseAttributes{EltwiseAlgorithm::linear, scale, 0}, {t});
  }
  TensorId reshaped(TensorId t, const Dims& to) {
    return dims(t) == to ? t : add(Kind::reshape, ReshapeAttributes{to}, {t});
  }

  /// Sums `t` over the dims along which a tensor of dims `to` was repeated to give a tensor of t's dims.
  TensorId reduced(TensorId t, const Dims& to) {
    const Dims from = dims(t);
    const int added = from.size() - to.size();
    ReductionAttributes sum{.algorithm = ReductionAlgorithm::sum};
    for (int d = 0; d < from.size(); ++d) {
      if (d < added || (to[d - added] == 1 && from[d] != 1)) sum.axes.push_back(d);
    }
    return reshaped(sum.axes.empty() ? t : add(Kind::reduction, sum, {t}), to);
  }

  TensorId transposed(TensorId t) {
    std::vector<int> order;
    for (int d = 0; d < dims(t).size(); ++d) order.push_back(d);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return add(Kind::transpose, TransposeAttributes{order}, {t});
  }

  void matmul(TensorId diff, std::vector<TensorId>& out) {
    const TensorId a = node_.src[0], b = node_.src[1];
    const auto product = [&](TensorId left, TensorId right) {
      return add(Kind::matmul, MatmulAttributes{}, {left, right});
    };
    if (wanted_(0)) out[0] = reduced(product(diff, transposed(b)), dims(a));
    if (wanted_(1)) out[1] = reduced(product(transposed(a), diff), dims(b));
    if (out.size() > 2 && wanted_(2)) out[2] = reduced(diff, dims(node_.src[2]));
  }

  void sum(TensorId diff, std::vector<TensorId>& out) {
    const std::vector<double>& scales = node_.as<SumAttributes>().scales;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (wanted_(i)) out[i] = scaled(diff, scales.empty() ? 1 : scales[i]);
    }
  }

  void binary(TensorId diff, std::vector<TensorId>& out) {
    using B = BinaryAlgorithm;
    const TensorId a = node_.src[0], b = node_.src[1];
    const auto of = [&](std::size_t i, auto&& gradient) {
      if (wanted_(i)) out[i] = reduced(gradient(), dims(node_.src[i]));
    };
    const auto times = [&](TensorId factor) { return binary(B::mul, diff, factor); };
    switch (node_.as<BinaryAttributes>().algorithm) {
      case B::add:
        of(0, [&] { return diff; });
        of(1, [&] { return diff; });
        return;
      case B::sub:
        of(0, [&] { return diff; });
        of(1, [&] { return scaled(diff, -1); });
        return;
      case B::mul:
        of(0, [&] { return times(b); });
        of(1, [&] { return times(a); });
        return;
      case B::div:  // d(a / b) = da / b - (a / b) / b db
        of(0, [&] { return binary(B::div, diff, b); });
        of(1, [&] { return scaled(binary(B::div, times(node_.dst[0]), b), -1); });
        return;
      case B::pow:  // d(a^b) = b a^(b - 1) da + a^b ln(a) db
        of(0, [&] {
          const TensorId less = add(Kind::eltwise, EltwiseAttributes{EltwiseAlgorithm::linear, 1, -1}, {b});
          return times(binary(B::mul, binary(B::pow, a, less), b));
        });
        of(1, [&] {
          const TensorId logarithm = add(Kind::eltwise, EltwiseAttributes{EltwiseAlgorithm::log}, {a});
          return times(binary(B::mul, node_.dst[0], logarithm));
        });
        return;
      case B::max:
        of(0, [&] { return times(binary(B::ge, a, b)); });
        of(1, [&] { return times(binary(B::lt, a, b)); });
        return;
      case B::min:
        of(0, [&] { return times(binary(B::le, a, b)); });
        of(1, [&] { return times(binary(B::gt, a, b)); });
        return;
      case B::ge:
      case B::gt:
      case B::le:
      case B::lt:
      case B::eq:
      case B::ne:
      case B::logical_and:
      case B::logical_or:
      case B::logical_xor: return;
      default: refuse_backward(node_, std::string(name(node_.as<BinaryAttributes>().algorithm)));
    }
  }

  void concat(TensorId diff, std::vector<TensorId>& out) {
    const int axis = node_.as<ConcatAttributes>().axis;
    const Dims whole = dims(diff);
    int64_t start = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      SliceAttributes part{Dims(whole.size(), 0), whole, Dims(whole.size(), 1)};
      part.starts[axis] = start;
      part.stops[axis] = start += dims(node_.src[i])[axis];
      if (wanted_(i)) out[i] = add(Kind::slice, part, {diff});
    }
  }

  TensorId reorder(TensorId diff) {
    const DType dtype = graph_.tensor(node_.src[0]).dtype;
    return add(Kind::reorder, ReorderAttributes{.dtype = dtype, .scale = node_.as<ReorderAttributes>().scale}, {diff});
  }

  TensorId reduction(TensorId diff) {
    const Dims src = dims(node_.src[0]);
    const ReductionAlgorithm algorithm = node_.as<ReductionAttributes>().algorithm;
    if (algorithm != ReductionAlgorithm::mean && algorithm != ReductionAlgorithm::sum) {
      refuse_backward(node_, "its algorithm, which is neither mean nor sum");
    }
    double share = 1;
    for (int d = 0; algorithm == ReductionAlgorithm::mean && d < src.size(); ++d) {
      share *= static_cast<double>(dims(diff)[d]) / static_cast<double>(src[d]);
    }
    return add(Kind::broadcast, BroadcastAttributes{src}, {scaled(diff, share)});
  }

  TensorId transposed_back(TensorId diff) {
    const std::vector<int>& order = node_.as<TransposeAttributes>().order;
    std::vector<int> inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) inverse[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    return add(Kind::transpose, TransposeAttributes{inverse}, {diff});
  }

  TensorId pad(TensorId diff) {
    const auto& a = node_.as<PadAttributes>();
    if (a.mode != PadMode::constant) refuse_backward(node_, "its mode, which is not constant");
    const Dims src = dims(node_.src[0]);
    SliceAttributes inner{a.begin, a.begin, Dims(src.size(), 1)};
    for (int d = 0; d < src.size(); ++d) inner.stops[d] += src[d];
    return add(Kind::slice, inner, {diff});
  }

  /// The gradient of a slice: elements return to the positions from which they were taken; all others are zero.
  TensorId slice(TensorId diff) {
    const auto& a = node_.as<SliceAttributes>();
    const Dims src = dims(node_.src[0]), taken = dims(diff);
    TensorId out = diff;
    Dims first = a.starts;  // the lowest index in the source
    SliceAttributes upwards{Dims(src.size(), 0), taken, Dims(src.size(), 1)};
    for (int d = 0; d < src.size(); ++d) {
      if (taken[d] == 0) first[d] = 0;
      if (a.steps[d] > 0 || taken[d] == 0) continue;
      first[d] = a.starts[d] + (taken[d] - 1) * a.steps[d];
      upwards.starts[d] = taken[d] - 1;
      upwards.stops[d] = upwards.steps[d] = -1;
    }
    if (!(upwards.steps == Dims(src.size(), 1))) out = add(Kind::slice, upwards, {out});
    for (int d = 0; d < src.size(); ++d) out = spread(out, d, std::abs(a.steps[d]));
    PadAttributes around{first, Dims(src.size(), 0)};
    for (int d = 0; d < src.size(); ++d) around.end[d] = src[d] - first[d] - dims(out)[d];
    return add(Kind::pad, around, {out});
  }

  /// Inserts `step` - 1 zeros between neighbours along dim d.
  TensorId spread(TensorId t, int d, int64_t step) {
    Dims split = dims(t), joined = split;
    if (step == 1 || split[d] <= 1) return t;
    split.insert(d + 1, 1);
    PadAttributes zeros{Dims(split.size(), 0), Dims(split.size(), 0)};
    zeros.end[d + 1] = step - 1;
    joined[d] *= step;
    const TensorId all = reshaped(add(Kind::pad, zeros, {reshaped(t, split)}), joined);
    SliceAttributes inner{Dims(joined.size(), 0), joined, Dims(joined.size(), 1)};
    inner.stops[d] -= step - 1;
    return add(Kind::slice, inner, {all});
  }

  Graph& graph_;
  const Node& node_;
  const std::function<bool(std::size_t)>& wanted_;
};

}  // namespace

std::vector<TensorId> backward_rule(Graph& graph, const Node& node, TensorId diff,
                                    const std::function<bool(std::size_t)>& wanted) {
  return Rule(graph, node, wanted).run(diff);
}

void refuse_backward(const Node& node, const std::string& what) {
  throw Error(ErrorCode::unsupported,
              "backward: " + std::string(name(node.kind)) + " '" + escaped(node.name) + "' has no gradient: " + what,
              "node", escaped(node.name), "a node that has a gradient");
}

}  // namespace relayout::graph
