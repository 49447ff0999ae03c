// The limit that a reorder is compared with: a copy of as many bytes as it moves. There are two copies, as neither is
// the faster one at every size: memcpy is faster in the caches, and non-temporal stores are faster beyond them. The
// non-temporal loop prefetches 3 KiB ahead into the first-level cache, which was the fastest of the distances and
// levels that were tried; docs/lab has the figures.
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
  /// Both ways without a source: memset, and whole lines of one value.
  void set(std::byte* dst, int64_t bytes) const;
  void set_non_temporal(std::byte* dst, int64_t bytes) const;

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
