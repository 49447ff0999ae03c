// The prices that plans are compared by: what a machine's memory and kernels take (internal to reorder).
//
// Past the caches a box takes the time in which memory reads and writes its bytes, times a factor for its shape. In the
// caches each kernel has a rate. Added to both are the times to start boxes and blocks, to make the lists of where rows
// and columns start, and to fetch elements one by one. Each method's file says its rate and its factor, as
//
//     double rate(const Loops&, const Method&);                                    // in the caches
//     double streamed(const Loops&, const Method&, const Traffic&, const Bytes&);  // past them, in nanoseconds
//
// A method without the second takes past the caches what it takes in them.
//
// The prices were found on two machines with AVX-512: a 4th-generation EPYC and, for those that differ where the last
// level is slow and shared, an Intel Xeon; docs/lab has the figures (plan-cost.md). Speeds that were measured on the
// machine at hand (Machine::speeds) take their place.
#pragma once

#include "relayout/reorder/loops.h"

namespace relayout {

/// Nanoseconds that each byte of both sides waits if they exceed the first level, the second, and four times the
/// second.
struct Waits {
  double beyond_first, beyond_second, far_beyond;
};

/// What differs from machine to machine.
struct Prices {
  /// What the times of kernels in the first level are multiplied by.
  double kernels;
  /// Bytes a nanosecond that one thread writes past the caches, and reads from memory and from the last level.
  double write, read, read_l3;
  /// What the rates of kernels are multiplied by.
  double in_caches;
  /// How many times as long as its bytes alone a line program past the caches takes.
  double permuted;
  /// How many times as long as its bytes alone a transposition past the caches takes. The first index says whether rows
  /// and columns lie pages apart, the second whether rows start anywhere in lines. `small` is for elements of less than
  /// 4 bytes, for which columns that start anywhere count too.
  double large[2][2], small[2][2];
  Waits waits;
};
/// The prices of the two machines: one with a fast last level, and one whose last level is slow and shared by many
/// cores.
inline constexpr Prices kFastL3{
    1, 25, 50, 130, 1, 1.4, {{1.16, 1.4}, {1.33, 1.75}}, {{1.28, 1.8}, {1.4, 2.1}}, {0.006, 0.005, 0.005}},
    kSlowSharedL3{
        1, 23, 23, 35, 0.8, 1.12, {{1.16, 1.4}, {1.33, 1.4}}, {{1.28, 1.28}, {1.28, 1.8}}, {0.008, 0.016, 0.012}};

/// The prices of a machine, by its measured speeds where it has some.
inline Prices prices_of(const Machine& machine) {
  Prices out = machine.slow_shared_l3() ? kSlowSharedL3 : kFastL3;
  const auto take = [](double& price, double measured) { price = measured > 0 ? measured : price; };
  const Speeds& speeds = machine.speeds;
  take(out.write, speeds.write);
  take(out.read, speeds.read);
  take(out.read_l3, speeds.read_l3);
  take(out.waits.beyond_first, speeds.beyond_first);
  take(out.waits.beyond_second, speeds.beyond_second);
  take(out.waits.far_beyond, speeds.far_beyond);
  take(out.kernels, speeds.kernels);
  return out;
}

/// What a box reads and writes.
struct Bytes {
  double from, to;
  double both() const { return from + to; }
};

/// What moving bytes takes on a machine, for one reorder.
struct Traffic {
  Prices prices;
  /// How many times the bytes of the source are read, as whole lines are fetched: elements and gaps.
  double spread;
  /// Bytes a nanosecond that are read: from memory, or from the last level where the source fits into it.
  double read;
  /// Nanoseconds that each byte waits in the caches, beyond the time of its kernel.
  double waited;

  /// Nanoseconds in which memory reads and writes a box that is written past the caches.
  double memory(const Bytes& bytes) const { return bytes.from * spread / read + bytes.to / prices.write; }
  /// Nanoseconds in which a kernel of this rate, in bytes a nanosecond, moves a box in the caches.
  double in_caches(const Bytes& bytes, double rate) const {
    return bytes.both() / (rate * prices.in_caches) * prices.kernels;
  }
};

/// Bytes a nanosecond, read and written together, of elements that are gathered one by one, and of pieces that are
/// copied, in the caches.
inline double gather_rate(const Loops& loops) { return std::min(30.0, 1.6 * static_cast<double>(loops.piece[kSrc])); }
inline double copy_rate(const Loops& loops) { return std::min(75.0, 2 * static_cast<double>(loops.piece[kSrc])); }
/// Nanoseconds of a box larger than the caches that writes each line in several stores, through the cache.
inline double through_cache(const Loops& loops, const Bytes& bytes) {
  constexpr double kWholeLines = 20, kPartialLines = 6;  // bytes a nanosecond, read and written together
  return bytes.both() / (loops.piece[kDst] >= kCacheLine ? kWholeLines : kPartialLines);
}

template <typename Method>
double streamed(const Loops& loops, const Method& method, const Traffic& traffic, const Bytes& bytes) {
  return traffic.in_caches(bytes, rate(loops, method));
}

}  // namespace relayout
