// What a layout plan adds up to, and layouts as texts.
#include "relayout/graph/plan/layout_plan.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "relayout/core/print.h"

namespace relayout::graph {
namespace {

std::vector<CopyId> reorders_of(const Graph& graph, const LayoutPlan& plan, bool constant) {
  std::vector<CopyId> out;
  for (std::size_t i = 0; i < plan.copies.size(); ++i) {
    const Copy& copy = plan.copies[i];
    if (copy.from != kNone && graph.tensor(copy.tensor).constant() == constant) out.push_back(static_cast<CopyId>(i));
  }
  return out;
}

}  // namespace

std::vector<CopyId> LayoutPlan::reorders(const Graph& graph) const { return reorders_of(graph, *this, false); }
std::vector<CopyId> LayoutPlan::load_reorders(const Graph& graph) const { return reorders_of(graph, *this, true); }

void Backend::reorder_into(const Graph&, NodeId, const Implementation&, std::size_t, const void*, void*) const {
  throw Error(ErrorCode::unsupported, "reorder: " + name() + " has no opaque formats", "backend", name());
}
void Backend::reorder_out_of(const Graph&, NodeId, const Implementation&, std::size_t, const void*, void*) const {
  throw Error(ErrorCode::unsupported, "reorder: " + name() + " has no opaque formats", "backend", name());
}

Implementation implementation_of(const LayoutPlan& plan, NodeId node) {
  const PlannedNode& planned = plan.nodes[static_cast<std::size_t>(node)];
  Implementation out{
      .name = planned.implementation, .reference = planned.reference, .rounds_more = planned.rounds_more};
  const auto layout = [&](CopyId id) { return id == kNone ? std::nullopt : std::optional(plan.copy(id).layout); };
  std::ranges::transform(planned.src, std::back_inserter(out.src), layout);
  for (std::size_t i = 0; i < planned.src.size(); ++i) {
    if (planned.src[i] == kNone || !plan.copy(planned.src[i]).opaque) continue;
    out.opaque.resize(planned.src.size());
    out.opaque[i] = plan.copy(planned.src[i]).opaque;
  }
  std::ranges::transform(planned.dst, std::back_inserter(out.dst), layout);
  return out;
}

bool runs_in_place(const LayoutPlan& plan, NodeId node) {
  const PlannedNode& planned = plan.nodes[static_cast<std::size_t>(node)];
  if (planned.dst.empty() || planned.dst[0] == kNone) return false;
  const CopyId of = plan.copy(planned.dst[0]).view_of;
  return of != kNone && std::ranges::find(planned.src, of) != planned.src.end();
}

std::optional<Implementation> matching_implementation(const Backend& backend, const Graph& graph, NodeId node,
                                                      const Implementation& implementation,
                                                      const Implementation* forward, bool same_names) {
  const auto same = [&](const std::optional<Opaque>& a, const std::optional<Opaque>& b) {
    return same_names && a && b ? a->backend == b->backend && a->name == b->name : a == b;
  };
  for (int open = 0; open < 3; ++open) {
    std::vector<LayoutRequest> src = implementation.src, dst = implementation.dst;
    for (std::size_t i = 0; i < src.size(); ++i) {
      if (implementation.opaque_src(i)) src[i].reset();
    }
    for (auto* requests : {&src, &dst}) {
      for (std::size_t i = open == 1 ? 1 : 0; i < requests->size() && open > 0; ++i) (*requests)[i].reset();
    }
    for (Implementation& found : backend.implementations(graph, node, src, dst, forward)) {
      if (found.name == implementation.name && found.src == implementation.src && found.dst == implementation.dst &&
          std::ranges::equal(found.opaque, implementation.opaque, same))
        return std::move(found);
    }
  }
  return std::nullopt;
}

bool has_implementation(const Backend& backend, const Graph& graph, NodeId node) {
  const std::vector<LayoutRequest> src(graph.node(node).src.size()), dst(graph.node(node).dst.size());
  if (is_view(graph.node(node).kind)) return true;
  return std::ranges::any_of(backend.implementations(graph, node, src, dst, nullptr),
                             [](const Implementation& each) { return !each.reference; });
}

bool can_overwrite_source(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case Kind::eltwise:
    case Kind::sum: return node.forward();
    case Kind::binary:  // if a source repeats, kernels write before they have read all of it
      return graph.tensor(node.src[0]).dims == graph.tensor(node.src[1]).dims;
    case Kind::batch_normalization: return node.pass == Pass::forward_inference;
    default: return false;
  }
}

