// Long work that Ctrl-C ends, and that a function of the caller may watch.
//
// Python handles a signal when its interpreter runs next, which is after a call of C++. So work of many bytes goes in
// parts, between which Python is asked whether a signal's handler raised something, such as KeyboardInterrupt.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <concepts>

#include "relayout/core/error.h"
#include "relayout/interop/files/tensor_file.h"
#include "relayout/reorder/plan.h"

namespace relayout::python {

/// Whom to tell what is done: None, or a function of two integers. Where the work is one of several equal parts, that
/// function hears of all parts together.
struct Progress {
  Progress(nanobind::handle told, int part_number = 0, int part_count = 1)  // NOLINT: a handle becomes one by itself
      : function(told), part(part_number), parts(part_count) {}
  bool watched() const { return function.is_valid() && !function.is_none(); }

  nanobind::handle function;
  int part, parts;
};

/// The GIL given to other threads for long work, but for short looks at signals and calls of progress(done, total).
///
///     Watched work(progress);
///     for (...) if (!work.go_on(done, total)) break;
///     work.finish();                                  // throws what ended the work
class Watched {
 public:
  /// To be made by a thread that has the GIL, and used by it alone.
  explicit Watched(const Progress& progress) : progress_(progress), state_(PyEval_SaveThread()) {}
  ~Watched() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// False where a handler or progress() raised an exception, which finish() throws. Signals are looked at ten times a
  /// second, as the GIL may have to be waited for; progress() is called each time.
  bool go_on(int64_t done, int64_t total);
  /// The same of signals alone.
  bool go_on();
  /// Whether go_on() answered false.
  bool failed() const { return failed_; }
  /// Takes the GIL back. Throws nanobind::python_error where go_on() answered false.
  void finish();

 private:
  bool look(bool tell, int64_t done, int64_t total);

  Progress progress_;
  PyThreadState* state_;
  bool failed_ = false;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

/// Runs a plan. Work of few bytes keeps the GIL, which takes less time than giving it away; work of more than a part
/// (cpu/parts.h) can be ended between its parts. The destination then holds new elements in some places alone.
/// `bytes` are those of the destination.
void run_plan(const Plan& plan, const void* src, void* dst, int threads, int64_t bytes,
              const Progress& progress = nanobind::handle());

/// Returns work(go_on), without the GIL, where go_on is Watched::go_on and the work throws Error{interrupted} once that
/// answers false. What made it do so is thrown then.
template <typename Work>
auto watched(const Progress& progress, const Work& work) {
  Watched watch(progress);
  const auto go_on = [&](int64_t done, int64_t total) { return watch.go_on(done, total); };
  try {
    if constexpr (std::same_as<decltype(work(go_on)), void>) {
      work(go_on);
      watch.finish();
    } else {
      auto made = work(go_on);
      watch.finish();
      return made;
    }
  } catch (const Error&) {
    if (watch.failed()) watch.finish();
    throw;
  }
}

/// Completes a file. Where that is ended, work.failed() says so.
void commit(TensorWriter& writer, Watched& work);

/// memcpy that can be ended; false where it was.
bool copy_bytes(void* dst, const void* src, int64_t bytes, Watched& work);

}  // namespace relayout::python
