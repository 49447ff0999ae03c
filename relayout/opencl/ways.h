// The ways to move a tensor between the host and a device, and which of them is the fastest.
//
// Which way is fast depends on the device, the driver and the size: a phone's GPU shares the memory of its CPU, a card
// has its own, PoCL is a CPU itself. So they are not ranked by rules but by their times:
//
//     mapped   the CPU's reorder, straight into the image's memory as it is mapped, or out of it
//     kernel   a kernel of the device between a buffer of the host's layout and the image or buffer
//     staged   a kernel between two buffers, and OpenCL's own copy between the second one and the image
//
// The first way is tried until it has taken, in all, as long as trying another could (kTrialSeconds); then each other
// one is tried twice (the first time its kernel is compiled), and from then on the fastest of them is taken. So a
// tensor that moves once takes no detour, and the trials cost about as much as the uploads before them did.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "relayout/core/dtype.h"

namespace relayout::opencl {

enum class Way : uint8_t { automatic, mapped, kernel, staged };
inline constexpr Way kWays[] = {Way::mapped, Way::kernel, Way::staged};

/// "automatic", "mapped", ...
std::string_view name(Way way);

/// Whether a device can convert elements of one type to the other, by the ways kernel and staged: equal types of 8 to
/// 64 bits, f32 and f16, u8 and u32.
bool device_converts(DType src, DType dst);

/// About the time to compile a kernel and to run it, in seconds.
inline constexpr double kTrialSeconds = 0.2;

/// What the ways of one kind of transfer have taken so far.
class WayTimes {
 public:
  /// The way to take now, of those that are possible, the first of which is tried first.
  Way choose(std::span<const Way> possible) const;
  /// Notes how long a way took; infinity for one that failed, which is then not tried again.
  void add(Way way, double seconds);
  /// The shortest time of a way, or 0 where it was never taken.
  double best(Way way) const { return times_[index(way)].best; }

 private:
  static constexpr int kTrials = 2;
  static std::size_t index(Way way) { return static_cast<std::size_t>(way); }
  struct Times {
    int runs = 0;
    double best = 0, sum = 0;
  };
  std::array<Times, 4> times_{};
};

}  // namespace relayout::opencl
