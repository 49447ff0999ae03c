// Choosing between the ways of a transfer: see ways.h.
#include "relayout/opencl/ways.h"

#include <algorithm>
#include <cmath>

namespace relayout::opencl {

std::string_view name(Way way) {
  constexpr std::string_view kNames[] = {"automatic", "mapped", "kernel", "staged"};
  return kNames[static_cast<std::size_t>(way)];
}

bool device_converts(DType src, DType dst) {
  if (src == dst) return bits(src) >= 8;
  const auto pair = [&](DType a, DType b) { return (src == a && dst == b) || (src == b && dst == a); };
  return pair(DType::f32, DType::f16) || pair(DType::u8, DType::u32);
}

Way WayTimes::choose(std::span<const Way> possible) const {
  const Way first = possible.front();
  if (times_[index(first)].sum < kTrialSeconds) return first;
  for (const Way way : possible) {
    if (times_[index(way)].runs < kTrials) return way;
  }
  return *std::ranges::min_element(possible, {}, [&](Way way) { return times_[index(way)].best; });
}

void WayTimes::add(Way way, double seconds) {
  Times& times = times_[index(way)];
  times.best = times.runs == 0 ? seconds : std::min(times.best, seconds);
  times.sum += seconds;
  times.runs = std::isinf(seconds) ? kTrials : times.runs + 1;
}

}  // namespace relayout::opencl
