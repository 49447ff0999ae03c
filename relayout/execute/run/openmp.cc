// Finds OpenMP's entry points by name in this process.
#include "relayout/execute/run/openmp.h"

#include <dlfcn.h>

#include <atomic>

namespace relayout::execute {
namespace {

/// The functions that are called: OpenMP 5's API, and GOMP_parallel of GNU's "libgomp" manual ("Implementing PARALLEL
/// construct").
struct OpenMp {
  void (*set_num_threads)(int) = nullptr;
  int (*get_max_threads)() = nullptr;
  int (*get_thread_num)() = nullptr;
  int (*get_num_threads)() = nullptr;
  void (*parallel)(void (*body)(void*), void* data, unsigned threads, unsigned flags) = nullptr;

  OpenMp() {
    find(set_num_threads, "omp_set_num_threads");
    find(get_max_threads, "omp_get_max_threads");
    find(get_thread_num, "omp_get_thread_num");
    find(get_num_threads, "omp_get_num_threads");
    find(parallel, "GOMP_parallel");
  }
  bool counts() const { return set_num_threads && get_max_threads; }
  bool runs() const { return get_thread_num && get_num_threads && parallel; }

 private:
  template <typename F>
  static void find(F*& entry, const char* name) {
    entry = reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  }
};

const OpenMp& openmp() {
  static const OpenMp kOpenMp;
  return kOpenMp;
}

class OpenMpPool : public cpu::ThreadPool {
 public:
  void run(int threads, void (*body)(void*, int, int), void* state) const noexcept override {
    struct Call {
      void (*body)(void*, int, int);
      void* state;
      // The thread sanitizer cannot look into OpenMP's runtime. This flag tells it that `call` was written before it is
      // read.
      std::atomic<bool> ready = false;
    } call{body, state};
    call.ready.store(true, std::memory_order_release);
    openmp().parallel(
        [](void* data) {
          const auto& of = *static_cast<const Call*>(data);
          (void)of.ready.load(std::memory_order_acquire);
          of.body(of.state, openmp().get_thread_num(), openmp().get_num_threads());
        },
        &call, static_cast<unsigned>(threads), 0);
  }
};

}  // namespace

cpu::RunOptions run_options(int threads) {
  static const OpenMpPool kPool;
  return {.threads = threads, .pool = openmp().runs() ? &kPool : nullptr};
}

ThreadScope::ThreadScope(int threads) {
  if (!openmp().counts()) return;
  before_ = openmp().get_max_threads();
  if (threads != before_) openmp().set_num_threads(threads);
}

ThreadScope::~ThreadScope() {
  if (before_ > 0 && openmp().get_max_threads() != before_) openmp().set_num_threads(before_);
}

}  // namespace relayout::execute
