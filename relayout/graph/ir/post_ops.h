// Post-ops of a node: their checks, and the node as several nodes without post-ops (internal to relayout).
//
//     a matmul with the post-ops binary(add) of {3, 2} and eltwise(relu) of {4}, and the sources a, b and r:
//     the number 3 is what the matmul computes, and r has number 2; 4 is their sum
#pragma once

#include "relayout/graph/ir/ops.h"

namespace relayout::graph {

/// The node alone, with the sources of its kind.
Node without_post_ops(const Node& node);

/// A graph of the node alone and of one node for each post-op. Its first tensors are the node's sources, in order; an
/// absent one is a tensor that nothing reads. The others are the results, as the numbers of PostOp::src count them. All
/// results have the type that the node itself computes; a reorder follows where the destination has another.
Graph written_apart(const Graph& graph, const Node& node);

/// A graph of one node that computes the post-ops alone. Its source `computed` is what the node itself computes, and
/// the others are sources of the node, by `from`: their numbers there, and the number of the node's sources for
/// `computed`.
struct PostOpsAlone {
  Graph graph;
  std::vector<std::size_t> from;
};
PostOpsAlone post_ops_alone(const Graph& graph, const Node& node);

/// The kind of node that computes a post-op.
Kind kind_of(const PostOp& op);
NodeAttributes attributes_of(const PostOp& op);
/// "add", "gelu_erf", ...; of a sum "sum".
std::string_view function_name(const PostOp& op);

/// The type of what a node itself computes, which its post-ops go on with.
DType computed_type(const Graph& graph, const Node& node);

/// Refuses post-ops that read what there is not, that have a wrong number of sources, or whose operands do not fit
/// `computed`, which is what the node itself computes: other types, dims that are neither 1 nor those.
void check_post_ops(const Graph& graph, const Node& node, const OperandSpec& computed);

}  // namespace relayout::graph
