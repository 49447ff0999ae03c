// Which own kernel does a node, and in which layouts: see own.h.
#include "relayout/execute/own/own.h"

#include <algorithm>

#include "relayout/execute/own/kernels.h"

namespace relayout::execute {

using graph::Executable;
using graph::Graph;
using graph::Implementation;
using graph::Kind;
using graph::kNone;
using graph::Node;

namespace {

constexpr std::string_view kPrefix = "relayout:";

struct OwnKernel {
  std::string_view name;
  std::unique_ptr<Executable> (*make)(const OwnRequest&);
  bool reference = false;
};

/// Whether it is a maximum or minimum, of which the backend's kernels lose some.
bool is_extreme(const Node& node) {
  const graph::ReductionAlgorithm algorithm = node.as<graph::ReductionAttributes>().algorithm;
  return algorithm == graph::ReductionAlgorithm::max || algorithm == graph::ReductionAlgorithm::min;
}

std::optional<OwnKernel> kernel_for(const Graph& graph, const Node& node) {
  if (!node.post_ops.empty()) {
    const bool fits = node.kind == Kind::binary || node.kind == Kind::sum || node.kind == Kind::eltwise;
    return fits ? std::optional(OwnKernel{"relayout:fused", make_elementwise}) : std::nullopt;
  }
  switch (node.kind) {
    case Kind::shuffle:
    case Kind::concat:
    case Kind::reshape:
    case Kind::transpose:
    case Kind::slice:
    case Kind::broadcast:
    case Kind::pad:
    case Kind::reorder: return OwnKernel{"relayout:reorder", make_moves};
    case Kind::batch_normalization: return OwnKernel{"relayout:batch_normalization", make_batch_normalization};
    case Kind::rnn:
      if (node.forward()) return OwnKernel{"relayout:rnn", make_rnn};
      return OwnKernel{"relayout:reference", make_projected_lstm, true};
    case Kind::gather: return OwnKernel{"relayout:gather", make_gather};
    case Kind::pooling:
      if (!node.as<graph::PoolingAttributes>().kernel.empty())
        return OwnKernel{"relayout:reference", make_sparse_average, true};
      return OwnKernel{"relayout:reduction", make_reduction};
    case Kind::reduction: return OwnKernel{"relayout:reduction", make_reduction, !is_extreme(node)};
    case Kind::resampling: return OwnKernel{"relayout:resampling", make_resampling};
    case Kind::binary: return OwnKernel{"relayout:binary", make_elementwise};
    case Kind::prelu:
      if (node.pass != graph::Pass::forward_inference) return std::nullopt;
      return OwnKernel{"relayout:prelu", make_elementwise};
    case Kind::sum: return OwnKernel{"relayout:sum", make_elementwise};
    case Kind::eltwise: return OwnKernel{"relayout:eltwise", node.forward() ? make_elementwise : make_pointwise};
    case Kind::array: return OwnKernel{"relayout:array", make_array};
    case Kind::softmax: return OwnKernel{"relayout:softmax", make_softmax, true};
    case Kind::matmul:
      if (graph.tensor(node.dst[0]).dtype != DType::f32) return OwnKernel{"relayout:matmul", make_matmul, true};
      return OwnKernel{"relayout:few_rows", make_few_rows};
    case Kind::inner_product: return OwnKernel{"relayout:few_rows", make_few_rows};
    default: return std::nullopt;
  }
}

/// Replaces `any` by a layout that follows the first operand that has one, else by row-major.
Layouts resolved(const Graph& graph, const Node& node, const Layouts& requests) {
  Layouts out = requests;
  const auto lead = std::ranges::find_if(requests, [](const auto& request) { return request.has_value(); });
  for (std::size_t i = 0; i < out.size(); ++i) {
    const graph::TensorId id = i < node.src.size() ? node.src[i] : node.dst[i - node.src.size()];
    if (out[i] || id == kNone) continue;
    const Dims& dims = graph.tensor(id).dims;
    out[i] = lead == requests.end() ? Layout::contiguous(dims) : following(dims, **lead);
  }
  return out;
}

}  // namespace

bool is_own(std::string_view name) { return name.starts_with(kPrefix); }

std::vector<Implementation> own_implementations(const Graph& graph, const Node& node, const Layouts& requests) {
  const std::optional<OwnKernel> kernel = kernel_for(graph, node);
  if (!kernel) return {};
  const Layouts layouts = resolved(graph, node, requests);
  if (!kernel->make({graph, node, layouts})) return {};
  const auto middle = layouts.begin() + static_cast<std::ptrdiff_t>(node.src.size());
  return {{std::string(kernel->name), {layouts.begin(), middle}, {middle, layouts.end()}, kernel->reference}};
}

std::unique_ptr<Executable> make_own(const Graph& graph, const Node& node, const Implementation& implementation,
                                     int threads) {
  Layouts layouts = implementation.src;
  layouts.insert(layouts.end(), implementation.dst.begin(), implementation.dst.end());
  const std::optional<OwnKernel> kernel = kernel_for(graph, node);
  if (kernel && kernel->name == implementation.name) {
    if (auto executable = kernel->make({graph, node, layouts, threads})) return executable;
  }
  throw Error(ErrorCode::unsupported, std::string(graph::name(node.kind)) + " '" + escaped(node.name) +
                                          "': no kernel " + escaped(implementation.name) +
                                          " in the layouts that are planned");
}

}  // namespace relayout::execute
