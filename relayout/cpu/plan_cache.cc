// The plan cache: hashes and compares what a plan is made from, and keeps entries in the order of their last use.
#include "relayout/cpu/plan_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "relayout/cpu/kernels/kernels.h"
#include "relayout/reorder/planner/plan_data.h"

namespace relayout::cpu {
namespace {

/// Everything that a plan is made from, as words, except for lists of attribute values. Those are compared separately.
class Words {
 public:
  Words(const TensorDesc& src, const TensorDesc& dst, const Attributes& a, const Kernels* kernels) {
    uint64_t* out = words_;
    *out++ = reinterpret_cast<uintptr_t>(kernels);
    out = write(out, src);
    out = write(out, dst);
    // Floats are compared by their bits, so that 0 and -0 differ and a NaN equals itself.
    *out++ = a.padding.value.second_word();
    *out++ = a.padding.value.first_word() << 8 | static_cast<uint64_t>(a.padding.kind);
    *out++ = std::bit_cast<uint64_t>(a.beta);
    size_ = static_cast<std::size_t>(out - words_);
  }

  std::span<const uint64_t> all() const { return {words_, size_}; }

  /// The hash. Finding an entry must be fast, and nobody chooses keys to cause collisions. So there is one
  /// multiplication a word, in two chains that do not wait for each other.
  uint64_t hash() const {
    uint64_t a = 0xe7037ed1a0b428dbu, b = 0x8ebc6af09c88c6e3u;
    std::size_t k = 0;
    for (; k + 1 < size_; k += 2) {
      a = (a ^ words_[k]) * 0x9e3779b97f4a7c15u;
      b = (b ^ words_[k + 1]) * 0xd1b54a32d192ed03u;
    }
    if (k < size_) a = (a ^ words_[k]) * 0x9e3779b97f4a7c15u;
    // In a product, only the upper bits depend on all bits of the factors. So the upper half is mixed into the lower
    // half, which chooses the bucket.
    const uint64_t both = a ^ std::rotl(b, 32);
    return (both ^ both >> 32) * 0xa0761d6478bd642fu >> 8;
  }

 private:
  /// Writes all of a side; returns where the next words go.
  static uint64_t* write(uint64_t* out, const TensorDesc& desc) {
    const Layout& layout = desc.layout;
    const int ndims = layout.ndims();
    uint64_t* const counts = out;  // of the digits of each dim, a byte each
    out[0] = static_cast<uint64_t>(desc.dtype) << 8 | static_cast<uint64_t>(ndims);
    out[1] = 0;
    out[2] = static_cast<uint64_t>(layout.offset0());
    out += 3;
    if (layout.swizzled()) {
      const Swizzle& swizzle = layout.swizzle();
      const auto byte = [](int value, int at) { return uint64_t{static_cast<uint8_t>(value)} << (8 * at); };
      out[-3] |= 1 << 16;
      *out++ = byte(swizzle.bits(), 0) | byte(swizzle.base(), 1) | byte(swizzle.shift(), 2);
    }
    static_assert(kMaxDims <= 4 + 8);
    for (int d = 0; d < ndims; ++d) {
      const auto digits = layout.digits_under_swizzle(d);
      counts[d < 4 ? 0 : 1] += digits.size() << (d < 4 ? 32 + 8 * d : 8 * (d - 4));
      *out++ = static_cast<uint64_t>(layout.dim(d));
      for (const Digit *digit = digits.data(), *end = digit + digits.size(); digit != end; ++digit) {
        *out++ = static_cast<uint64_t>(digit->extent);
        *out++ = static_cast<uint64_t>(digit->stride);
      }
    }
    return out;
  }

