// The system's stopwatch: a clock that never goes back, the thread's time on a core, and the count of interruptions.
#include "relayout/cpu/stopwatch.h"

#include <sys/resource.h>

#include <chrono>
#include <ctime>

namespace relayout::cpu {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

int64_t interruptions() {
  rusage used{};
  return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_nivcsw : 0;
}

double on_core_us() {
  timespec at{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at) != 0) return 0;
  return static_cast<double>(at.tv_sec) * 1e6 + static_cast<double>(at.tv_nsec) * 1e-3;
}

class SystemStopwatch : public Stopwatch {
 public:
  RunTime time(const std::function<void()>& work) override {
    const int64_t interrupted_before = interruptions();
    const double on_core_before = on_core_us();
    const auto begin = std::chrono::steady_clock::now();
    work();
    // The clock is read first: the other two calls take longer, and are not part of the work.
    const double us = Microseconds(std::chrono::steady_clock::now() - begin).count();
    return {
        .us = us, .on_core_us = on_core_us() - on_core_before, .interruptions = interruptions() - interrupted_before};
  }
  double now_us() override { return Microseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }
};

}  // namespace

Stopwatch& system_stopwatch() {
  static SystemStopwatch stopwatch;
  return stopwatch;
}

}  // namespace relayout::cpu
