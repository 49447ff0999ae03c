// Elements that are a fixed distance apart, moved one by one (internal to cpu): single channels, every second element,
// runs that go backwards. A fixed distance needs no list of where the elements are. Runs that go backwards are reversed
// 8 bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace relayout::cpu {

/// The elements of T in a word in reverse order.
template <typename T>
inline uint64_t reversed(uint64_t word) {
  if constexpr (sizeof(T) == 1) return __builtin_bswap64(word);
  word = word << 32 | word >> 32;
  constexpr uint64_t kLow = 0x0000ffff0000ffff;
  return sizeof(T) == 2 ? (word & kLow) << 16 | (word >> 16 & kLow) : word;
}

/// Copies n elements of T, which lie kStep elements apart, to a dense run.
template <typename T, int64_t kStep>
void gather_dense_run(const std::byte* src, std::byte* dst, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(dst + i * static_cast<int64_t>(sizeof(T)), src + i * kStep * static_cast<int64_t>(sizeof(T)),
                sizeof(T));
}

/// Copies n elements of T: element i goes from src + i * src_step to dst + i * dst_step, in bytes. Other bytes are
/// neither read nor written.
template <typename T>
void gather_run(const std::byte* src, int64_t src_step, std::byte* dst, int64_t dst_step, int64_t n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T)), kWord = static_cast<int64_t>(sizeof(uint64_t));
  if constexpr (kSize < kWord) {
    if (dst_step == kSize && src_step == -kSize) {
      constexpr int64_t kMany = kWord / kSize;
      for (; n >= kMany; n -= kMany, src -= kWord, dst += kWord) {
        uint64_t word;
        std::memcpy(&word, src - kWord + kSize, sizeof word);
        word = reversed<T>(word);
        std::memcpy(dst, &word, sizeof word);
      }
    }
  }
  // A constant step lets the compiler vectorize the loop, which gains nothing for larger elements.
  if constexpr (kSize <= 2) {
    if (dst_step == kSize && src_step == 2 * kSize) return gather_dense_run<T, 2>(src, dst, n);
    if (dst_step == kSize && src_step == 4 * kSize) return gather_dense_run<T, 4>(src, dst, n);
  }
#pragma GCC ivdep
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_step, src + i * src_step, sizeof(T));
}

}  // namespace relayout::cpu
