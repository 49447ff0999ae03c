// Ops: signatures of all kinds, the checks that they share, backward destinations, and how layouts are treated.
//
// Start with signature(): everything else here follows from the operands' names.
#include "relayout/graph/ir/ops.h"

#include <algorithm>
#include <array>

#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

/// "src...": any number of sources from one on.
bool is_list(const OperandName& operand) { return operand.name.ends_with("..."); }

bool is_forward(Pass pass) { return pass == Pass::forward_inference || pass == Pass::forward_training; }

using Family = Specs (*)(const Operands&);
struct KindRow {
  Family infer;
  std::size_t attributes;  // index into NodeAttributes
};

template <typename T>
constexpr std::size_t index_of() {
  return NodeAttributes(T{}).index();
}

const KindRow& row_of(Kind kind) {
  static const std::array<KindRow, kKindCount> kRows = {{
      {infer_convolution, index_of<ConvolutionAttributes>()},
      {infer_deconvolution, index_of<ConvolutionAttributes>()},
      {infer_matmul, index_of<MatmulAttributes>()},
      {infer_inner_product, index_of<InnerProductAttributes>()},
      {infer_rnn, index_of<RnnAttributes>()},
      {infer_pooling, index_of<PoolingAttributes>()},
      {infer_batch_normalization, index_of<NormalizationAttributes>()},
      {infer_layer_normalization, index_of<NormalizationAttributes>()},
      {infer_lrn, index_of<LrnAttributes>()},
      {infer_eltwise, index_of<EltwiseAttributes>()},
      {infer_prelu, index_of<PreluAttributes>()},
      {infer_shuffle, index_of<ShuffleAttributes>()},
      {infer_softmax, index_of<SoftmaxAttributes>()},
      {infer_resampling, index_of<ResamplingAttributes>()},
      {infer_reduction, index_of<ReductionAttributes>()},
      {infer_concat, index_of<ConcatAttributes>()},
      {infer_sum, index_of<SumAttributes>()},
      {infer_binary, index_of<BinaryAttributes>()},
      {infer_reorder, index_of<ReorderAttributes>()},
      {infer_reshape, index_of<ReshapeAttributes>()},
      {infer_transpose, index_of<TransposeAttributes>()},
      {infer_slice, index_of<SliceAttributes>()},
      {infer_broadcast, index_of<BroadcastAttributes>()},
      {infer_pad, index_of<PadAttributes>()},
      {infer_gather, index_of<GatherAttributes>()},
      {infer_barrier, index_of<BarrierAttributes>()},
  }};
  return kRows[static_cast<std::size_t>(kind)];
}

void check_sources(const Graph& graph, const Node& node, const std::vector<OperandName>& names) {
  const bool list = !names.empty() && is_list(names.back());
  if (!list && node.src.size() > names.size()) {
    refuse(node, "src", std::to_string(node.src.size()) + " operands", "at most " + std::to_string(names.size()));
  }
  for (std::size_t i = 0; i < std::max(names.size(), node.src.size()); ++i) {
    const OperandName& operand = names[std::min(i, names.size() - 1)];
    const TensorId id = i < node.src.size() ? node.src[i] : kNone;
    if (id == kNone && !operand.optional) refuse(node, operand.name, "missing", "a tensor");
    if (id != kNone && (id < 0 || static_cast<std::size_t>(id) >= graph.tensors.size())) {
      refuse(node, operand.name, "tensor " + std::to_string(id),
             "one of the graph's " + std::to_string(graph.tensors.size()));
    }
  }
}

/// The forward node of a backward one.
const Node& checked_hint(const Graph& graph, const Node& node) {
  const bool exists = node.hint >= 0 && static_cast<std::size_t>(node.hint) < graph.nodes.size();
  if (!exists) refuse(node, "hint", std::to_string(node.hint), "the number of the forward node");
  const Node& hint = graph.node(node.hint);
  if (hint.kind != node.kind || hint.pass != Pass::forward_training) {
    refuse(node, "hint", std::string(name(hint.kind)) + ", " + std::string(name(hint.pass)),
           std::string(name(node.kind)) + ", " + std::string(name(Pass::forward_training)));
  }
  return hint;
}

