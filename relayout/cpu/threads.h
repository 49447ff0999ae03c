// Threads: a range of independent tasks, split over the pool (internal to cpu).
#pragma once

#include <cstdint>

namespace relayout::cpu {

/// Calls body(state, begin, end) for disjoint ranges that cover [0, tasks), from up to `threads` threads (0: all).
/// Ranges are `grain` tasks or more. Serial without oneTBB, for one thread, and for up to `grain` tasks.
void parallel_for(int threads, int64_t tasks, int64_t grain, void (*body)(void* state, int64_t begin, int64_t end),
                  void* state);

}  // namespace relayout::cpu
