// OpenMP, where what this process is linked with has brought it (internal to execute).
//
// oneDNN's usual builds run on OpenMP. Its threads spin for a while after each primitive, so a reorder on a pool of its
// own would share their cores with them: it runs on the same threads instead. The runtime is found at run time, as it
// is the one that the library brought: GNU's, or LLVM's, which has GNU's entry points too. Where there is none (oneDNN
// sequential, or on oneTBB), nothing is set, and reorders run on oneTBB. OpenMP is also used where something else than
// oneDNN has brought it into the process.
#pragma once

#include "relayout/cpu/threads.h"

namespace relayout::execute {

/// Options to run reorders with: up to so many threads, which are OpenMP's where it is there.
cpu::RunOptions run_options(int threads);

/// Sets how many threads OpenMP uses until the end of the scope. oneDNN takes the calling thread's setting, both when a
/// primitive is made and when it runs.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_ = 0;
};

}  // namespace relayout::execute
