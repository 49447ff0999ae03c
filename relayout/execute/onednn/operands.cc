// Which layouts to ask oneDNN for: see operands.h.
#include "relayout/execute/onednn/operands.h"

#include <algorithm>

#include "relayout/core/view.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::execute {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::Node;
using graph::TensorId;

namespace {

/// Whether an operand of layer normalization is data. oneDNN normalizes over one dim, so data is given to it as
/// vectors: outer dims, then the normalized elements as one dim.
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
    out = (axis == 0 ? unsqueeze(out, 0) : merge(out, 0, axis - 1)).canonical();
    // The elements of a row must be at equal distances, because further digits would pass for blocks.
    if (out.digits(0).size() > 1 || out.digits(1).size() > 1) return std::nullopt;
    return out;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::needs_copy) throw;
    return std::nullopt;
  }
}

/// The layout of statistics for oneDNN, which gives them the outer dims of the data; in a graph they have one dim. Both
/// are row-major.
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

/// Gives layouts that belong to a family of tags the strides of its tags, so that equal layouts have equal strides.
Layouts spelled_as(const Layouts& layouts, Spelling spelling) {
  Layouts out = layouts;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i]) continue;
    const auto before = std::find(layouts.begin(), layouts.begin() + static_cast<std::ptrdiff_t>(i), layouts[i]);
    const auto first = static_cast<std::size_t>(before - layouts.begin());
    if (first < i && spelling != Spelling::as_given) {
      out[i] = out[first];
    } else if (std::optional<Layout> other = spelled(*out[i], spelling)) {
      out[i] = other;
    }
  }
  return out;
}

/// Whether oneDNN may be asked to choose this operand's layout.
bool may_be_any(const Graph& graph, const Node& node, std::size_t i) {
  if (is_presented(graph, node, i) || graph.tensor(operand(node, i)).dims.size() < 2) return false;
  if (i >= node.own_sources() && i < node.src.size()) return false;  // of post-ops
  return compute_bound(node.kind) || i >= node.src.size();
}

/// The same digits with padding counted as elements.
Layout unpadded(const Layout& layout) {
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  return Layout::from_digits(layout.padded_dims(), digits, layout.offset0());
}

std::optional<Layout> lead_of(const Node& node, const Layouts& requests) {
  // The other operands follow the first one of the highest rank: data, which comes first in every list.
  std::optional<Layout> lead;
  for (std::size_t i = 0; i < operand_count(node); ++i) {
    if (requests[i] && (!lead || requests[i]->ndims() > lead->ndims())) lead = requests[i];
  }
  return lead;
}

}  // namespace

Layouts joined(std::span<const graph::LayoutRequest> src, std::span<const graph::LayoutRequest> dst) {
  Layouts out(src.begin(), src.end());
  out.insert(out.end(), dst.begin(), dst.end());
  return out;
}

TensorId operand(const Node& node, std::size_t i) {
  return i < node.src.size() ? node.src[i] : node.dst[i - node.src.size()];
}

bool is_presented(const Graph& graph, const Node& node, std::size_t i) {
  if (node.kind == Kind::matmul) return i == 2 && i < node.own_sources();
  if (node.kind != Kind::layer_normalization) return false;
  return graph.tensor(operand(node, i)).dims.size() == 1 || as_vectors(graph, node);
}

std::optional<Layout> presented(const Graph& graph, const Node& node, std::size_t i, const Layout& layout) {
  // Recurrent cells and the reference of softmax compute lengths of rows from strides, even from those of dims of
  // extent 1. A projection keeps its strides, because the backward reference takes no other order of the same elements.
  const std::size_t number = i < node.src.size() ? i : i - node.src.size();
  const bool states = node.kind == Kind::rnn && layout.ndims() <= 4 && number != kRnnProjection;
  const bool by_rows = node.kind == Kind::softmax || states;
  if (by_rows) return spelled(layout, Spelling::plain).value_or(layout);
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

std::vector<Layouts> attempts(const Graph& graph, const Node& node, const Layouts& requests,
                              const std::optional<Layout>& lead) {
  std::vector<Layouts> out;
  for (int s = 0; s < kSpellingCount; ++s) {
    Layouts open = spelled_as(requests, static_cast<Spelling>(s));
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
  std::vector<Layouts> spellings, out;
  for (int s = 0; s < kSpellingCount; ++s) add(spellings, spelled_as(layouts, static_cast<Spelling>(s)));
  // Equal weights can have different strides. So the library chooses the layout of weights first; then they are tried
  // with the given strides; then the library chooses all layouts; at last all but that of the source or the
  // destination.
  for (int open = 0; open < 5; ++open) {
    for (const Layouts& spelling : spellings) {
      Layouts attempt = spelling;
      for (std::size_t i = 0; i < layouts.size(); ++i) {
        if (operand(node, i) == kNone || !may_be_any(graph, node, i)) continue;
        const bool is_src = i == 0, is_dst = i == node.src.size();
        const bool opens[] = {compute_bound(node.kind) && !is_src && !is_dst, false, true, !is_src, !is_dst};
        if (opens[open]) attempt[i].reset();
      }
      add(out, std::move(attempt));
    }
  }
  return out;
}

bool may_be_opaque(const Graph& graph, const Node& node, std::size_t i) {
  return i < node.src.size() && node.pass == graph::Pass::forward_inference && graph.tensor(node.src[i]).constant();
}

bool may_use_winograd(const Graph& graph, const Node& node) {
  if (node.kind != graph::Kind::convolution || !may_be_opaque(graph, node, 1)) return false;
  const graph::Tensor& weights = graph.tensor(node.src[1]);
  const int spatial = graph.tensor(node.src[0]).dims.size() - 2;
  const graph::ConvolutionAttributes a = filled(node.as<graph::ConvolutionAttributes>(), spatial);
  const auto is_one = [](int64_t value) { return value == 1; };
  return is_floating(weights.dtype) && std::ranges::all_of(a.strides, is_one) &&
         std::ranges::all_of(a.dilations, is_one) && !is_one(weights.dims.back());
}

bool takes_whole(const Node& node, const Layouts& layouts) {
  if (node.kind != Kind::eltwise && node.kind != Kind::sum && node.kind != Kind::binary) return false;
  if (!layouts[0] || !layouts[0]->padded()) return false;
  return std::ranges::all_of(layouts, [&](const auto& layout) { return layout == layouts[0]; });
}

std::optional<OperandDescs> descriptors(const Graph& graph, const Node& node, const Layouts& attempt, bool whole) {
  OperandDescs out;
  for (std::size_t i = 0; i < operand_count(node); ++i) {
    auto& list = i < node.src.size() ? out.src : out.dst;
    list.emplace_back();
    if (operand(node, i) == kNone) continue;
    const graph::Tensor& tensor = graph.tensor(operand(node, i));
    std::optional<dnnl::memory::desc> desc;
    if (attempt[i]) {
      const std::optional<Layout> layout = whole ? unpadded(*attempt[0]) : presented(graph, node, i, *attempt[i]);
      // Recurrent layers tell batch and time apart by such strides; products know their formats by them, so they get
      // each spelling as it is.
      if (layout) desc = descriptor(compute_bound(node.kind) ? *layout : with_plain_strides(*layout), tensor.dtype);
    } else {
      desc = any_descriptor(tensor.dims, tensor.dtype);
    }
    if (!desc) return std::nullopt;
    list.back() = *desc;
  }
  return out;
}

}  // namespace relayout::execute
