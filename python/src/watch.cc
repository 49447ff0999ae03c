// Long work that Ctrl-C ends, and that a function of the caller may watch.
#include "python/src/watch.h"

#include <algorithm>
#include <cstring>

#include "python/src/arrays.h"
#include "relayout/cpu/parts.h"
#include "relayout/cpu/reorder.h"

namespace nb = nanobind;

namespace relayout::python {

bool Watched::go_on(int64_t done, int64_t total) {
  const bool watched = progress_.is_valid() && !progress_.is_none();
  const auto now = std::chrono::steady_clock::now();
  if (!watched && now - looked_ < std::chrono::milliseconds(100)) return true;
  looked_ = now;
  PyEval_RestoreThread(state_);
  failed_ = PyErr_CheckSignals() != 0;
  if (watched && !failed_) {
    PyObject* answer =
        PyObject_CallFunction(progress_.ptr(), "LL", static_cast<long long>(done), static_cast<long long>(total));
    failed_ = answer == nullptr;
    Py_XDECREF(answer);
  }
  state_ = PyEval_SaveThread();
  return !failed_;
}

void Watched::finish() {
  PyEval_RestoreThread(state_);
  state_ = nullptr;
  if (failed_) throw nb::python_error();
}

void run_plan(const Plan& plan, const void* src, void* dst, int threads, int64_t bytes, nb::handle progress) {
  const bool watched = progress.is_valid() && !progress.is_none();
  const cpu::RunOptions options{.threads = threads};
  const cpu::PartOptions parts;
  // A source may be larger than its destination, though hardly ever by so much.
  if (!watched && bytes < parts.bytes / 4) {
    const ReleasedGil released(bytes);
    cpu::run(plan, src, dst, options);
    return;
  }
  Watched work(progress);
  cpu::run_in_parts(plan, src, dst, options, parts,
                    [&](int64_t done, int64_t total) { return work.go_on(done, total); });
  work.finish();
}

bool copy_bytes(void* dst, const void* src, int64_t bytes, Watched& work) {
  constexpr int64_t kStep = int64_t{16} << 20;
  int64_t done = 0;
  do {
    const int64_t count = std::min(kStep, bytes - done);
    if (count > 0)
      std::memcpy(static_cast<std::byte*>(dst) + done, static_cast<const std::byte*>(src) + done,
                  static_cast<std::size_t>(count));
    done += count;
    if (!work.go_on(done, bytes)) return false;
  } while (done < bytes);
  return true;
}

}  // namespace relayout::python
