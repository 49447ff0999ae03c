// Post-ops of a node as the library's (internal to execute/onednn).
#pragma once

#include "relayout/execute/onednn/operands.h"

namespace relayout::execute {

/// The library's post-ops, and which argument of execution reads which source of the node. Behind a product of bytes a
/// scale and an offset that come first are no post-ops: the library's kernels multiply (sum + bias) by output scales
/// faster. The bias is then offset / scale.
struct LibraryPostOps {
  dnnl::post_ops ops;
  std::vector<std::pair<int, std::size_t>> operands;
  /// One, or one for each channel; empty where there is none. `mask` says which dim of the destination they are along.
  std::vector<float> scales{};
  int mask = 0;
  /// One for each channel; empty where there is none.
  std::vector<float> bias{};
  dnnl::memory::desc bias_desc{};

  /// Gives a primitive's attributes what they hold of it: all but the bias.
  void set(dnnl::primitive_attr& attributes) const;
};
/// Nothing if the library has none of this kind: functions that forget NaN, or that read another result than that of
/// the function before; other types than f32; a source whose dims repeat in an unusual way, or whose layout is not that
/// of a destination of equal dims. `layouts` are those of the node's operands.
std::optional<LibraryPostOps> library_post_ops(const graph::Graph& graph, const graph::Node& node,
                                               const Layouts& layouts);

/// The library's name of an implementation, with "+post_ops" behind if it computes the node's.
std::string name_with_post_ops(const graph::Node& node, std::string_view name);

}  // namespace relayout::execute
