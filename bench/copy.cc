// memcpy, and a loop with non-temporal stores in the widest registers the machine has; both split over oneTBB.
#include "bench/copy.h"

#include <algorithm>
#include <cstring>

#include "relayout/reorder/refine/nest.h"

#if RELAYOUT_HAVE_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <atomic>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace relayout::bench {
namespace {

// Through a volatile pointer, so that repeated copies are neither merged nor inlined.
void* (*volatile const library_memcpy)(void*, const void*, std::size_t) = std::memcpy;

void* (*volatile const library_memset)(void*, int, std::size_t) = std::memset;

void set_plain(std::byte* dst, const std::byte*, int64_t bytes) {
  library_memset(dst, 1, static_cast<std::size_t>(bytes));
}

void copy_plain(std::byte* dst, const std::byte* src, int64_t bytes) {
  library_memcpy(dst, src, static_cast<std::size_t>(bytes));
}

#if defined(__x86_64__)

/// The bytes that are copied in one step, and how many bytes ahead the source is prefetched (see copy.h).
constexpr int64_t kStep = 256, kAhead = 3072;

inline void prefetch_step(const std::byte* src) {
  for (int64_t at = 0; at < kStep; at += kCacheLine) __builtin_prefetch(src + at, 0, 3);
}

// The three loops below: `bytes` a multiple of kStep, dst aligned to a line.

__attribute__((target("avx512f"))) void stream_avx512(std::byte* dst, const std::byte* src, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kStep) {
    prefetch_step(src + at + kAhead);
    const __m512i a = _mm512_loadu_si512(src + at), b = _mm512_loadu_si512(src + at + 64);
    const __m512i c = _mm512_loadu_si512(src + at + 128), d = _mm512_loadu_si512(src + at + 192);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + at), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + at + 64), b);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + at + 128), c);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + at + 192), d);
  }
}

__attribute__((target("avx"))) void stream_avx(std::byte* dst, const std::byte* src, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kStep) {
    prefetch_step(src + at + kAhead);
    for (int64_t i = 0; i < kStep; i += kCacheLine) {
      const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at + i));
      const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at + i + 32));
      _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at + i), a);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at + i + 32), b);
    }
  }
}

void stream_sse2(std::byte* dst, const std::byte* src, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kStep) {
    prefetch_step(src + at + kAhead);
    for (int64_t i = 0; i < kStep; i += 16) {
      const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + at + i));
      _mm_stream_si128(reinterpret_cast<__m128i*>(dst + at + i), a);
    }
  }
}

using Stream = void (*)(std::byte*, const std::byte*, int64_t);

Stream widest_stream() {
  if (__builtin_cpu_supports("avx512f")) return stream_avx512;
  if (__builtin_cpu_supports("avx")) return stream_avx;
  return stream_sse2;
}

void copy_non_temporal(std::byte* dst, const std::byte* src, int64_t bytes) {
  static const Stream stream = widest_stream();
  const auto past_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % kCacheLine);
  const int64_t head = std::min(bytes, past_line == 0 ? 0 : kCacheLine - past_line);
  const int64_t body = (bytes - head) / kStep * kStep, tail = bytes - head - body;
  std::memcpy(dst, src, static_cast<std::size_t>(head));
  stream(dst + head, src + head, body);
  std::memcpy(dst + head + body, src + head + body, static_cast<std::size_t>(tail));
  _mm_sfence();
}

/// By stores of 16 bytes, which are enough for a loop that waits for memory.
void set_lines(std::byte* dst, const std::byte*, int64_t bytes) {
  const auto past_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % kCacheLine);
  const int64_t head = std::min(bytes, past_line == 0 ? 0 : kCacheLine - past_line);
  const int64_t body = (bytes - head) / kCacheLine * kCacheLine;
  std::memset(dst, 1, static_cast<std::size_t>(head));
  for (int64_t at = head; at < head + body; at += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst + at), _mm_set1_epi8(1));
  std::memset(dst + head + body, 1, static_cast<std::size_t>(bytes - head - body));
  _mm_sfence();
}