/// The forward operand that a backward operand is, or is the gradient of; null where the forward node has none.
const Tensor* counterpart(const Graph& graph, const Node& forward, std::string_view operand) {
  if (operand.starts_with("diff_")) operand.remove_prefix(5);
  const Signature words = signature(forward.kind, forward.pass);
  const auto find = [&](std::string_view list, const std::vector<TensorId>& ids) -> const Tensor* {
    const std::vector<OperandName> names = operand_names(list);
    for (std::size_t i = 0; i < std::min(names.size(), ids.size()); ++i) {
      if (names[i].name == operand && ids[i] != kNone) return &graph.tensor(ids[i]);
    }
    return nullptr;
  };
  const Tensor* src = find(words.src, forward.src);
  return src != nullptr ? src : find(words.dst, forward.dst);
}

std::vector<std::optional<OperandSpec>> infer_backward(const Graph& graph, const Node& node, const Signature& words) {
  const Node& forward = checked_hint(graph, node);
  const std::vector<OperandName> sources = operand_names(words.src);
  for (std::size_t i = 0; i < node.src.size(); ++i) {
    if (node.src[i] == kNone) continue;
    const Tensor* same = counterpart(graph, forward, sources[i].name);
    const Dims& dims = graph.tensor(node.src[i]).dims;
    if (same == nullptr) refuse(node, sources[i].name, join(dims), "none, as the forward node has none");
    if (dims != same->dims) refuse(node, sources[i].name, join(dims), join(same->dims) + " as forward");
  }
  std::vector<std::optional<OperandSpec>> out;
  for (const OperandName& operand : operand_names(words.dst)) {
    const Tensor* same = counterpart(graph, forward, operand.name);
    out.push_back(same ? std::optional<OperandSpec>({same->dims, same->dtype}) : std::nullopt);
  }
  return out;
}

/// How many of the destinations every such node has: all up to the last that is not optional; all `most` of a list.
int required_count(const std::vector<OperandName>& names, int most) {
  if (is_list(names.back())) return most;
  int out = 0;
  for (int i = 0; i < static_cast<int>(names.size()); ++i) {
    if (!names[static_cast<std::size_t>(i)].optional) out = i + 1;
  }
  return out;
}

void check_size(const Node& node, const OperandSpec& spec) {
  const std::optional<int64_t> elements = checked_product(spec.dims);
  if (!elements || !bytes_for(spec.dtype, *elements)) {
    refuse(node, "dst", join(spec.dims), "a size in bytes that fits 63 bits", ErrorCode::overflow);
  }
}

/// The rule of an operand of rank 2 or more.
OperandRule rule_of(const Node& node, std::string_view operand, bool dst) {
  if (compute_bound(node.kind)) return operand.ends_with("bias") ? OperandRule::plain : OperandRule::any;
  switch (node.kind) {
    case Kind::gather:
    case Kind::barrier: return OperandRule::plain;
    case Kind::concat:
    case Kind::sum:
    case Kind::binary: return dst ? OperandRule::any : OperandRule::actual;
    default: break;
  }
  if (dst || operand == "weights") return OperandRule::follows;
  return operand.starts_with("diff_") ? OperandRule::any : OperandRule::actual;
}

}  // namespace

