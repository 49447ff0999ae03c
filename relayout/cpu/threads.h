// Threads: a range of independent tasks, split over a pool.
#pragma once

#include <cstdint>

namespace relayout::cpu {

/// Threads that are not oneTBB's: those of the runtime that the caller's other work uses, so that two pools need not
/// share the cores (each one's threads wait for work by spinning, on cores that the other's need).
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  /// Calls body(state, thread, count) once for each thread in [0, count), side by side, and returns after all of them;
  /// count is 1 to `threads`, as many as there are. `body` does not throw.
  virtual void run(int threads, void (*body)(void* state, int thread, int count), void* state) const noexcept = 0;
};

struct RunOptions {
  /// Threads to use at most; 0 or less is all that oneTBB has, and so is more than that where there is no pool. Small
  /// work uses fewer.
  int threads = 0;
  /// Whose threads; null: oneTBB's. Must stay while it runs.
  const ThreadPool* pool = nullptr;
};

/// Calls body(state, begin, end) for disjoint ranges that cover [0, tasks), from up to options.threads threads. Each
/// task is done exactly once, whatever becomes of the pool: what it leaves undone, for want of memory say, is done by
/// the caller. Ranges are `grain` tasks or more. Serial for one thread, for up to `grain` tasks, and without oneTBB
/// where there is no other pool. `body` must not throw.
void parallel_for(const RunOptions& options, int64_t tasks, int64_t grain,
                  void (*body)(void* state, int64_t begin, int64_t end), void* state) noexcept;

}  // namespace relayout::cpu
