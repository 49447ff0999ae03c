// OpenMP's threads, if something in this process has brought OpenMP (internal to execute).
//
// oneDNN's usual builds run on OpenMP. Its threads spin for a while after each primitive. A reorder on a pool of its
// own would share their cores with them, so it runs on the same threads instead. The runtime is found when the program
// runs, because it must be the one that oneDNN brought: GNU's, or LLVM's, which has GNU's entry points too. If there is
// none (oneDNN sequential, or on oneTBB), nothing is set, and reorders run on oneTBB. OpenMP is also used if something
// else than oneDNN has brought it into the process.
#pragma once

#include "relayout/cpu/threads.h"

namespace relayout::execute {

/// Options to run reorders with: up to `threads` threads, which are OpenMP's if the process has it.
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
