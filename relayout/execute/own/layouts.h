// Layouts of a node's operands, as own kernels and backends ask for them (internal to execute).
//
//     Layout dst = following(graph.tensor(node.dst[0]).dims, *layouts[0]);     // channels last if the source is
#pragma once

#include <optional>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::execute {

/// A layout for each operand, sources then destinations; nothing for `any` layout or an absent operand.
using Layouts = std::vector<std::optional<Layout>>;

/// A layout for other dims that follows `lead`: row-major, channels last or blocked if that is, else row-major.
Layout following(const Dims& dims, const Layout& lead);

}  // namespace relayout::execute
