// PlanCache: the plans of recent reorders, so that the same reorder is not planned again (internal to cpu;
// cached_plan() and its neighbours in reorder.h are the public functions).
//
//     PlanCache cache(256);
//     Plan plan = cache.plan(src, dst, attributes);   // made
//     Plan same = cache.plan(src, dst, attributes);   // found, in less than 100 ns
//
// A plan is found if everything that it was made from is equal, field by field: both sides' dims, digits, offset0 and
// types, every attribute, and the instruction set in use. Two spellings of one layout are two entries, because
// explain() shows the spelling. The sizes of the caches are not compared, because they are the same for the whole
// process, nor is the number of threads, on which plans do not depend.
//
// Entries are dealt to shards by their hash, each shard with a lock and an order of use of its own; a full shard drops
// the plan that it has not used for longest. A small cache has one shard, so that its order of use is exact.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "relayout/cpu/kept_plan.h"

namespace relayout::cpu {

/// All calls may come from any thread at any time. set_capacity() and statistics() follow one another as if one thread
/// made these calls, so the cache never has the capacity of one call in some shards and that of another in others. The
/// other calls do not wait for them: a plan that is being made while the cache is cleared or its capacity is set may be
/// kept afterwards, within the new capacity.
class PlanCache {
 public:
  /// A plan is kept only if its boxes, tables and attribute values have at most this many bytes. Larger ones are made
  /// anew each time. So a cache of the default capacity takes at most 64 MiB, or twice that and their code where all
  /// plans have machine code.
  static constexpr int64_t kMaxPlanBytes = 256 << 10;

  /// `hash_mask` is for tests: with 0 all hashes are equal, so that entries are told apart by comparing alone.
  explicit PlanCache(int64_t capacity, uint64_t hash_mask = ~uint64_t{0}) : hash_mask_(hash_mask) {
    set_capacity(capacity);
  }

  /// make_plan(src, dst, attributes), or the same from before, which gets generated code as a KeptPlan does when it is
  /// found. Errors: those of make_plan(), each time anew.
  Plan plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes);

  /// Drops all plans and sets the counts of hits and misses to 0.
  void clear();
  /// Drops all plans. With 0 or less none are kept.
  void set_capacity(int64_t capacity);
  int64_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  PlanCacheStatistics statistics() const;

  /// The one that reorder() and cached_plan() use.
  static PlanCache& shared();

 private:
  struct Entry {
    uint64_t hash;
    std::vector<uint64_t> words;  // Key::words
    bool has_values;
    std::shared_ptr<KeptPlan> kept;
    std::list<Entry>::iterator place{};  // of itself
    Entry* next = nullptr;               // in its bucket
  };
  using Entries = std::list<Entry>;
  /// What a plan is looked up by: everything that it is made from as words, and the values of attributes, which are
  /// null where there are none.
  struct Key {
    std::span<const uint64_t> words;
    const Attributes* values;
    uint64_t hash;
  };
  /// Each shard has cache lines of its own, so that threads that use different shards do not wait for each other.
  struct alignas(128) Shard {
    mutable std::mutex mutex;
    std::size_t capacity = 0;
    int64_t hits = 0, misses = 0;
    Entries entries;  // those used last first
    /// Chains of entries, chosen by the lowest bits of the hash, so that their number is a power of two. Empty where
    /// the capacity is 0.
    std::vector<Entry*> buckets;

    Entry*& bucket(uint64_t hash) { return buckets[hash & (buckets.size() - 1)]; }

    /// Returns the entry of the key and marks it as the one used last; null if there is none.
    Entry* find(const Key& key);
    /// Keeps a plan, the only element of `made`, as the one used last.
    void insert(Entries& made);
    /// Drops the plan that was not used for longest.
    void drop_last();
    void drop_all();
  };

  /// A cache of at least kShards * kLeastShare plans has kShards shards; a smaller one has one shard.
  static constexpr std::size_t kShards = 8, kLeastShare = 8;
  /// Buckets of one shard at most: a larger cache has longer chains.
  static constexpr std::size_t kMaxBuckets = 1 << 16;

  Shard& shard_of(uint64_t hash) { return shards_[hash >> 32 & shard_mask_.load(std::memory_order_relaxed)]; }

  const uint64_t hash_mask_;
  /// Held while the capacity is set, shard by shard, and while the shards' entries are counted. A thread locks it
  /// before it locks a shard.
  mutable std::mutex changing_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> shard_mask_ = 0;
  std::atomic<int64_t> capacity_ = 0;
};

}  // namespace relayout::cpu