#else

void copy_non_temporal(std::byte* dst, const std::byte* src, int64_t bytes) { copy_plain(dst, src, bytes); }
void set_lines(std::byte* dst, const std::byte* src, int64_t bytes) { set_plain(dst, src, bytes); }

#endif

}  // namespace

bool have_non_temporal() {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

#if RELAYOUT_HAVE_TBB
/// The whole pool where that is what `threads` asks for, as the reorder does it; an arena of that many otherwise.
struct Copies::Pool {
  explicit Pool(int threads) : whole(threads >= tbb::this_task_arena::max_concurrency()), arena(threads) {}
  bool whole;
  tbb::task_arena arena;
};

namespace {

/// One copy in parts. Its own atomics order what threads see of each other's memory, so that checkers that cannot look
/// into oneTBB see it too.
class Parts {
 public:
  Parts(void (*copy)(std::byte*, const std::byte*, int64_t), std::byte* dst, const std::byte* src, int64_t bytes,
        int64_t part)
      : copy_(copy), dst_(dst), src_(src), bytes_(bytes), part_(part) {
    ready_.store(true, std::memory_order_release);
  }
  int64_t count() const { return (bytes_ + part_ - 1) / part_; }
  void run(int64_t i) {
    (void)ready_.load(std::memory_order_acquire);
    copy_(dst_ + i * part_, src_ + i * part_, std::min(part_, bytes_ - i * part_));
    done_.fetch_add(1, std::memory_order_release);
  }
  void finish() const { (void)done_.load(std::memory_order_acquire); }

 private:
  void (*copy_)(std::byte*, const std::byte*, int64_t);
  std::byte* dst_;
  const std::byte* src_;
  int64_t bytes_, part_;
  std::atomic<bool> ready_{false};
  std::atomic<int64_t> done_{0};
};

}  // namespace
#else
struct Copies::Pool {
  explicit Pool(int) {}
};
#endif

Copies::Copies(int threads) : threads_(threads), pool_(threads > 1 ? std::make_unique<Pool>(threads) : nullptr) {}
Copies::~Copies() = default;

void Copies::plain(std::byte* dst, const std::byte* src, int64_t bytes) const { split(copy_plain, dst, src, bytes); }

void Copies::non_temporal(std::byte* dst, const std::byte* src, int64_t bytes) const {
  split(copy_non_temporal, dst, src, bytes);
}

void Copies::set(std::byte* dst, int64_t bytes) const { split(set_plain, dst, dst, bytes); }

void Copies::set_non_temporal(std::byte* dst, int64_t bytes) const { split(set_lines, dst, dst, bytes); }

void Copies::split(Copy copy, std::byte* dst, const std::byte* src, int64_t bytes) const {
#if RELAYOUT_HAVE_TBB
  // In the caches a thread keeps its part; in memory more parts even out who is late.
  static constexpr int64_t kWorthSplitting = 64 << 10, kInCache = 8 << 20, kPage = 4096;
  if (pool_ && bytes >= kWorthSplitting) {
    const int64_t wanted = bytes < kInCache ? threads_ : 4 * threads_;
    const int64_t part = (bytes / wanted + kPage - 1) / kPage * kPage;
    Parts parts(copy, dst, src, bytes, part);
    const auto all = [&] {
      tbb::parallel_for(
          tbb::blocked_range<int64_t>(0, parts.count()),
          [&parts](const tbb::blocked_range<int64_t>& range) {
            for (int64_t i = range.begin(); i < range.end(); ++i) parts.run(i);
          },
          tbb::static_partitioner());
    };
    if (pool_->whole) {
      all();
    } else {
      pool_->arena.execute(all);
    }
    parts.finish();
    return;
  }
#endif
  copy(dst, src, bytes);
}

}  // namespace relayout::bench
