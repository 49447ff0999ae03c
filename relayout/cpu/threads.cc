// Threads by oneTBB, where the build has it.
#include "relayout/cpu/threads.h"

#include <algorithm>

#include "relayout/cpu/reorder.h"

#if RELAYOUT_HAVE_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace relayout::cpu {

#if RELAYOUT_HAVE_TBB

bool has_threads() { return true; }
int default_threads() { return tbb::this_task_arena::max_concurrency(); }

void parallel_for(int threads, int64_t tasks, int64_t grain, void (*body)(void*, int64_t, int64_t), void* state) {
  const int available = default_threads();
  if (threads <= 0 || threads > available) threads = available;
  if (threads == 1 || tasks <= grain) return body(state, 0, tasks);
  const auto split = [&] {
    tbb::parallel_for(tbb::blocked_range<int64_t>(0, tasks, std::max<int64_t>(grain, 1)),
                      [&](const tbb::blocked_range<int64_t>& range) { body(state, range.begin(), range.end()); });
  };
  if (threads == available) return split();
  tbb::task_arena arena(threads);
  arena.execute(split);
}

#else

bool has_threads() { return false; }
int default_threads() { return 1; }

void parallel_for(int, int64_t tasks, int64_t, void (*body)(void*, int64_t, int64_t), void* state) { body(state, 0, tasks); }

#endif

}  // namespace relayout::cpu
