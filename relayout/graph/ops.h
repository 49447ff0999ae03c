// Ops: what each kind of primitive accepts and gives, apart from any backend.
//
// One source file a family (ops_*.cc) has the shapes and checks of its kinds; layout rules that follow from the
// specification alone are here too, and the planner joins them with what a backend offers (backend.h).
#pragma once

#include "relayout/graph/graph.h"

namespace relayout::graph {

/// Dims and type of one operand.
struct OperandSpec {
  Dims dims;
  DType dtype = DType::f32;
};

/// The destinations of a node whose sources are set: as many as `dsts` (see graph.h for their order). Checks every
/// operand. Errors: invalid_argument names the node, the operand and what was expected; overflow.
std::vector<OperandSpec> infer(const Graph& graph, const Node& node, int dsts);

/// How the specification treats an operand's layout (oneAPI, "Memory formats", propagation).
enum class OperandRule : uint8_t {
  any,      // the primitive chooses
  actual,   // taken in the layout it has
  follows,  // the layout of the first source (of diff_dst backward)
  plain,    // row-major: one-dim operands, and kinds without layouts
};
/// Of sources, then destinations; absent operands count as plain.
std::vector<OperandRule> operand_rules(const Graph& graph, const Node& node);

/// Whether f(0) = 0, so that an elementwise operation keeps padding zero.
bool keeps_zero(const EltwiseAttributes& attributes);

/// The view of `src` that a reshape, transpose, slice or broadcast is. Error{needs_copy} where none exists, as in
/// core/view.h.
Layout view_of(const Graph& graph, const Node& node, const Layout& src);

/// Attributes with their defaults filled in: strides, dilations and pads of every spatial dim, a global kernel.
ConvolutionAttributes filled(const ConvolutionAttributes& attributes, int spatial_dims);
PoolingAttributes filled(const PoolingAttributes& attributes, const Dims& src_dims);

}  // namespace relayout::graph
