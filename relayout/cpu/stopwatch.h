// Stopwatch: where everything that decides by run times gets them from.
//
//     const RunTime taken = system_stopwatch().time([&] { cpu::run(plan, src, dst); });
//
// The system's stopwatch reads the clocks of the machine, and its times differ from run to run. A test gives a
// stopwatch of its own, whose times are written down beforehand (tests/support/fake_stopwatch.h): what is decided by
// run times is then the same on every machine, however busy it is.
#pragma once

#include <cstdint>
#include <functional>

namespace relayout::cpu {

struct RunTime {
  /// Microseconds from the start to the end.
  double us = 0;
  /// Microseconds of these that the calling thread was on a core.
  double on_core_us = 0;
  /// How often a thread of this process had to leave its core to another process.
  int64_t interruptions = 0;
};

class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  /// Does the work once, and returns how long it took. What the work throws passes on.
  virtual RunTime time(const std::function<void()>& work) = 0;
  /// Microseconds since a moment that stays the same as long as the program runs: for limits of time.
  virtual double now_us() = 0;
};

/// The clocks of the machine. Threads may use it at the same time.
Stopwatch& system_stopwatch();
/// The given stopwatch, or the system's where there is none (null), as options have it.
inline Stopwatch& stopwatch_or_systems(Stopwatch* given) { return given ? *given : system_stopwatch(); }

}  // namespace relayout::cpu
