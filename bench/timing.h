// Timing several ways to do one thing. They take turns, so that a change of the machine's speed meets all of them
// alike.
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
  /// Its threads keep spinning for a while after it has returned, as those of OpenMP do. So 10 ms pass before the next
  /// turn.
  bool spins_after = false;
};

struct Timing {
  double median_ns = 0, min_ns = 0;  // of one time
};

struct TimingOptions {
  int repeat = 15;
  /// Work that takes less than this is done many times in one repetition.
  double repetition_ns = 100e3;
  /// Does each work once, untimed, before its turn: for work that finds its memory in the caches, which the others have
  /// used in between.
  bool warm = false;
};

/// In each repetition every work has one turn, in an order that rotates. All are run once before. Empty works are left
/// out; their times are 0. A work that takes over 0.2 s has a turn in every fifth repetition only, but at least three
/// turns where there are so many repetitions.
std::vector<Timing> time_in_turns(std::span<const Work> works, const TimingOptions& options);

/// The median of the values; of an even number of values, the mean of the two in the middle; 0 where there are none.
double median(std::vector<double> values);

}  // namespace relayout::bench
