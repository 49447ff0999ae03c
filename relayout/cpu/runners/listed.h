// Runs the blocks of a box one after the other, each with lists of where its rows and columns start (internal to cpu).
#pragma once

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// Runs blocks [begin, end) of a box of any method that makes blocks.
void run_listed(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

}  // namespace relayout::cpu
