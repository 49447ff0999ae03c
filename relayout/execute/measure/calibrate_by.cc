// The machine's speeds: found in a file, or measured until they are plausible and kept there.
#include "relayout/execute/measure/calibrate_by.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "relayout/cpu/machine.h"
#include "relayout/execute/measure/cost_cache.h"
#include "relayout/execute/measure/limits.h"
#include "relayout/execute/measure/speeds.h"
#include "relayout/execute/measure/step.h"

namespace relayout::execute {

using graph::Calibration;
using graph::CostKey;

namespace {

constexpr int kAttempts = 3;
/// After this many microseconds no further attempt is made: on a machine that is so busy it would be no better.
constexpr double kCalibrationPatienceUs = 3e6;

/// Whether a call or a step can take so many microseconds beside its work. Where every call waits for a thread that has
/// lost its core, it takes a slice of the scheduler's, each time.
bool is_overhead(double us) { return us > 0 && us <= kMostCallUs; }

/// Takes the better of each speed, as other work on the machine can only slow a measurement down.
void join(Calibration& speeds, const Calibration& other) {
  for (double Calibration::*speed : {&Calibration::flops_per_us, &Calibration::near_bytes_per_us,
                                     &Calibration::cache_bytes_per_us, &Calibration::memory_bytes_per_us})
    speeds.*speed = std::max(speeds.*speed, other.*speed);
  speeds.call_us = std::min(speeds.call_us, other.call_us);
  // A step's time of 0 means that it could not be told from the times of its parts.
  if (!is_overhead(speeds.step_us)) speeds.step_us = other.step_us;
}

std::array<double Calibration::*, 6> speeds() {
  return {&Calibration::flops_per_us,        &Calibration::near_bytes_per_us, &Calibration::cache_bytes_per_us,
          &Calibration::memory_bytes_per_us, &Calibration::call_us,           &Calibration::narrow_share};
}

CostKey key_of(const CostKey& environment, std::size_t speed) {
  return graph::KeyMaker(environment).add("calibration").add(uint64_t{speed}).key();
}

bool find(const CostCache& cache, const CostKey& environment, Calibration& out) {
  for (std::size_t i = 0; i < speeds().size(); ++i) {
    const std::optional<double> known = cache.find(key_of(environment, i));
    if (!known) return false;
    out.*speeds()[i] = *known;
  }
  const std::optional<double> step = cache.find(step_key(environment));
  if (step) out.step_us = *step;
  return step && plausible(out);
}

}  // namespace

bool plausible(const Calibration& speeds_of) {
  const auto is_time = [](double value) { return value > 0 && std::isfinite(value); };
  return std::ranges::all_of(speeds(), [&](auto speed) { return is_time(speeds_of.*speed); }) &&
         is_overhead(speeds_of.call_us) && is_overhead(speeds_of.step_us) &&
         speeds_of.near_bytes_per_us >= speeds_of.memory_bytes_per_us;
}

Calibrated calibrate_by(const std::function<Calibration()>& measure, const CostKey& environment,
                        const CalibrateOptions& options) {
  cpu::Stopwatch& stopwatch = cpu::stopwatch_or_systems(options.stopwatch);
  Calibrated out;
  CostCache cache;
  try {
    if (!options.file.empty() && cache.load(options.file) && !options.remeasure &&
        find(cache, environment, out.speeds)) {
      out.remembered = true;
      return out;
    }
  } catch (const Error& error) {
    out.file_error = error;
  }
  const double begin_us = stopwatch.now_us();
  out.speeds = measure();
  for (int attempt = 1; attempt < kAttempts && !plausible(out.speeds); ++attempt) {
    if (stopwatch.now_us() - begin_us > kCalibrationPatienceUs) break;
    join(out.speeds, measure());
  }
  out.unreliable = !plausible(out.speeds);
  const bool file_is_lost = out.file_error && out.file_error->code() != ErrorCode::corrupt;
  // Unreliable speeds are not kept. If the caller asked to measure again, the old speeds are removed from the file all
  // the same, so that they are not found next time.
  if (options.file.empty() || file_is_lost || (out.unreliable && !options.remeasure)) return out;
  const auto keep = [&](const CostKey& key, double value) {
    if (out.unreliable)
      cache.forget(key);
    else
      cache.insert(key, value);
  };
  for (std::size_t i = 0; i < speeds().size(); ++i) keep(key_of(environment, i), out.speeds.*speeds()[i]);
  keep(step_key(environment), out.speeds.step_us);
  try {
    cache.save(options.file);
  } catch (const Error& error) {
    out.file_error = error;
  }
  return out;
}

namespace {

/// Another stopwatch, before whose measurements the caller is asked.
class CheckedStopwatch : public cpu::Stopwatch {
 public:
  CheckedStopwatch(cpu::Stopwatch& stopwatch, const std::function<void()>& check)
      : stopwatch_(stopwatch), check_(check) {}
  cpu::RunTime time(const std::function<void()>& work) override {
    if (check_) check_();
    return stopwatch_.time(work);
  }
  double now_us() override { return stopwatch_.now_us(); }

 private:
  cpu::Stopwatch& stopwatch_;
  const std::function<void()>& check_;
};

}  // namespace

Calibrated calibrate(const graph::Backend& backend, const CalibrateOptions& options) {
  CheckedStopwatch stopwatch(cpu::stopwatch_or_systems(options.stopwatch), options.check);
  Calibrated out;
  if (options.known) {
    out.speeds = *options.known;
    if (!plausible(out.speeds))
      throw Error(
          ErrorCode::invalid_argument,
          "calibrate: these cannot be a machine's speeds: all are finite and above 0, a call and a step take no "
          "more than a millisecond, and copies in the second cache are no slower than those past the last",
          "known");
  } else {
    out = calibrate_by([&] { return measured_speeds(backend, stopwatch); }, environment_key(backend), options);
  }
  // The file has only the measured speeds; the number of threads and the caches are added here.
  out.speeds.threads = backend.threads();
  out.speeds.machine = cpu::machine();
  return out;
}

}  // namespace relayout::execute
