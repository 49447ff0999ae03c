// Long gathers a part of their table at a time, so that the lists of a plan stay in the cache and no list of all
// entries is made. For calls that make a plan and run it once; a plan that is kept is made of the whole table.
#pragma once

#include <functional>

#include "relayout/reorder/plan.h"

namespace relayout::cpu {

/// Whether a gather is done in parts: it has one index table, of the source and of very many entries, moves bits, and
/// its destination can be cut between any two indices of the table's dim.
bool gathers_in_parts(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes);

/// Calls run(plan) for each part, where gathers_in_parts(). The plans take the same memory as one of the whole would.
/// Errors are those of make_plan() of the whole, before anything runs.
void gather_in_parts(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                     const std::function<void(const Plan&)>& run);

}  // namespace relayout::cpu
