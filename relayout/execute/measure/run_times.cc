// Times of runs, by the system's count of interruptions and of time on a core.
#include "relayout/execute/measure/run_times.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace relayout::execute {
namespace {

using Clock = std::chrono::steady_clock;

/// Whole runs agree up to that factor and so many microseconds, as clocks and caches do.
constexpr double kAgree = 1.3, kAgreeUs = 0.5;
/// Longer runs are hardly ever whole, and agree better.
constexpr double kLongUs = 5000, kLongAgree = 1.05;
/// What one thread may lose of a run that counts as whole.
constexpr double kLost = 0.02;

/// How often a thread of this process had to leave its core to another process.
int64_t interruptions() {
  rusage used{};
  return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_nivcsw : 0;
}

/// Microseconds that this thread was on a core.
double on_core_us() {
  timespec at{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at) != 0) return 0;
  return static_cast<double>(at.tv_sec) * 1e6 + static_cast<double>(at.tv_nsec) * 1e-3;
}

void take(double us, double& least, double& second) {
  if (us < least) std::swap(us, least);
  second = std::min(second, us);
}

}  // namespace

double RunTimes::run(const std::function<void()>& work) {
  const int64_t before = interruptions();
  const double on_core = on_core_us();
  const Clock::time_point begin = Clock::now();
  work();
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  const double lost = us - (on_core_us() - on_core);
  add(us, interruptions() == before || (threads_ == 1 && lost <= kLost * us));
  return us;
}

void RunTimes::add(double us, bool whole) {
  take(us, least_, second_);
  if (!whole) return;
  ++whole_runs_;
  take(us, least_whole_, second_whole_);
}

bool RunTimes::sure() const {
  const bool by_whole = whole_runs_ >= 2 && second_whole_ <= kAgree * least_whole_ + kAgreeUs &&
                        least_whole_ <= kAgree * least_ + kAgreeUs;
  return by_whole || (threads_ > 1 && least_ >= kLongUs && second_ <= kLongAgree * least_);
}

}  // namespace relayout::execute
