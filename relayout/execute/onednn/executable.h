// Executable: one oneDNN primitive ready to run (internal to execute/onednn).
#pragma once

#include "relayout/execute/onednn/operands.h"

namespace relayout::execute {

/// A primitive with its memory objects, scratchpad and workspace. `layouts` has the layout of each operand as the graph
/// sees it. A backward primitive reads the workspace of `forward`, which must live as long.
/// `whole`: the primitive computes padding too, which is written zero afterwards.
/// Error{unsupported} where that one has none, Error{internal} where the library fails.
std::unique_ptr<graph::Executable> make_executable(const dnnl::engine& engine, const graph::Graph& graph,
                                                   const graph::Node& node, const dnnl::primitive_desc& desc,
                                                   const Layouts& layouts, graph::Executable* forward, int threads,
                                                   bool whole = false);

}  // namespace relayout::execute
