// Executable: one oneDNN primitive ready to run (internal to execute/onednn).
#pragma once

#include "relayout/execute/onednn/operands.h"

namespace relayout::execute {

/// Makes a primitive with its memory objects and workspace; its scratchpad is what it shares (Executable::lend).
/// `layouts` has the layout of each operand as the graph sees it. A backward primitive reads the workspace of
/// `forward`, which must outlive it. `whole` says that the primitive computes over the padding, too, so that zeros are
/// written there afterwards. Errors: unsupported (`forward` has no workspace that fits), internal (the library fails).
std::unique_ptr<graph::Executable> make_executable(const dnnl::engine& engine, const graph::Graph& graph,
                                                   const graph::Node& node, const dnnl::primitive_desc& desc,
                                                   const Layouts& layouts, graph::Executable* forward, int threads,
                                                   bool whole = false);

}  // namespace relayout::execute
