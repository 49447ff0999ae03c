// Infers a node's destinations: the function of each kind's family, the checks that all kinds share, and the
// destinations of backward nodes, which follow from the operands' names alone (signature.cc).
#include <algorithm>
#include <array>

#include "relayout/core/overflow.h"
#include "relayout/graph/ir/ops.h"
#include "relayout/graph/ir/ops_families.h"
#include "relayout/graph/ir/post_ops.h"

namespace relayout::graph {
namespace {

/// Whether the operand is a list such as "src...": one or more sources.
bool is_list(const OperandName& operand) { return operand.name.ends_with("..."); }

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
      {infer_array, index_of<ArrayAttributes>()},
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

/// Refuses post-ops' sources that are no tensors.
void check_post_sources(const Graph& graph, const Node& node) {
  for (std::size_t i = node.own_sources(); i < node.src.size(); ++i) {
    if (node.src[i] < 0 || static_cast<std::size_t>(node.src[i]) >= graph.tensors.size()) {
      refuse(node, "post-ops", "tensor " + std::to_string(node.src[i]),
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

/// The forward operand that a backward operand is, or of which it is the gradient; null if the forward node has none.
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

/// How many destinations every node of this kind and pass has: all up to the last required one. For a list it is
/// `most`.
int required_count(const std::vector<OperandName>& names, int most) {
  if (is_list(names.back())) return most;
  int out = 0;
  for (int i = 0; i < static_cast<int>(names.size()); ++i) {
    if (!names[static_cast<std::size_t>(i)].optional) out = i + 1;
  }
  return out;
}

void check_tensor_size(const Node& node, const OperandSpec& spec) {
  const std::optional<int64_t> elements = checked_product(spec.dims);
  if (!elements || !bytes_for(spec.dtype, *elements)) {
    refuse(node, "dst", join(spec.dims), "a size in bytes that fits 63 bits; " + largest_dim_text(spec.dims, spec.dims),
           ErrorCode::overflow);
  }
}

}  // namespace

std::vector<std::optional<OperandSpec>> infer(const Graph& graph, const Node& node, int dsts) {
  if (!node.post_ops.empty() || node.post_sources != 0) {
    if (node.post_sources > node.src.size()) {
      refuse(node, "post-ops", std::to_string(node.post_sources) + " sources",
             "at most " + std::to_string(node.src.size()));
    }
    std::vector<std::optional<OperandSpec>> computed = infer(graph, without_post_ops(node), dsts);
    if (computed.size() != 1 || !computed[0]) refuse(node, "post-ops", "several destinations", "one");
    check_post_sources(graph, node);
    check_post_ops(graph, node, *computed[0]);
    return computed;
  }
  const Signature words = signature(node.kind, node.pass);
  if (words.dst.empty()) refuse(node, "pass", std::string(name(node.pass)), "a pass that the kind has");
  if (node.attributes.index() != row_of(node.kind).attributes) {
    refuse(node, "attributes", "those of another kind", "those of " + std::string(name(node.kind)));
  }
  check_sources(graph, node, operand_names(words.src));
  std::vector<std::optional<OperandSpec>> out;
  if (node.forward()) {
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
    if (spec) check_tensor_size(node, *spec);
  }
  return out;
}

}  // namespace relayout::graph
