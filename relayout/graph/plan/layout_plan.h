// LayoutPlan: a layout for every tensor of a graph, every reorder between them, and how each node is computed.
//
// A tensor may exist in several layouts. Each of these is a *copy*: what a node wrote, what a reorder made from another
// copy, or a view of another copy's memory. A plan does not say when things run or at which addresses; execute/ does.
//
//     LayoutPlan plan = optimize(graph, *backend, *costs).plan;                 // optimize.h
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
  Layout layout{};
  /// The backend's format, if the copy is in one; `layout` is then row-major, and says nothing but the dims.
  std::optional<Opaque> opaque{};
  /// The copy from which a reorder makes this one; kNone for graph inputs, constants, views and what a node writes.
  CopyId from = kNone;
  /// The copy in whose memory this one is, or kNone if it has its own; the layout then counts from element 0 of that
  /// memory. The result of a view node is a view of its source, and so is what an elementwise node writes in place. The
  /// sources of a concat that moves no data are views of its destination: a node or a reorder writes them there.
  CopyId view_of = kNone;
  /// For a reorder: why it is there.
  std::string reason{};
};

struct PlannedNode {
  /// The backend's name of the implementation; "view" for a node that costs nothing, "barrier" for one that cannot run.
  std::string implementation{};
  bool reference = false;
  /// The copy of each operand; kNone where absent.
  std::vector<CopyId> src{}, dst{};
  /// As in Implementation.
  bool rounds_more = false;
};

struct LayoutPlan {
  std::string policy, backend;
  /// The number of threads of the backend that it was made for; 0 if that is not known.
  int threads = 0;
  std::vector<Copy> copies;
  /// One for each node of the graph, in the same order.
  std::vector<PlannedNode> nodes;
  /// The copies in which graph inputs arrive, and in which outputs are returned.
  std::vector<CopyId> inputs, outputs;

  const Copy& copy(CopyId id) const { return copies[static_cast<std::size_t>(id)]; }
  /// Copies that reorders make in each run. Those of constants are not among them: they are made once, at load.
  std::vector<CopyId> reorders(const Graph& graph) const;
  /// Reorders of constants.
  std::vector<CopyId> load_reorders(const Graph& graph) const;
};

/// The implementation of a planned node, and whether the node writes into the memory of a source.
Implementation implementation_of(const LayoutPlan& plan, NodeId node);
bool runs_in_place(const LayoutPlan& plan, NodeId node);
/// The backend's implementation that equals this one, or nothing if it has none. The backend is asked for all of its
/// layouts, then for the layouts of its data, then for any, because layouts of weights can be spelled in many ways.
/// `forward` is the implementation of the node's hint, else null. With `same_names` opaque formats are equal if their
/// backend and their name are: details of a format may depend on the backend's number of threads.
std::optional<Implementation> matching_implementation(const Backend& backend, const Graph& graph, NodeId node,
                                                      const Implementation& implementation,
                                                      const Implementation* forward, bool same_names = false);

/// Whether the backend has an implementation of a node in some layouts, apart from slow ones
/// (Implementation::reference). Views need none.
bool has_implementation(const Backend& backend, const Graph& graph, NodeId node);

/// Whether a node computes each element of its destination from the elements at the same index of its sources, so that
/// it may write over its first source.
bool can_overwrite_source(const Graph& graph, const Node& node);

/// How the channels (dim 1) of an activation are stored: as an outer dim (row-major), as the innermost dim, or in
/// blocks. Layouts below three dims count as plain.
enum class Channels : uint8_t { plain, last, blocked };
Channels channels_of(const Layout& layout);

/// The least offset of an element or of padding.
int64_t first_offset(const Layout& layout);
/// The same layout, moved so that its least offset is 0.
Layout from_zero(const Layout& layout);

/// Bytes that a reorder of this copy reads and writes.
int64_t reorder_bytes(const Graph& graph, const LayoutPlan& plan, CopyId copy);

struct PlanTotals {
  int64_t reorders = 0, reorder_bytes = 0, load_reorders = 0, reference_primitives = 0, rounding_more = 0;
};
PlanTotals totals(const Graph& graph, const LayoutPlan& plan);

/// A layout as an expression that Format::parse reads: a tag in letters a..l, or strides. A layout that has neither is
/// given by its digits, which Format::parse does not read.
std::string expression_of(const Layout& layout);
/// The same of a copy. An opaque format, which Format::parse refuses, is "opaque:NAME:BYTES:HASH".
std::string expression_of(const Layout& layout, const std::optional<Opaque>& opaque);
/// The same with the letters that people use, if they fit: "nhwc" for an activation, "OIhw16i16o" for weights. Tensors
/// of a graph are named by LayoutNames (layout_names.h), which knows more domains.
std::string display_name(const Layout& layout, bool weights);
/// The same of a copy; an opaque format is "opaque NAME (BYTES bytes)".
std::string display_name(const Layout& layout, const std::optional<Opaque>& opaque, bool weights);

}  // namespace relayout::graph
