// Faults: implementations that the library offers and that must not be used (internal to execute/onednn).
#pragma once

#include "relayout/execute/own/own.h"

namespace relayout::execute {

/// Whether the name is that of a slow reference implementation: "ref:any", "ref_int8:any".
bool is_reference(std::string_view name);

/// Whether the library divides by 0 while it looks for an implementation: of products of empty matrices.
bool divides_by_zero(const graph::Graph& graph, const graph::Node& node);

/// Whether the library's generated code for a function gives something else for NaN or infinity than its formula.
bool forgets_nan(const graph::EltwiseAttributes& attributes);
/// The same of the implementation of that name, forward: elementwise functions, comparisons, and the largest or
/// smallest element of a reduction. This project has kernels of its own for these. As the hint of a backward pass the
/// implementation may be used.
bool forgets_nan(const graph::Graph& graph, const graph::Node& node, std::string_view name);

/// Whether the implementation of that name is known to give wrong results, or to write outside of its tensors, in these
/// layouts. The faults were found in version 2.6.3 by the tests of every kind. They are left out in every version,
/// because other implementations exist.
bool is_faulty(const graph::Graph& graph, const graph::Node& node, std::string_view name, const Layouts& layouts);

}  // namespace relayout::execute
