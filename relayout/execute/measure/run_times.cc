// Which run times agree with each other, and which runs other processes disturbed.
#include "relayout/execute/measure/run_times.h"

#include <algorithm>

namespace relayout::execute {
namespace {

/// Undisturbed runs agree up to this factor and this many microseconds, by which clocks and caches vary.
constexpr double kAgree = 1.3, kAgreeUs = 0.5;
/// Runs longer than kLongUs are hardly ever undisturbed, but vary less: they must agree up to kLongAgree.
constexpr double kLongUs = 5000, kLongAgree = 1.05;
/// The share of its time that one thread may lose to other processes in a run that counts as undisturbed.
constexpr double kLost = 0.02;

void take(double us, double& least, double& second) {
  if (us < least) std::swap(us, least);
  second = std::min(second, us);
}

}  // namespace

double RunTimes::run(const std::function<void()>& work) {
  const cpu::RunTime taken = stopwatch_.time(work);
  const double lost = taken.us - taken.on_core_us;
  add(taken.us, taken.interruptions == 0 || (threads_ == 1 && lost <= kLost * taken.us));
  return taken.us;
}

void RunTimes::add(double us, bool undisturbed) {
  take(us, least_, second_);
  if (!undisturbed) return;
  ++undisturbed_runs_;
  take(us, least_undisturbed_, second_undisturbed_);
}

bool RunTimes::reliable() const {
  const bool undisturbed_agree = undisturbed_runs_ >= 2 &&
                                 second_undisturbed_ <= kAgree * least_undisturbed_ + kAgreeUs &&
                                 least_undisturbed_ <= kAgree * least_ + kAgreeUs;
  const bool long_agree = least_ >= kLongUs && least_ <= limit_us_ && second_ <= kLongAgree * least_;
  return undisturbed_agree || (threads_ > 1 && long_agree);
}

bool RunTimes::single_is_reliable() const { return undisturbed_runs_ > 0 || (threads_ > 1 && least_ <= limit_us_); }

}  // namespace relayout::execute
