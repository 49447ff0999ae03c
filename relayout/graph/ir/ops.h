// Ops: what each kind of primitive accepts and gives, apart from any backend.
//
// One source file for each family of kinds (ops_*.cc) has their shapes and checks. Start with signature.cc: everything
// else follows from the operands' names. operand_rules.cc has the layout rules that follow from the specification
// alone; the planner joins them with what a backend offers (backend.h).
#pragma once

#include <cmath>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// Dims and type of one operand.
struct OperandSpec {
  Dims dims;
  DType dtype = DType::f32;
};

/// The names of a kind's operands in graph.h's table, one word each: "src weights [bias]". Brackets mark optional
/// operands, and "src..." is any number of sources from one on. Both texts are empty if the kind has no such pass. In a
/// backward pass "diff_x" is the gradient of the forward node's x, and every other name is the forward node's operand
/// itself.
struct Signature {
  std::string_view src, dst;
};
Signature signature(Kind kind, Pass pass);

/// Whether a type is s8 or u8, of which products are exact.
inline bool is_byte(DType dtype) { return dtype == DType::s8 || dtype == DType::u8; }
/// Whether a value may stand for zero among elements of a type: a value of s8 or u8, or 0.
inline bool is_zero_point(DType dtype, double value) {
  if (value == 0) return true;
  const bool is_unsigned = dtype == DType::u8;
  return is_byte(dtype) && value == std::trunc(value) && value >= (is_unsigned ? 0 : -128) &&
         value <= (is_unsigned ? 255 : 127);
}
/// What stands for zero in the source of a node (ConvolutionAttributes); 0 for kinds that have none.
int64_t src_zero_point(const Node& node);

/// The destinations of a node whose sources are set, in the order of graph.h: `dsts` of them or, if that is 0, those
/// that every node of the kind and pass has. An entry is nothing if the node cannot have that destination (the gradient
/// of an absent source). Checks every operand. Errors: invalid_argument names the node, the operand and what was
/// expected; overflow.
///
/// Types: a destination has the type of the first source. Convolution, deconvolution, matmul and inner product take
/// weights of the source's floating type. If their sources are 8-bit integers, they give f32, which holds the sums
/// exactly to 2^24; to get another type, set the destination's dtype. Means and variances are f32. Comparisons give 0
/// or 1 in the type of their first source. In a backward pass, every operand has the dims and the type of its forward
/// counterpart in `hint`.
std::vector<std::optional<OperandSpec>> infer(const Graph& graph, const Node& node, int dsts);

/// How the specification treats an operand's layout (oneAPI, "Memory formats", propagation).
enum class OperandRule : uint8_t {
  any,      // the primitive chooses
  actual,   // taken in the layout that it has
  follows,  // the layout of the first source (in a backward pass, of diff_dst)
  plain,    // row-major: operands of one dim, and kinds without layouts
};
/// The rules of a node's sources, then of its destinations. Absent operands count as plain.
std::vector<OperandRule> operand_rules(const Graph& graph, const Node& node);

/// Whether the operation gives 0 for 0, so that zeros in the padding stay zeros.
bool keeps_zero(const EltwiseAttributes& attributes);

/// The layout in which a reshape, transpose, slice or broadcast sees its source's memory: each index of the destination
/// has the offset of the source element that it takes. Error{needs_copy} if there is no such layout, as in core/view.h.
Layout view_of(const Graph& graph, const Node& node, const Layout& src);

/// Where source `i` of a concat lies in the memory of its destination, whose layout is `dst`. Padding behind the last
/// part belongs to the last part. Nothing if no layout describes the part, because it begins or ends inside a block.
std::optional<Layout> concat_part(const Graph& graph, const Node& node, std::size_t i, const Layout& dst);

/// Attributes with their defaults filled in: strides, dilations and pads of every spatial dim, a global kernel.
/// Error{invalid_argument} if a list has a wrong length.
ConvolutionAttributes filled(const ConvolutionAttributes& attributes, int spatial_dims);
PoolingAttributes filled(const PoolingAttributes& attributes, const Dims& src_dims);

}  // namespace relayout::graph
