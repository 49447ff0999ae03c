// Which layouts to ask oneDNN for: see operands.h.
#include "relayout/execute/onednn/operands.h"

#include <algorithm>

#include "relayout/core/view.h"

namespace relayout::execute {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::Node;
using graph::TensorId;

namespace {

/// The data operands of layer normalization are presented as vectors: outer dims, then one that is normalized over.
bool is_data(const Graph& graph, const Node& node, std::size_t i) {
  return graph.tensor(operand(node, i)).dims.size() == graph.tensor(node.src[0]).dims.size() &&
         graph.tensor(operand(node, i)).dims == graph.tensor(node.src[0]).dims;
}

int normalized_from(const Graph& graph, const Node& node) {
  const int axis = node.as<graph::NormalizationAttributes>().axis;
  return axis < 0 ? axis + graph.tensor(node.src[0]).dims.size() : axis;
}

bool as_vectors(const Graph& graph, const Node& node) {
  const int ndims = graph.tensor(node.src[0]).dims.size();
  return normalized_from(graph, node) != ndims - 1 || ndims < 2 || ndims > 5;
}

std::optional<Layout> vectors(const Layout& layout, int axis) {
  try {
    Layout out = merge(layout, axis, layout.ndims() - 1);
    return axis == 0 ? unsqueeze(out, 0) : merge(out, 0, axis - 1);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::needs_copy) throw;
    return std::nullopt;
  }
}

/// Statistics have one dim here and the outer dims of the data there; both are row-major.
std::optional<Layout> statistics(const Graph& graph, const Node& node, const Layout& layout) {
  if (layout.offset0() != 0 || !layout.contiguous_in(MemoryFormat::contiguous)) return std::nullopt;
  Dims outer = graph.tensor(node.src[0]).dims;
  outer.pop_back();
  return Layout::contiguous(outer);
}

bool same_spelling(const Layouts& a, const Layouts& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].has_value() != b[i].has_value()) return false;
    if (!a[i]) continue;
    for (int d = 0; d < a[i]->ndims(); ++d) {
      if (!std::ranges::equal(a[i]->digits(d), b[i]->digits(d))) return false;
    }
  }
  return true;
}

void add(std::vector<Layouts>& list, Layouts attempt) {
  const bool known = std::ranges::any_of(list, [&](const Layouts& other) { return same_spelling(attempt, other); });
  if (!known) list.push_back(std::move(attempt));
}

/// All operands in one family of tags, where they are in it.
Layouts spelled_as(const Layouts& layouts, Spelling spelling) {
  Layouts out = layouts;
  for (std::optional<Layout>& layout : out) {
    if (!layout) continue;
    if (std::optional<Layout> other = spelled(*layout, spelling)) layout = other;
  }
  return out;
}

/// Whether oneDNN may be asked to choose this operand's layout.
bool may_be_any(const Graph& graph, const Node& node, std::size_t i) {
  if (is_presented(graph, node, i) || graph.tensor(operand(node, i)).dims.size() < 2) return false;
  return compute_bound(node.kind) || i >= node.src.size();
}

std::optional<Layout> lead_of(const Node& node, const Layouts& wishes) {
  // Data comes first in every list; what leads is the first operand of the highest rank.
  std::optional<Layout> lead;
  for (std::size_t i = 0; i < operand_count(node); ++i) {
    if (wishes[i] && (!lead || wishes[i]->ndims() > lead->ndims())) lead = wishes[i];
  }
  return lead;
}

}  // namespace

Layouts joined(std::span<const graph::Wish> src, std::span<const graph::Wish> dst) {
  Layouts out(src.begin(), src.end());
  out.insert(out.end(), dst.begin(), dst.end());
  return out;
}

TensorId operand(const Node& node, std::size_t i) {
  return i < node.src.size() ? node.src[i] : node.dst[i - node.src.size()];
}

bool is_presented(const Graph& graph, const Node& node, std::size_t i) {
  if (node.kind == Kind::matmul) return i == 2 && i < node.src.size();
  if (node.kind != Kind::layer_normalization) return false;
  return graph.tensor(operand(node, i)).dims.size() == 1 || as_vectors(graph, node);
}

std::optional<Layout> presented(const Graph& graph, const Node& node, std::size_t i, const Layout& layout) {
  if (!is_presented(graph, node, i)) return layout;
  if (node.kind == Kind::matmul) {
    Layout bias = layout;
    while (bias.ndims() < graph.tensor(node.dst[0]).dims.size()) bias = unsqueeze(bias, 0);
    return bias;
  }
  if (is_data(graph, node, i)) return vectors(layout, normalized_from(graph, node));
  const Arguments args = arguments(graph, node);
  const int arg = i < node.src.size() ? args.src[i] : args.dst[i - node.src.size()];
  const bool is_statistic = arg == DNNL_ARG_MEAN || arg == DNNL_ARG_VARIANCE;
  return is_statistic && !as_vectors(graph, node) ? statistics(graph, node, layout) : layout;
}

std::vector<Layouts> attempts(const Graph& graph, const Node& node, const Layouts& wishes,
                              const std::optional<Layout>& lead) {
  std::vector<Layouts> out;
  for (int s = 0; s < kSpellingCount; ++s) {
    Layouts open = spelled_as(wishes, static_cast<Spelling>(s));
    std::optional<Layout> follow = lead_of(node, open);
    if (!follow) follow = lead;
    if (!follow) follow = Layout::contiguous(graph.tensor(node.src[0]).dims);
    Layouts closed = open;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (operand(node, i) == kNone) continue;
      const Dims& dims = graph.tensor(operand(node, i)).dims;
      if (!open[i] && !may_be_any(graph, node, i)) open[i] = following(dims, *follow);
      if (!closed[i]) closed[i] = following(dims, *follow);
    }
    add(out, std::move(open));
    if (!compute_bound(node.kind)) add(out, std::move(closed));
  }
  return out;
}

std::vector<Layouts> attempts_for(const Graph& graph, const Node& node, const Layouts& layouts) {
  std::vector<Layouts> out;
  for (int s = 0; s < kSpellingCount; ++s) add(out, spelled_as(layouts, static_cast<Spelling>(s)));
  const std::size_t spellings = out.size();
  for (std::size_t k = 0; k < spellings; ++k) {
    // Weights, whose spellings are many, and then the rest are left to the library.
    Layouts weights = out[k], all = out[k];
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      if (operand(node, i) == kNone || !may_be_any(graph, node, i)) continue;
      all[i].reset();
      if (i > 0 && i != node.src.size()) weights[i].reset();
    }
    add(out, std::move(weights));
    add(out, std::move(all));
  }
  return out;
}

std::optional<OperandDescs> descriptors(const Graph& graph, const Node& node, const Layouts& attempt) {
  OperandDescs out;
  for (std::size_t i = 0; i < operand_count(node); ++i) {
    auto& list = i < node.src.size() ? out.src : out.dst;
    list.emplace_back();
    if (operand(node, i) == kNone) continue;
    const graph::Tensor& tensor = graph.tensor(operand(node, i));
    std::optional<dnnl::memory::desc> desc;
    if (attempt[i]) {
      const std::optional<Layout> layout = presented(graph, node, i, *attempt[i]);
      if (layout) desc = descriptor(*layout, tensor.dtype);
    } else {
      desc = any_descriptor(tensor.dims, tensor.dtype);
    }
    if (!desc) return std::nullopt;
    list.back() = *desc;
  }
  return out;
}

}  // namespace relayout::execute
