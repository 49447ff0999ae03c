// Timing several ways to do one thing, so that none profits from the machine's mood: they take turns.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace relayout::bench {

/// Something to time.
struct Work {
  /// Does it `count` times. Empty: nothing to time.
  std::function<void(int64_t count)> run;
  /// Its threads go on spinning for a while after it has returned, as those of OpenMP do: 10 ms pass before the next
  /// turn.
  bool spins_after = false;
};

struct Timing {
  double median_ns = 0, min_ns = 0;  // of one time
};

struct TimingOptions {
  int repeat = 15;
  /// What is shorter is done many times in one repetition.
  double repetition_ns = 100e3;
  /// Does each work once, untimed, before its turn: for work that finds its memory in the caches, which the others have
  /// used in between.
  bool warm = false;
};

/// In each repetition every work has one turn, in an order that rotates. All are run once before. Empty works are
/// left out and have times of 0. What takes over 0.2 s has a turn in every fifth repetition only, but three at least
/// where there are so many repetitions.
std::vector<Timing> time_in_turns(std::span<const Work> works, const TimingOptions& options);

/// The middle of the values, of an even number the mean of both; 0 where there are none.
double median(std::vector<double> values);

}  // namespace relayout::bench
