// Ops: what each kind of primitive accepts and gives, apart from any backend.
//
// One source file a family (ops_*.cc) has the shapes and checks of its kinds. Start with signature.cc: everything else
// follows from the operands' names. Layout rules that follow from the specification alone are here too
// (operand_rules.cc), and the planner joins them with what a backend offers (backend.h).
#pragma once

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Dims and type of one operand.
struct OperandSpec {
  Dims dims;
  DType dtype = DType::f32;
};

/// The names of a kind's operands in graph.h's table, one word each: "src weights [bias]". Brackets are optional ones,
/// "src..." is any number from one on. Empty where a kind has no such pass. In a backward pass "diff_x" is the gradient
/// of the forward's x, and every other name is the forward's operand itself.
struct Signature {
  std::string_view src, dst;
};
Signature signature(Kind kind, Pass pass);

/// The destinations of a node whose sources are set: as many as `dsts` (see graph.h for their order), or those that
/// every node of the kind and pass has where it is 0. Nothing for one that the node cannot have (the gradient of an
/// absent source). Checks every operand. Errors: invalid_argument names the node, the operand and what was expected;
/// overflow.
///
/// Types: a destination has the type of the first source. Convolution, deconvolution, matmul and inner product take
/// weights of their source's floating type; of 8-bit integers they give f32 (which holds the sums exactly to 2^24;
/// set the destination's dtype for another). Means and variances are f32. Comparisons give the type of their first
/// source, 0 or 1. Backward, everything has the dims and the type of its forward counterpart, which is found by `hint`.
std::vector<std::optional<OperandSpec>> infer(const Graph& graph, const Node& node, int dsts);

/// How the specification treats an operand's layout (oneAPI, "Memory formats", propagation).
enum class OperandRule : uint8_t {
  any,      // the primitive chooses
  actual,   // taken in the layout it has
  follows,  // the layout of the first source (of diff_dst backward)
  plain,    // row-major: one-dim operands, and kinds without layouts
};
/// The rules of a node's sources, then of its destinations. Absent operands count as plain.
std::vector<OperandRule> operand_rules(const Graph& graph, const Node& node);

/// Whether the operation gives 0 for 0, so that padding that holds zeros still does after it.
bool keeps_zero(const EltwiseAttributes& attributes);

/// The view of `src` that a reshape, transpose, slice or broadcast is: for every index i of the destination, its offset
/// is that of the element of `src` that it takes. Error{needs_copy} where none exists, as in core/view.h.
Layout view_of(const Graph& graph, const Node& node, const Layout& src);

/// Where source `i` of a concat lies in its destination's memory, which has layout `dst`; padding behind the last part
/// is the last part's. Nothing where it is no layout, as it ends inside a block.
std::optional<Layout> concat_part(const Graph& graph, const Node& node, std::size_t i, const Layout& dst);

/// Attributes with their defaults filled in: strides, dilations and pads of every spatial dim, a global kernel.
/// Error{invalid_argument} where a list has another length.
ConvolutionAttributes filled(const ConvolutionAttributes& attributes, int spatial_dims);
PoolingAttributes filled(const PoolingAttributes& attributes, const Dims& src_dims);

}  // namespace relayout::graph
