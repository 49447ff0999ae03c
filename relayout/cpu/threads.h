// Threads: a range of independent tasks, split over the pool.
#pragma once

#include <cstdint>

namespace relayout::cpu {

/// Calls body(state, begin, end) for disjoint ranges that cover [0, tasks), from up to `threads` threads (0 or less:
/// all). Each task is done exactly once, whatever becomes of the pool: what it could not start, for want of memory say,
/// is done by the caller. Ranges are `grain` tasks or more. Serial without oneTBB, for one thread, and for up to
/// `grain` tasks. `body` must not throw.
void parallel_for(int threads, int64_t tasks, int64_t grain, void (*body)(void* state, int64_t begin, int64_t end),
                  void* state) noexcept;

}  // namespace relayout::cpu
