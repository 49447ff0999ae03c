// Long work that Ctrl-C ends, and that a function of the caller may watch.
//
// Python handles a signal when its interpreter runs next, which is after a call of C++. So work of many bytes goes in
// parts, between which Python is asked whether a signal's handler raised something, such as KeyboardInterrupt.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

#include "relayout/reorder/plan.h"

namespace relayout::python {

/// The GIL given to other threads for long work, but for short looks at signals and calls of progress(done, total).
///
///     Watched work(progress);
///     for (...) if (!work.go_on(done, total)) break;
///     work.finish();                                  // throws what ended the work
class Watched {
 public:
  /// `progress` is None, or a function of two integers. To be made by a thread that has the GIL, and used by it alone.
  explicit Watched(nanobind::handle progress) : progress_(progress), state_(PyEval_SaveThread()) {}
  ~Watched() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// False where a handler or progress() raised an exception, which finish() throws. Signals are looked at ten times a
  /// second, as the GIL may have to be waited for; progress() is called each time.
  bool go_on(int64_t done, int64_t total);
  /// Takes the GIL back. Throws nanobind::python_error where go_on() answered false.
  void finish();

 private:
  nanobind::handle progress_;
  PyThreadState* state_;
  bool failed_ = false;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

/// Runs a plan. Work of few bytes keeps the GIL, which takes less time than giving it away; work of more than a part
/// (cpu/parts.h) can be ended between its parts. The destination then holds new elements in some places alone.
/// `bytes` are those of the destination.
void run_plan(const Plan& plan, const void* src, void* dst, int threads, int64_t bytes,
              nanobind::handle progress = nanobind::handle());

/// memcpy that can be ended; false where it was.
bool copy_bytes(void* dst, const void* src, int64_t bytes, Watched& work);

}  // namespace relayout::python
