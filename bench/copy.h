// The limit: copies of as many bytes as a reorder moves. Two of them, as neither is the faster at every size.
//
// On a 2-core EPYC (Zen 4), one thread, GB/s read + written, g++ 12: memcpy 94 and non-temporal 55 at 4 MiB, 38 and 53
// at 32 MiB, 27 and 45 at 300 MiB. The non-temporal loop prefetches 3 KiB ahead into L1: 45 GB/s at 300 MiB, against
// 40 without prefetch, 33 when prefetched 4 to 256 KiB ahead into L2, 32 to 45 with 2 to 16 pages interleaved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace relayout::bench {

/// Copies with up to `threads` threads of the pool that reorders use; 1 needs no pool.
class Copies {
 public:
  explicit Copies(int threads);
  ~Copies();

  /// glibc's memcpy, split over the threads.
  void plain(std::byte* dst, const std::byte* src, int64_t bytes) const;
  /// Whole lines with non-temporal stores, and a fence at the end. Only where have_non_temporal().
  void non_temporal(std::byte* dst, const std::byte* src, int64_t bytes) const;

 private:
  using Copy = void (*)(std::byte* dst, const std::byte* src, int64_t bytes);
  void split(Copy copy, std::byte* dst, const std::byte* src, int64_t bytes) const;

  struct Pool;
  int threads_;
  std::unique_ptr<Pool> pool_;  // none for one thread
};

/// Whether this machine has a non-temporal copy here (x86-64: yes).
bool have_non_temporal();

}  // namespace relayout::bench
