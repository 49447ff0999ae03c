// The loop around the steps of a pair of types: turns of a line or more. A part of
// convert-inl.h.

namespace {

/// Converts a run of n elements, at least How::kCount, by turns that read or write a line or more of How::kWidest. The
/// last turn converts some elements for the second time.
template <class How>
HWY_INLINE void convert_run(const How& how, const std::byte* from, std::byte* to, int64_t n, int64_t ahead) {
  constexpr int64_t kSrc = How::kSrc, kDst = How::kDst, kCount = How::kCount;
  constexpr int64_t kEach = How::kJoins ? static_cast<int64_t>(HWY_LANES(uint8_t)) / kDst : kCount;
  constexpr int64_t kTurn = std::max(kEach, kCacheLine / How::kWidest);
  int64_t i = 0;
  if (kTurn == kCount || n >= kTurn) {
    for (;;) {
      if (ahead != 0) {
        for (int64_t b = 0; b < kTurn * kSrc; b += kCacheLine) prefetch(from + i * kSrc + ahead + b);
      }
#pragma GCC unroll 16
      for (int64_t k = 0; k < kTurn; k += kEach) {
        const std::byte* const at = from + (i + k) * kSrc;
        if constexpr (How::kJoins)
          hn::StoreU(how.joined(at, i + k), Wide<uint8_t>(), as<uint8_t>(to + (i + k) * kDst));
        else
          how.step(at, to + (i + k) * kDst, i + k);
      }
      i += kTurn;
      if (i <= n - kTurn) continue;
      if (i >= n) return;
      i = n - kTurn;
    }
  }
  if constexpr (kTurn != kCount) {
    for (;;) {
      how.step(from + i * kSrc, to + i * kDst, i);
      i += kCount;
      if (i <= n - kCount) continue;
      if (i >= n) return;
      i = n - kCount;
    }
  }
}

}  // namespace
