// Threads: a range of independent tasks, split over a pool.
#pragma once

#include <cstdint>

#include "relayout/cxx20.h"

namespace relayout::cpu {

/// A pool of threads that is not oneTBB's, but belongs to the runtime that the caller's other work uses. Two pools
/// should not share the cores, because threads of each wait for work by spinning on cores that the other pool needs.
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  /// Calls body(state, thread, count) once for each thread in [0, count), side by side, and returns after all of them;
  /// count is 1 to `threads`, as many as there are. `body` does not throw.
  virtual void run(int threads, void (*body)(void* state, int thread, int count), void* state) const noexcept = 0;
};

struct RunOptions {
  /// The most threads to use. 0 or less stands for all that oneTBB has, which is also the limit where `pool` is null.
  /// Small work uses fewer.
  int threads = 0;
  /// The pool whose threads are used; null for oneTBB's. It must live until the call returns.
  const ThreadPool* pool = nullptr;
  /// The least bytes of source and destination together that a reorder gives to a thread; four times as many where it
  /// has several boxes or padding to fill. To move 256 KiB in the caches takes some ten microseconds, and to wake a
  /// thread a few. At least 1, which tests give so that small tensors are split too.
  int64_t grain_bytes = 256 << 10;
};

/// Calls body(state, begin, end) for disjoint ranges that cover [0, tasks), from up to options.threads threads. Each
/// task is done exactly once: if the pool fails, for example for lack of memory, the calling thread does the rest.
/// Ranges have at least `grain` tasks. Runs serially for one thread, for up to `grain` tasks, and where there is
/// neither oneTBB nor another pool. `body` must not throw.
void parallel_for(const RunOptions& options, int64_t tasks, int64_t grain,
                  void (*body)(void* state, int64_t begin, int64_t end), void* state) noexcept;

/// Threads that `threads = 0` gives; 1 in a build without oneTBB.
int default_threads();
bool has_threads();

}  // namespace relayout::cpu
