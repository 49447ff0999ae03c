// Operands: those of a node by name, and what the specification has a program ask for each of them.
//
// The table is that of the oneAPI specification, "Memory formats", propagation:
//
//     kind                                                  forward                          backward
//     compute-bound: convolution, deconvolution,            `any` for every operand          `any` for every operand
//       inner product, matmul, recurrent layers
//     memory-bound: pooling, normalizations, LRN,           source: the layout that it has;  gradients `any`, data
//       elementwise, shuffle, softmax                       destination: `any`               tensors as they are
//     reorder, concat, sum, binary                          sources as they are;             none
//                                                           destination `any`, of a
//                                                           reorder the one that is given
//
// Kinds that the table does not name (prelu, resampling, reduction) are treated as memory-bound ones; views, pads,
// gathers and barriers as reorders.
//
//     for (const Operand& operand : operands(node)) std::cout << operand.name << name(operand.asked);
#pragma once

#include <string_view>
#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

enum class Asked : uint8_t {
  any,     // the primitive chooses the layout
  actual,  // the layout that the tensor has already
  given,   // the layout that the caller wants
};
/// "any", "actual", "given".
std::string_view name(Asked asked);

struct Operand {
  /// As in the table of graph.h: "src", "weights", "diff_dst"; operands of a list are all called "src", and those that
  /// post-ops alone read "other".
  std::string_view name;
  TensorId tensor = kNone;
  bool is_src = true;
  /// Its number among the node's sources, or among its destinations.
  int index = 0;
  Asked asked = Asked::any;
};
/// The operands that the node has, sources first. Those that are absent are left out.
std::vector<Operand> operands(const Node& node);

}  // namespace relayout::graph
