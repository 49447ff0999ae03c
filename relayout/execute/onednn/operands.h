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

/// An operand's layout under the dims that oneDNN wants: matmul has a bias of the destination's rank, layer
/// normalization normalizes over one last dim. Nothing where that is no view.
std::optional<Layout> presented(const graph::Graph& graph, const graph::Node& node, std::size_t i,
                                const Layout& layout);
/// Whether presented() changes the dims: then oneDNN cannot choose the layout.
bool is_presented(const graph::Graph& graph, const graph::Node& node, std::size_t i);

/// The layouts to try the library with, so that operands get the layouts that are asked for: one attempt for each
/// spelling that these have, with `any` replaced where oneDNN does not accept it. `lead` is the layout that operands of
/// memory-bound primitives follow where none is asked for.
std::vector<Layouts> attempts(const graph::Graph& graph, const graph::Node& node, const Layouts& requests,
                              const std::optional<Layout>& lead);
/// The same where all layouts are known.
std::vector<Layouts> attempts_for(const graph::Graph& graph, const graph::Node& node, const Layouts& layouts);

/// Memory descriptors for an attempt; nothing where oneDNN cannot express one of them. `whole`: padding counts as
/// elements.
std::optional<OperandDescs> descriptors(const graph::Graph& graph, const graph::Node& node, const Layouts& attempt,
                                        bool whole = false);

/// Whether a node may be computed over padding as well, because all its operands have the same padded layout. The
/// library then has no tails to treat, and the padding is set to zero afterwards.
bool takes_whole(const graph::Node& node, const Layouts& layouts);

}  // namespace relayout::execute
