// Operands: the layouts of a node's operands as oneDNN is told them, and which ones to try (internal to
// execute/onednn).
#pragma once

#include "relayout/execute/onednn/descriptor.h"
#include "relayout/execute/onednn/primitive.h"
#include "relayout/execute/own/own.h"

namespace relayout::execute {

/// Sources and destinations in one list.
Layouts joined(std::span<const graph::LayoutRequest> src, std::span<const graph::LayoutRequest> dst);

/// The tensor of operand i (sources, then destinations), or kNone.
graph::TensorId operand(const graph::Node& node, std::size_t i);
inline std::size_t operand_count(const graph::Node& node) { return node.src.size() + node.dst.size(); }

/// An operand's layout with the dims that oneDNN wants: the bias of a matmul has the destination's rank, and layer
/// normalization normalizes over one last dim. Nothing if that is no view.
std::optional<Layout> presented(const graph::Graph& graph, const graph::Node& node, std::size_t i,
                                const Layout& layout);
/// Whether presented() changes the dims, so that oneDNN cannot choose the layout.
bool is_presented(const graph::Graph& graph, const graph::Node& node, std::size_t i);

/// The layouts with which to ask the library, so that operands get the layouts that are requested: one attempt for each
/// spelling of these layouts. Where oneDNN does not accept `any`, a layout takes its place: operands of memory-bound
/// primitives without a request follow `lead`.
std::vector<Layouts> attempts(const graph::Graph& graph, const graph::Node& node, const Layouts& requests,
                              const std::optional<Layout>& lead);
/// Attempts if all layouts are known.
std::vector<Layouts> attempts_for(const graph::Graph& graph, const graph::Node& node, const Layouts& layouts);

/// Memory descriptors for an attempt; nothing if oneDNN cannot express one of them. `whole` counts padding as elements.
std::optional<OperandDescs> descriptors(const graph::Graph& graph, const graph::Node& node, const Layouts& attempt,
                                        bool whole = false);

/// Whether a source may have an opaque format. Only constants may, because they are reordered once.
bool may_be_opaque(const graph::Graph& graph, const graph::Node& node, std::size_t i);
/// Whether the library is also asked for Winograd's algorithm: for convolutions whose kernel meets neighbouring
/// elements and moves by one, and whose weights are transformed once. The transform has fractions, which weights of
/// bytes would lose: oneDNN's kernel for bytes differs by percents of the scale (docs/lab/opaque-formats.md).
bool may_use_winograd(const graph::Graph& graph, const graph::Node& node);

/// Whether a node may also be computed over its padding, because all its operands have the same padded layout. The
/// library then has no tails to treat. Afterwards the padding is set to zero.
bool takes_whole(const graph::Node& node, const Layouts& layouts);

}  // namespace relayout::execute
