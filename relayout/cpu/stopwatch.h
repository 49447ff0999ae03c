// Stopwatch: measures run times for all code that decides by them.
//
//     const RunTime taken = system_stopwatch().time([&] { cpu::run(plan, src, dst); });
//
// The system's stopwatch reads the clocks of the machine, and its times differ from run to run. A test passes a
// stopwatch with times written down beforehand (tests/support/fake_stopwatch.h), so that decisions by run times are the
// same on every machine, however busy it is.
#pragma once

#include <cstdint>
#include <functional>

namespace relayout::cpu {

struct RunTime {
  /// Microseconds from the start to the end.
  double us = 0;
  /// How many of these microseconds the calling thread was on a core.
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
/// The stopwatch that the caller's options name, or the system's if that is null.
inline Stopwatch& stopwatch_or_systems(Stopwatch* given) { return given ? *given : system_stopwatch(); }

}  // namespace relayout::cpu
