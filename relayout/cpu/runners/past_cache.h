// Blocks whose destination is written past the cache, by way of images where a method has no kernel for it (internal to
// cpu).
#pragma once

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// Runs one block of a box that is written past the cache (Loops::past_cache).
void stream_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& rows,
                  const IndexRange& cols);

}  // namespace relayout::cpu
