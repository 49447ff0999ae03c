// LayoutPlan: a layout for every tensor of a graph, every reorder between them, and how each node is computed.
//
// A tensor may exist in several layouts. Each is a *copy*: what a node wrote, what a reorder made of another copy, or
// a view of another copy's memory. A plan says nothing of time or memory addresses; execute/ runs it.
//
//     LayoutPlan plan = propagate(graph, *backend, {.policy = Policy::any});
//     for (CopyId reorder : plan.reorders(graph)) plan.copy(reorder).reason;  // what was inserted, and why
#pragma once

#include "relayout/graph/ir/graph.h"
#include "relayout/graph/plan/backend.h"

namespace relayout::graph {

/// Index into LayoutPlan::copies, or kNone.
using CopyId = int;

/// A tensor in one layout.
struct Copy {
  TensorId tensor = kNone;
  Layout layout;
  /// The copy that a reorder makes it from; kNone of a graph input, a constant, a view, or what a node writes.
  CopyId from = kNone;
  /// The copy whose memory it is; its layout counts from that memory's element 0. What a view node gives is a view of
  /// its source; what an elementwise node writes in place, too; the sources of a concat that moves nothing are views of
  /// its destination, and a node or a reorder writes them there.
  CopyId view_of = kNone;
  /// Of a reorder: why it is there.
  std::string reason{};
};

struct PlannedNode {
  /// The backend's name of the way, "view" for one that costs nothing, "barrier" for one that cannot run.
  std::string implementation;
  bool reference = false;
  /// The copy of each operand; kNone where absent.
  std::vector<CopyId> src, dst;
};

struct LayoutPlan {
  std::string policy, backend;
  /// Threads of the backend that it was made for; 0 where that is not known.
  int threads = 0;
  std::vector<Copy> copies;
  /// One a node of the graph, in its order.
  std::vector<PlannedNode> nodes;
  /// The copies that graph inputs arrive in and outputs leave in.
  std::vector<CopyId> inputs, outputs;

  const Copy& copy(CopyId id) const { return copies[static_cast<std::size_t>(id)]; }
  /// Copies that reorders make at run time; those of constants are made once, at load, and not among them.
  std::vector<CopyId> reorders(const Graph& graph) const;
  /// Reorders of constants.
  std::vector<CopyId> load_reorders(const Graph& graph) const;
};

/// The way of a planned node, and whether it writes into the memory of a source.
Implementation implementation_of(const LayoutPlan& plan, NodeId node);
bool runs_in_place(const LayoutPlan& plan, NodeId node);
/// That way as the backend offers it, or nothing where it cannot be made: asked for in all its layouts, in those of its
/// data, and for any, as weights have many spellings. `forward` is the way of the node's hint, else null.
std::optional<Implementation> matching_implementation(const Backend& backend, const Graph& graph, NodeId node,
                                                      const Implementation& way, const Implementation* forward);

/// Whether a node computes each element of its destination from the same ones of its sources, so that it may be written
/// over the first of them.
bool can_overwrite_source(const Graph& graph, const Node& node);

/// How the channels (dim 1) of an activation are stored: as an outer dim (row-major), as the innermost dim, or in
/// blocks. Layouts below three dims count as plain.
enum class Channels : uint8_t { plain, last, blocked };
Channels channels_of(const Layout& layout);

/// The least offset of an element or padding place.
int64_t first_offset(const Layout& layout);
/// The same, moved so that its first element or padding place lies at offset 0.
Layout from_zero(const Layout& layout);

/// Bytes that a reorder of this copy reads and writes.
int64_t reorder_bytes(const Graph& graph, const LayoutPlan& plan, CopyId copy);

struct PlanTotals {
  int64_t reorders = 0, reorder_bytes = 0, load_reorders = 0, reference_primitives = 0;
};
PlanTotals totals(const Graph& graph, const LayoutPlan& plan);

/// A layout as an expression that Format::parse reads: a tag in letters a..l, or strides; where there is none, its
/// digits.
std::string expression_of(const Layout& layout);
/// The same with the letters people use where they fit: "nhwc" for an activation, "OIhw16i16o" for weights.
std::string display_name(const Layout& layout, bool weights);

}  // namespace relayout::graph
