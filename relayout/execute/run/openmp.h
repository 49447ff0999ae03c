// OpenMP, where what this process is linked with has brought it (internal to execute).
//
// oneDNN's usual builds run on OpenMP. Its threads spin for a while after each primitive, so a reorder on a pool of its
// own would share their cores with them: it runs on the same threads instead. The runtime is found at run time, as it
// is the one that the library brought: GNU's, or LLVM's, which has GNU's entry points too. Where there is none (oneDNN
// sequential, or on oneTBB), nothing is set, and reorders run on oneTBB. What else in the process brings OpenMP is not
// told apart.
#pragma once

#include "relayout/cpu/threads.h"

namespace relayout::execute {

/// What steps run with: up to so many threads, of OpenMP where it is there.
cpu::RunOptions run_options(int threads);

/// How many threads OpenMP uses, for as long as a scope lasts: oneDNN takes the calling thread's setting, both where a
/// primitive is made and where it runs.
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
