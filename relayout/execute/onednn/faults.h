// Faults: what the library offers and must not be used (internal to execute/onednn).
#pragma once

#include "relayout/execute/own/own.h"

namespace relayout::execute {

/// Whether the implementation of that name is one for completeness: "ref:any", "ref_int8:any".
bool is_reference(std::string_view name);

/// Whether the implementation of that name is known to give wrong results or to write outside of its tensors in these
/// layouts. Seen in version 2.6.3 by the tests of every kind; left out of every version, as there are others.
bool is_faulty(const graph::Graph& graph, const graph::Node& node, std::string_view name, const Layouts& layouts);

}  // namespace relayout::execute