Channels channels_of(const Layout& layout) {
  if (layout.ndims() < 3) return Channels::plain;
  if (layout.block(1) > 1) return Channels::blocked;
  return layout.outer_stride(1) == 1 ? Channels::last : Channels::plain;
}

int64_t first_offset(const Layout& layout) { return layout.empty() ? layout.offset0() : layout.offset_range().first; }

Layout from_zero(const Layout& layout) {
  const int64_t first = first_offset(layout);
  if (first == 0) return layout;
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  return Layout::from_digits(layout.dims(), digits, layout.offset0() - first);
}

int64_t reorder_bytes(const Graph& graph, const LayoutPlan& plan, CopyId copy) {
  const Copy& to = plan.copy(copy);
  const DType dtype = graph.tensor(to.tensor).dtype;
  // A reorder reads the elements alone and writes elements and padding.
  return TensorDesc(plan.copy(to.from).layout, dtype).logical_bytes() +
         (to.opaque ? to.opaque->bytes : bytes_for(dtype, to.layout.padded_elements()).value_or(0));
}

PlanTotals totals(const Graph& graph, const LayoutPlan& plan) {
  PlanTotals out;
  for (CopyId copy : plan.reorders(graph)) {
    ++out.reorders;
    out.reorder_bytes += reorder_bytes(graph, plan, copy);
  }
  out.load_reorders = static_cast<int64_t>(plan.load_reorders(graph).size());
  out.reference_primitives = std::ranges::count_if(plan.nodes, &PlannedNode::reference);
  out.rounding_more = std::ranges::count_if(plan.nodes, &PlannedNode::rounds_more);
  return out;
}

std::string expression_of(const Layout& layout) {
  const Layout simple = layout.canonical();
  if (const auto tag = tag_of(simple)) return *tag;
  Dims strides;
  for (int d = 0; d < simple.ndims(); ++d) {
    // Strides cannot express padding, and a part of a blocked tensor has no tag of its own.
    if (simple.digits(d).size() != 1 || simple.padded_dims()[d] != simple.dim(d))
      return digits_text(layout, std::string_view("abcdefghijkl"));
    // The stride of a dim of extent 1 says nothing, but 0 would look like a broadcast.
    strides.push_back(simple.dim(d) == 1 ? layout.outer_stride(d) : simple.outer_stride(d));
  }
  std::string out = layout.ndims() == 0 ? std::string("contiguous") : "strides:" + join(strides);
  if (layout.offset0() != 0) out.append("@").append(std::to_string(layout.offset0()));
  return out;
}

std::string expression_of(const Layout& layout, const std::optional<Opaque>& opaque) {
  if (!opaque) return expression_of(layout);
  std::array<char, 17> hash{};
  std::snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(opaque->hash));
  return "opaque:" + opaque->name + ":" + std::to_string(opaque->bytes) + ":" + hash.data();
}

std::string display_name(const Layout& layout, const std::optional<Opaque>& opaque, bool weights) {
  if (!opaque) return display_name(layout, weights);
  return "opaque " + opaque->name + " (" + std::to_string(opaque->bytes) + " bytes)";
}

std::string display_name(const Layout& layout, bool weights) {
  const auto tag = tag_of(layout.canonical());
  if (!tag) return expression_of(layout);
  const std::vector<std::string> names = aliases_of(*tag);
  const auto fits = [&](const std::string& name) {
    const bool of_weights = name.find_first_of("oO") != std::string::npos;
    return weights ? of_weights : name.find_first_of("nN") != std::string::npos && !of_weights;
  };
  const auto found = std::ranges::find_if(names, fits);
  return found == names.end() ? *tag : *found;
}

}  // namespace relayout::graph
