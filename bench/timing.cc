// Timing in turns.
#include "bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace relayout::bench {
namespace {

double time_ns(const Work& work, int64_t count) {
  const auto start = std::chrono::steady_clock::now();
  work.run(count);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/// How many times the work must be done to fill a repetition. The first run is slower, as nothing is in the caches; so
/// the count grows until the time is right.
int64_t calls_a_repetition(const Work& work, double repetition_ns) {
  static constexpr int64_t kMost = 10'000'000;
  int64_t count = 1;
  for (;;) {
    const double taken = time_ns(work, count);
    if (taken >= repetition_ns / 2 || count >= kMost) {
      return std::clamp<int64_t>(std::llround(static_cast<double>(count) * repetition_ns / taken), 1, kMost);
    }
    count = std::min(kMost, count * std::clamp<int64_t>(std::llround(repetition_ns / std::max(taken, 1.0)), 2, 10));
  }
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  std::ranges::sort(values);
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<Timing> time_in_turns(std::span<const Work> works, const TimingOptions& options) {
  static constexpr double kSlow = 200e6;
  static constexpr auto kSettled = std::chrono::milliseconds(10);
  std::vector<int64_t> counts(works.size());
  std::vector<int> every(works.size(), 1);
  std::vector<std::vector<double>> times(works.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (!works[i].run) continue;
    const double start = time_ns(works[i], 1);
    counts[i] = start < kSlow ? calls_a_repetition(works[i], options.repetition_ns) : 1;
    if (start >= kSlow) every[i] = std::clamp(options.repeat / 3, 1, 5);
  }
  for (int repetition = 0; repetition < options.repeat; ++repetition) {
    for (std::size_t turn = 0; turn < works.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(repetition)) % works.size();
      if (!works[i].run || repetition % every[i] != 0) continue;
      if (options.warm) works[i].run(1);
      times[i].push_back(time_ns(works[i], counts[i]) / static_cast<double>(counts[i]));
      if (works[i].spins_after) std::this_thread::sleep_for(kSettled);
    }
  }
  std::vector<Timing> out(works.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (!times[i].empty()) out[i] = {median(times[i]), std::ranges::min(times[i])};
  }
  return out;
}

}  // namespace relayout::bench
