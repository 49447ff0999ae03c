// Threads: how many oneDNN uses, for as long as a scope lasts (internal to execute/onednn).
//
// Its OpenMP builds take the calling thread's OpenMP setting, both where a primitive is made and where it runs. The
// runtime is found at run time, as it is the one that the library brought: GNU's or LLVM's. Builds of another kind
// (sequential, oneTBB) have no such setting, and nothing is done.
#pragma once

#include <dlfcn.h>

namespace relayout::execute {

class ThreadScope {
 public:
  explicit ThreadScope(int threads) {
    if (!set() || !get()) return;
    before_ = get()();
    if (threads != before_) {
      set()(threads);
      changed_ = true;
    }
  }
  ~ThreadScope() {
    if (changed_) set()(before_);
  }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  using Set = void (*)(int);
  using Get = int (*)();
  static Set set() {
    static const Set kSet = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    return kSet;
  }
  static Get get() {
    static const Get kGet = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    return kGet;
  }

  int before_ = 0;
  bool changed_ = false;
};

}  // namespace relayout::execute