  // Not cleared, because most of it is never used.
  uint64_t words_[4 + 2 * (4 + kMaxDims + 2 * kMaxDigits)];
  std::size_t size_;
};

/// Equal byte for byte.
template <typename T>
bool same(std::span<const T> a, std::span<const T> b) {
  static_assert(std::is_trivially_copyable_v<T>);
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

bool same(const PerMask& a, const PerMask& b) {
  return a.mask == b.mask && a.groups == b.groups && same(std::span(a.values), std::span(b.values));
}

/// A mask without values is an error that make_plan() reports; it must not be taken for the attributes without any.
bool given(const PerMask& a) { return a.mask != 0 || !a.values.empty() || !a.groups.empty(); }

bool has_values(const Attributes& a) {
  return given(a.src_scale) || given(a.dst_scale) || given(a.src_zero_point) || given(a.dst_zero_point) ||
         given(a.mean);
}

bool same_values(const Attributes& a, const Attributes& b) {
  return same(a.src_scale, b.src_scale) && same(a.dst_scale, b.dst_scale) && same(a.src_zero_point, b.src_zero_point) &&
         same(a.dst_zero_point, b.dst_zero_point) && same(a.mean, b.mean);
}

uint64_t hash_of_values(const Attributes& a) {
  uint64_t hash = 0;
  const auto add = [&](const auto& values) {
    hash = (hash ^ values.mask) * 0x9e3779b97f4a7c15u + values.values.size();
    for (const int64_t group : values.groups) hash = (hash ^ static_cast<uint64_t>(group)) * 0xd1b54a32d192ed03u;
    for (const auto value : values.values) hash = (hash ^ std::bit_cast<uint64_t>(value)) * 0xd1b54a32d192ed03u;
  };
  add(a.src_scale), add(a.dst_scale), add(a.src_zero_point), add(a.dst_zero_point), add(a.mean);
  return hash ^ hash >> 32;
}

int64_t bytes_of(std::span<const BoxPlan> boxes);

int64_t bytes_of(const auto&) { return 0; }
int64_t bytes_of(const LineProgram& program) {
  return static_cast<int64_t>(program.lines.size() * sizeof(LineProgram::Line) + program.from.size() * sizeof(int64_t) +
                              program.indices.size() * sizeof(LineProgram::Indices));
}
int64_t bytes_of(const ProgrammedLines& method) { return bytes_of(*method.program); }
int64_t bytes_of(const Stages& method) {
  const std::size_t starts = method.in.bases.size() + method.out.bases.size();
  return static_cast<int64_t>(starts * sizeof(int64_t) + method.rests.size() * sizeof(Stages::Rest)) +
         bytes_of(method.in.period) + bytes_of(method.out.period) + bytes_of(std::span(method.moves));
}
int64_t bytes_of(const TileRuns& method) {
  auto bytes = static_cast<int64_t>(method.runs.size() * sizeof(TileRun));
  for (const TileRun& run : method.runs) bytes += bytes_of(std::span(run.boxes));
  return bytes;
}

int64_t bytes_of(std::span<const BoxPlan> boxes) {
  auto bytes = static_cast<int64_t>(boxes.size_bytes());
  for (const BoxPlan& box : boxes) bytes += std::visit([](const auto& method) { return bytes_of(method); }, box.method);
  return bytes;
}

/// The bytes that a plan has allocated; its fixed members, a few hundred bytes, are not counted.
int64_t bytes_of(const PlanData& data) {
  const Attributes& a = data.attributes();
  const std::size_t values = a.src_scale.values.size() + a.dst_scale.values.size() + a.src_zero_point.values.size() +
                             a.dst_zero_point.values.size() + a.mean.values.size();
  int64_t bytes = data.attribute_values().bytes() + data.wide_attribute_values().bytes() +
                  static_cast<int64_t>(values * sizeof(double));
  for (const Table& table : data.tables()) bytes += table.bytes();
  return bytes + bytes_of(data.boxes()) + bytes_of(data.fills()) + (data.code() ? data.code()->bytes() : 0);
}

}  // namespace

void PlanCache::Shard::insert(Entries& made) {
  if (entries.size() >= capacity) drop_last();
  Entry& entry = made.front();
  entry.place = made.begin();
  entry.next = std::exchange(bucket(entry.hash), &entry);
  entries.splice(entries.begin(), made);
}

void PlanCache::Shard::drop_last() {
  Entry& last = entries.back();
  Entry** at = &bucket(last.hash);
  while (*at != &last) at = &(*at)->next;
  *at = last.next;
  entries.pop_back();
}

void PlanCache::Shard::drop_all() {
  std::ranges::fill(buckets, nullptr);
  entries.clear();
}

PlanCache::Entry* PlanCache::Shard::find(const Key& key) {
  if (buckets.empty()) return nullptr;
  for (Entry* entry = bucket(key.hash); entry; entry = entry->next) {
    if (entry->hash != key.hash || !same(std::span<const uint64_t>(entry->words), key.words)) continue;
    if (entry->has_values != (key.values != nullptr)) continue;
    if (key.values && !same_values(entry->kept->plan().data().attributes(), *key.values)) continue;
    if (entry != &entries.front()) entries.splice(entries.begin(), entries, entry->place);
    return entry;
  }
  return nullptr;
}

Plan PlanCache::plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes) {
  if (capacity() <= 0 || attributes.indexed()) return make_plan(src, dst, attributes);
  const Words words(src, dst, attributes, &kernels());
  Key key{words.all(), nullptr, words.hash()};
  if (has_values(attributes)) {
    key.values = &attributes;
    key.hash ^= hash_of_values(attributes) >> 8;
  }
  key.hash &= hash_mask_;
  Shard& shard = shard_of(key.hash);
  // The lock is not held while a plan or its code is made, which may take long. Another thread may make the same plan
  // meanwhile: then that one stays.
  std::shared_ptr<KeptPlan> kept;
  {
    const std::lock_guard lock(shard.mutex);
    if (const Entry* found = shard.find(key)) {
      ++shard.hits;
      kept = found->kept;
    } else {
      ++shard.misses;
    }
  }
  if (kept) return kept->use();
  Plan plan = make_plan(src, dst, attributes);
  if (bytes_of(plan.data()) > kMaxPlanBytes) return plan;
  Entries made;
  made.push_back(
      {key.hash, {key.words.begin(), key.words.end()}, key.values != nullptr, std::make_shared<KeptPlan>(plan)});
  const std::lock_guard lock(shard.mutex);
  // If the capacity has changed meanwhile, the plan may belong to another shard now: then nobody would find it here.
  if (&shard_of(key.hash) == &shard && shard.capacity > 0 && !shard.find(key)) shard.insert(made);
  return plan;
}

void PlanCache::clear() {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.drop_all();
    shard.hits = shard.misses = 0;
  }
}

