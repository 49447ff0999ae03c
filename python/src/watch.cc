// Long work that Ctrl-C ends, and that a function of the caller may watch.
#include "python/src/watch.h"

#include <algorithm>
#include <cstring>

#include "python/src/arrays.h"
#include "relayout/cpu/parts.h"
#include "relayout/cpu/reorder.h"

namespace nb = nanobind;

namespace relayout::python {

bool Watched::go_on(int64_t done, int64_t total) { return look(progress_.watched(), done, total); }
bool Watched::go_on() { return look(false, 0, 0); }

bool Watched::look(bool tell, int64_t done, int64_t total) {
  if (failed_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!tell && now - looked_ < std::chrono::milliseconds(100)) return true;
  looked_ = now;
  PyEval_RestoreThread(state_);
  failed_ = PyErr_CheckSignals() != 0;
  if (tell && !failed_) {
    PyObject* answer =
        PyObject_CallFunction(progress_.function.ptr(), "LL", static_cast<long long>(progress_.part * total + done),
                              static_cast<long long>(progress_.parts * total));
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

void run_plan(const Plan& plan, const void* src, void* dst, int threads, int64_t bytes, const Progress& progress) {
  const cpu::RunOptions options{.threads = threads};
  const cpu::PartOptions parts;
  // A source may be larger than its destination, though hardly ever by so much.
  if (!progress.watched() && bytes < parts.bytes / 4) {
    const ReleasedGil released(bytes);
    cpu::run(plan, src, dst, options);
    return;
  }
  Watched work(progress);
  cpu::run_in_parts(plan, src, dst, options, parts,
                    [&](int64_t done, int64_t total) { return work.go_on(done, total); });
  work.finish();
}

void commit(TensorWriter& writer, Watched& work) {
  try {
    writer.commit([&](int64_t, int64_t) { return work.go_on(); });
  } catch (const Error&) {
    if (!work.failed()) throw;
  }
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