std::vector<OperandName> operand_names(std::string_view words) {
  std::vector<OperandName> out;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    const bool optional = word.front() == '[';
    out.push_back({optional ? word.substr(1, word.size() - 2) : word, optional});
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

Signature signature(Kind kind, Pass pass) {
  const bool forward = is_forward(pass);
  switch (kind) {
    case Kind::convolution:
    case Kind::deconvolution:
    case Kind::inner_product:
      if (forward) return {"src weights [bias]", "dst"};
      if (pass == Pass::backward_data) return {"diff_dst weights", "diff_src"};
      if (pass == Pass::backward_weights) return {"src diff_dst", "diff_weights [diff_bias]"};
      break;
    case Kind::matmul:
      if (forward) return {"a b [bias]", "dst"};
      break;
    case Kind::rnn:
      if (forward) {
        return {"src_layer [src_iter] [src_iter_c] weights_layer weights_iter [bias]",
                "dst_layer [dst_iter] [dst_iter_c]"};
      }
      if (pass == Pass::backward) {
        return {
            "src_layer [src_iter] [src_iter_c] weights_layer weights_iter [bias] dst_layer [dst_iter] "
            "[dst_iter_c] [diff_dst_layer] [diff_dst_iter] [diff_dst_iter_c]",
            "diff_src_layer [diff_src_iter] [diff_src_iter_c] diff_weights_layer diff_weights_iter [diff_bias]"};
      }
      break;
    case Kind::pooling:
    case Kind::shuffle:
    case Kind::resampling:
      if (forward) return {"src", "dst"};
      if (pass == Pass::backward_data) return {"diff_dst", "diff_src"};
      break;
    case Kind::lrn:
    case Kind::eltwise:
      if (forward) return {"src", "dst"};
      if (pass == Pass::backward_data) return {"src diff_dst", "diff_src"};
      break;
    case Kind::softmax:
      if (forward) return {"src", "dst"};
      if (pass == Pass::backward_data) return {"dst diff_dst", "diff_src"};
      break;
    case Kind::batch_normalization:
      if (pass == Pass::forward_inference) return {"src [scale] [shift] mean variance", "dst"};
      if (pass == Pass::forward_training) return {"src [scale] [shift]", "dst mean variance"};
      if (pass == Pass::backward) {
        return {"src [scale] mean variance diff_dst", "diff_src [diff_scale] [diff_shift]"};
      }
      break;
    case Kind::layer_normalization:
      if (pass == Pass::forward_inference) return {"src [scale] [shift]", "dst [mean] [variance]"};
      if (pass == Pass::forward_training) return {"src [scale] [shift]", "dst mean variance"};
      if (pass == Pass::backward) {
        return {"src [scale] mean variance diff_dst", "diff_src [diff_scale] [diff_shift]"};
      }
      break;
    case Kind::prelu:
      if (forward) return {"src weights", "dst"};
      if (pass == Pass::backward) return {"src weights diff_dst", "diff_src diff_weights"};
      break;
    case Kind::concat:
    case Kind::sum:
      if (forward) return {"src...", "dst"};
      break;
    case Kind::binary:
      if (forward) return {"a b", "dst"};
      break;
    case Kind::gather:
      if (forward) return {"data indices", "dst"};
      break;
    case Kind::barrier:
      if (forward) return {"[src...]", "dst..."};
      break;
    case Kind::reduction:
    case Kind::reorder:
    case Kind::reshape:
    case Kind::transpose:
    case Kind::slice:
    case Kind::broadcast:
    case Kind::pad:
      if (forward) return {"src", "dst"};
      break;
  }
  return {};
}

std::vector<std::optional<OperandSpec>> infer(const Graph& graph, const Node& node, int dsts) {
  const Signature words = signature(node.kind, node.pass);
  if (words.dst.empty()) refuse(node, "pass", std::string(name(node.pass)), "a pass that the kind has");
  if (node.attributes.index() != row_of(node.kind).attributes) {
    refuse(node, "attributes", "those of another kind", "those of " + std::string(name(node.kind)));
  }
  check_sources(graph, node, operand_names(words.src));
  std::vector<std::optional<OperandSpec>> out;
  if (is_forward(node.pass)) {
    for (OperandSpec& spec : row_of(node.kind).infer({graph, node, dsts})) out.emplace_back(std::move(spec));
  } else {
    out = infer_backward(graph, node, words);
  }
  const int most = static_cast<int>(out.size());
  const int least = required_count(operand_names(words.dst), most);
  if (dsts == 0) dsts = least;
  if (dsts < least || dsts > most) {
    refuse(node, "dst", std::to_string(dsts) + " operands",
           std::to_string(least) + (least == most ? "" : " to " + std::to_string(most)));
  }
  out.resize(static_cast<std::size_t>(dsts));
  for (const std::optional<OperandSpec>& spec : out) {
    if (spec) check_size(node, *spec);
  }
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
      out.push_back(plain ? OperandRule::plain : rule_of(node, operand, dst));
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
    case logsigmoid: return false;
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
    case mish:
    case hardswish: return true;
  }
  return false;
}

}  // namespace relayout::graph
