// What a plan is made for, the caches of a machine and what a caller wants otherwise than the planner, and what it is
// expected to take.
//
//     Plan::make(src, dst, {}, {.l3 = 64 << 20}, {.stream = Tuning::Stream::never});
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "relayout/cxx20.h"

namespace relayout {

/// What a machine's memory and kernels take on one thread, as cpu::measure_speeds() finds it. Where a number is 0,
/// plans are priced by that of one of two known machines, chosen by Machine::slow_shared_l3().
struct Speeds {
  /// Bytes a nanosecond that are written past the caches, and read from memory and from the last level.
  double write = 0, read = 0, read_l3 = 0;
  /// Nanoseconds that each byte of both sides waits in the caches if they exceed the first level, what is added beyond
  /// the second, and beyond Machine::far().
  double beyond_first = 0, beyond_second = 0, far_beyond = 0;
  /// What the times of kernels in the first level are multiplied by.
  double kernels = 0;

  bool operator==(const Speeds&) const = default;
  /// All numbers, in their order above.
  std::array<double, 7> numbers() const {
    return {write, read, read_l3, beyond_first, beyond_second, far_beyond, kernels};
  }
};

/// The caches that a plan is made for, in bytes: the first and second level, which each core has, and the last one.
struct Machine {
  int64_t l1 = 32 << 10, l2 = 1 << 20, l3 = 32 << 20;
  /// The bytes that one instruction permutes anyhow: 64 with AVX-512 VBMI, 16 with SSSE3 and NEON, 0 for none.
  int64_t permuted_bytes = 16;
  Speeds speeds = {};

  /// The most of a last level that plans count on. A larger one is most often that of a server, shared by dozens of
  /// cores and slow to reach from each of them: reading from it is not much faster than reading from memory, and
  /// writing to it is slower than writing past it.
  static constexpr int64_t kMaxL3Share = 32 << 20;
  bool slow_shared_l3() const { return l3 > kMaxL3Share; }
  /// The bytes of the last level that plans count on.
  int64_t l3_share() const { return slow_shared_l3() ? std::max(l2, kMaxL3Share) : l3; }
  /// Bytes of both sides above which they are taken to come from memory, as half of the last level has other things.
  int64_t in_memory() const { return l3_share() / 2; }
  /// Bytes of both sides above which the second level keeps little of them. Smaller reorders are never written past the
  /// cache unless that is asked for, as the next reader finds the destination in the caches; where the last level is
  /// slow, that helps it less.
  int64_t far() const { return std::min((slow_shared_l3() ? 2 : 4) * l2, in_memory()); }
};

/// Overrides choices of the planner, to try out others. The planner decides, by price, where `stream` is by_size, and
/// by rule where a number is 0 or less. The result of a reorder is the same bit for bit, whatever is chosen.
struct Tuning {
  enum class Stream : uint8_t { by_size, never, always };
  /// Whether the destination is written past the cache.
  Stream stream = Stream::by_size;
  /// Used where the destination is written past the cache: the columns (panel) and rows (strip) of one block, at most
  /// 1024 each, and how many bytes ahead of its use the source is fetched.
  int64_t panel = 0, strip = 0, ahead = 0;
  /// The ways to move a tensor that the planner offers: `boxes`, each by the kernels that suit it; `lines`, one line
  /// program for all boxes and their padding, or one for each box that can have one; and `stages`, all boxes together
  /// by way of buffers in the cache. It chooses the cheapest. A way that a reorder cannot go is not gone.
  enum class Way : uint8_t { cheapest, boxes, lines, stages };
  Way way = Way::cheapest;

  bool operator==(const Tuning&) const = default;
  /// Whether the caller chose blocks, which only `boxes` have.
  bool cuts_blocks() const { return panel > 0 || strip > 0 || ahead > 0; }
};

/// What a plan is expected to move and take.
struct Cost {
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  /// A rough time in nanoseconds on one thread, for comparing plans. The plan's machine says by which prices:
  /// its measured speeds, or one of two lists, of a machine whose last level is slow and shared by many cores
  /// (Machine::slow_shared_l3()) and of one whose is not.
  double nanoseconds = 0;
};

}  // namespace relayout
