// Decisions: one number over the plans of all pairs of a list of layouts, to see whether a change of the code changes
// what is planned.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/tag_walk.h"

namespace relayout::bench {

/// A hash over every pair's plan, for these caches: the numbers in its explanation (boxes, blocks, steps, bytes) in
/// their order, and what it is predicted to take, bit by bit. Words are left out, so that they may be reworded.
uint64_t decisions_of(const std::vector<NamedLayout>& layouts, DType src, DType dst, const Machine& machine);

}  // namespace relayout::bench
