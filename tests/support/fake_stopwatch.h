// A stopwatch whose times a test writes down: no clock is read, so the test is the same on every machine.
//
//     FakeStopwatch stopwatch;
//     stopwatch.takes = [](int64_t call) { return call == 3 ? 50.0 : 10.0; };   // microseconds of each call of time()
//     tune(..., {.stopwatch = &stopwatch});
//
// Work may also state its own time by pass(), and by interrupt() that another process interrupted it.
#pragma once

#include <functional>

#include "relayout/cpu/stopwatch.h"

namespace relayout::test {

class FakeStopwatch : public cpu::Stopwatch {
 public:
  cpu::RunTime time(const std::function<void()>& work) override {
    const double begin = now_us_, off_core_before = off_core_us_;
    const int64_t interruptions_before = interruptions_;
    work();
    now_us_ += takes(calls_++);
    const double us = now_us_ - begin;
    return {.us = us,
            .on_core_us = us - (off_core_us_ - off_core_before),
            .interruptions = interruptions_ - interruptions_before};
  }
  double now_us() override { return now_us_; }

  /// Lets this many microseconds pass.
  void pass(double us) { now_us_ += us; }
  /// Lets another process have the core for this many microseconds.
  void interrupt(double us = 0) {
    now_us_ += us;
    off_core_us_ += us;
    ++interruptions_;
  }
  /// How often time() was called.
  int64_t calls() const { return calls_; }

  /// The microseconds that a call of time() takes, besides those that its work passes. Calls are numbered from 0.
  std::function<double(int64_t call)> takes = [](int64_t) { return 0.0; };

 private:
  double now_us_ = 0, off_core_us_ = 0;
  int64_t calls_ = 0, interruptions_ = 0;
};

}  // namespace relayout::test
