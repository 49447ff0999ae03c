// Threads by oneTBB, where the build has it, or by a pool that the caller brings.
#include "relayout/cpu/threads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <optional>

#if RELAYOUT_HAVE_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

namespace relayout::cpu {
namespace {

/// The work in ranges, and which ranges are done. It lives on the stack, so that nothing here can fail. It orders
/// memory between threads by atomics of its own, so that race checkers that cannot look into oneTBB see the order.
class WorkRanges {
 public:
  static constexpr int64_t kMost = 1024;

  WorkRanges(int64_t tasks, int64_t grain, int64_t most, void (*body)(void*, int64_t, int64_t), void* state) noexcept
      : tasks_(tasks),
        count_(std::clamp<int64_t>(tasks / grain, 1, std::min(most, kMost))),
        body_(body),
        state_(state) {
    ready_.store(true, std::memory_order_release);
  }

  int64_t count() const noexcept { return count_; }

  void run(int64_t range) noexcept {
    (void)ready_.load(std::memory_order_acquire);
    body_(state_, first_task(range), first_task(range + 1));
    done_[static_cast<std::size_t>(range)].store(true, std::memory_order_release);
  }

  /// Does the ranges that are not done. To be called only while no other thread runs ranges.
  void finish() noexcept {
    for (int64_t range = 0; range < count_; ++range) {
      if (!done_[static_cast<std::size_t>(range)].load(std::memory_order_acquire)) run(range);
    }
  }

 private:
  int64_t first_task(int64_t range) const noexcept {
    return tasks_ / count_ * range + std::min(range, tasks_ % count_);
  }

  int64_t tasks_, count_;
  void (*body_)(void*, int64_t, int64_t);
  void* state_;
  std::array<std::atomic<bool>, static_cast<std::size_t>(kMost)> done_{};
  std::atomic<bool> ready_{false};
};

/// Work of up to kFewRanges ranges of the least size for each thread counts as little.
constexpr int64_t kFewRanges = 16;

void run_on(const ThreadPool& pool, int threads, WorkRanges& ranges) {
  pool.run(
      threads,
      [](void* state, int thread, int count) {
        auto& all = *static_cast<WorkRanges*>(state);
        for (int64_t range = thread; range < all.count(); range += count) all.run(range);
      },
      &ranges);
}

#if RELAYOUT_HAVE_TBB

void run_on_tbb(WorkRanges& ranges, int threads, bool fixed) {
  const int available = default_threads();
  const auto run = [&](const tbb::blocked_range<int64_t>& some) {
    for (int64_t range = some.begin(); range < some.end(); ++range) ranges.run(range);
  };
  const auto split = [&] {
    // Isolated, so that cancelling a group around the caller does not leave out work.
    tbb::task_group_context context(tbb::task_group_context::isolated);
    const tbb::blocked_range<int64_t> all(0, ranges.count());
    if (fixed)
      tbb::parallel_for(all, run, tbb::static_partitioner(), context);
    else
      tbb::parallel_for(all, run, context);
  };
  if (threads <= 0 || threads >= available) return split();
  // The arena is kept from call to call, so that the same cores do the same ranges and find these in their caches. A
  // call that is made within the work of another call gets an arena of its own.
  thread_local struct {
    int threads = 0;
    bool busy = false;
    std::optional<tbb::task_arena> arena;
  } kept;
  if (kept.busy) return tbb::task_arena(threads).execute(split);
  if (kept.threads != threads) kept.arena.emplace(kept.threads = threads);
  kept.busy = true;
  try {
    kept.arena->execute(split);
  } catch (...) {
    kept.busy = false;
    throw;
  }
  kept.busy = false;
}

#else

void run_on_tbb(WorkRanges&, int, bool) {}

#endif

}  // namespace

#if RELAYOUT_HAVE_TBB
bool has_threads() { return true; }
int default_threads() { return tbb::this_task_arena::max_concurrency(); }
#else
bool has_threads() { return false; }
int default_threads() { return 1; }
#endif

void parallel_for(const RunOptions& options, int64_t tasks, int64_t grain, void (*body)(void*, int64_t, int64_t),
                  void* state) noexcept {
  grain = std::max<int64_t>(grain, 1);
  if (options.threads == 1 || tasks <= grain || !(options.pool || has_threads())) return body(state, 0, tasks);
  const bool all = options.threads <= 0 || (!options.pool && options.threads > default_threads());
  const int threads = all ? default_threads() : options.threads;
  // Little work is split into one range for each thread. Much work is split into more ranges, so that the other threads
  // take over from a slow one.
  const bool fixed = options.pool || tasks / grain <= kFewRanges * threads;
  WorkRanges ranges(tasks, grain, fixed ? threads : WorkRanges::kMost, body, state);
  try {
    if (options.pool)
      run_on(*options.pool, threads, ranges);
    else
      run_on_tbb(ranges, threads, fixed);
  } catch (...) {
    // The pool ran out of memory or threads. Before it throws, it waits for the tasks that it started; finish() does
    // the rest.
  }
  ranges.finish();
}

}  // namespace relayout::cpu
