// One primitive from the command line: its kind, the dims of its operands and its attributes as texts, made into a
// graph of one node, or of that node and its backward nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relayout/graph/ir/graph.h"
#include "tools/command/common.h"

namespace relayout::tools {

struct PrimitiveFlags {
  std::string kind;
  /// Dims, as 1,3,224,224; concat, sum and binary have several sources.
  std::vector<std::string> src;
  std::optional<std::string> weights, dst;
  /// The layouts that the first source has, and that the destination must have.
  std::optional<std::string> src_layout, dst_layout;
  /// The type of the sources, and of the other operands unless these have their own.
  std::string dtype = "f32";
  std::optional<std::string> weights_dtype, dst_dtype;
  /// KEY=VALUE each.
  std::vector<std::string> attributes;
  bool bias = false, training = false;
  /// The weights are constants, whose values are all zero.
  bool constant_weights = false;
  /// Channels of an lstm's projection; 0 where it has none.
  int64_t projection = 0;
};
void add_primitive_flags(Command& command, PrimitiveFlags& flags);
/// "convolution, deconvolution, ...": the kinds.
std::string kind_names();

/// The graph: node 0 is the primitive; with `training` its backward nodes follow, and what else they need. Errors:
/// usage (an unknown kind or key, a value that is none, dims that do not fit), and unsupported (a kind without
/// gradients).
graph::Graph primitive_graph(const PrimitiveFlags& flags);

}  // namespace relayout::tools