void PlanCache::set_capacity(int64_t capacity) {
  const auto plans = static_cast<std::size_t>(std::max<int64_t>(capacity, 0));
  const std::size_t used = plans >= kShards * kLeastShare ? kShards : 1;
  const std::lock_guard whole_change(changing_);
  capacity_.store(static_cast<int64_t>(plans));
  shard_mask_.store(used - 1);
  for (std::size_t k = 0; k < kShards; ++k) {
    const std::lock_guard lock(shards_[k].mutex);
    shards_[k].drop_all();
    const std::size_t share = k < used ? plans / used + (k < plans % used) : 0;
    shards_[k].capacity = share;
    shards_[k].buckets.assign(share > 0 ? std::bit_ceil(std::min(share, kMaxBuckets)) : 0, nullptr);
  }
}

PlanCacheStatistics PlanCache::statistics() const {
  PlanCacheStatistics out;
  const std::lock_guard no_change(changing_);
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    out.hits += shard.hits;
    out.misses += shard.misses;
    out.entries += static_cast<int64_t>(shard.entries.size());
  }
  return out;
}

PlanCache& PlanCache::shared() {
  // Never destroyed, because destructors of other static objects may still call reorder() when the process ends.
  static PlanCache& cache = *new PlanCache(kPlanCacheCapacity);
  return cache;
}

Plan cached_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes) {
  return PlanCache::shared().plan(src, dst, attributes);
}

void clear_plan_cache() { PlanCache::shared().clear(); }
void set_plan_cache_capacity(int64_t plans) { PlanCache::shared().set_capacity(plans); }
int64_t plan_cache_capacity() { return PlanCache::shared().capacity(); }
PlanCacheStatistics plan_cache_statistics() { return PlanCache::shared().statistics(); }

}  // namespace relayout::cpu
