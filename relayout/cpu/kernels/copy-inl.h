// A family of kernels (common-inl.h): regions of runs that are copied, permuted or filled.

#include "relayout/cpu/kernels/common-inl.h"

namespace {

/// Copies 64 bytes or more.
RELAYOUT_INLINE void copy_lines(const std::byte* src, std::byte* dst, int64_t n) {
  for (int64_t i = 0; i + kCacheLine < n; i += kCacheLine) copy_line(src + i, dst + i);
  copy_line(src + n - kCacheLine, dst + n - kCacheLine);
}

/// Calls `one` for every run of a region.
template <typename One>
RELAYOUT_INLINE void each_run(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                              Starts dst_cols, int64_t rows, int64_t cols, int64_t bytes, int64_t ahead, One one) {
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte* from = src + src_rows[r];
    std::byte* to = dst + dst_rows[r];
    for (int64_t c = 0; c < cols; ++c) {
      if (ahead != 0) {
        for (int64_t b = 0; b < bytes; b += kCacheLine) prefetch(from + src_cols[c] + ahead + b);
      }
      one(from + src_cols[c], to + dst_cols[c]);
    }
  }
}

/// Copies runs of `bytes` bytes. each(one) must call `one` for every run.
template <typename Each>
RELAYOUT_INLINE void copy_each(int64_t bytes, Each each) {
  const auto whole = [&]<typename T>(T) __attribute__((always_inline)) {
    each([](const std::byte* from, std::byte* to) { store_unaligned(to, load_unaligned<T>(from)); });
  };
  switch (bytes) {
    case 1: return whole(uint8_t());
    case 2: return whole(uint16_t());
    case 4: return whole(uint32_t());
    case 8: return whole(uint64_t());
    case 16: return whole(Bytes16());
    case 32: return whole(Bytes32());
    case 64: return each([](const std::byte* from, std::byte* to) RELAYOUT_ATTR { copy_line(from, to); });
    default: break;
  }
  // Copies like copy_short(), but the size of the moves is chosen once for all runs.
  const auto by = [&]<typename T>(T) __attribute__((always_inline)) {
    const int64_t last = bytes - static_cast<int64_t>(sizeof(T));
    each([=](const std::byte* from, std::byte* to) {
      const T head = load_unaligned<T>(from), tail = load_unaligned<T>(from + last);
      store_unaligned(to, head);
      store_unaligned(to + last, tail);
    });
  };
  if (bytes >= 1024)  // of long runs the C library has the best copy for this machine
    each([=](const std::byte* from, std::byte* to) { __builtin_memcpy(to, from, static_cast<std::size_t>(bytes)); });
  else if (bytes > kCacheLine)
    each([=](const std::byte* from, std::byte* to) RELAYOUT_ATTR { copy_lines(from, to, bytes); });
  else if (bytes > 32)
    by(Bytes32());
  else if (bytes > 16)
    by(Bytes16());
  else if (bytes >= 8)
    by(uint64_t());
  else if (bytes >= 4)
    by(uint32_t());
  else if (bytes >= 2)
    by(uint16_t());
}

void copy(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows, Starts dst_cols,
          int64_t rows, int64_t cols, int64_t bytes, int64_t ahead) {
  copy_each(
      bytes, [&](auto one) __attribute__((always_inline)) {
        each_run(src, src_rows, src_cols, dst, dst_rows, dst_cols, rows, cols, bytes, ahead, one);
      });
}

void copy_strided(const std::byte* src, Steps2 src_steps, std::byte* dst, Steps2 dst_steps, int64_t rows, int64_t cols,
                  int64_t bytes) {
  const int64_t src_row = src_steps[0], src_col = src_steps[1];
  const int64_t dst_row = dst_steps[0], dst_col = dst_steps[1];
  copy_each(
      bytes, [&](auto one) __attribute__((always_inline)) {
        for (int64_t r = 0; r < rows; ++r) {
          const std::byte* from = src + r * src_row;
          std::byte* to = dst + r * dst_row;
          int64_t c = 0;
          for (; c + 4 <= cols; c += 4) {
            one(from, to);
            one(from + src_col, to + dst_col);
            one(from + 2 * src_col, to + 2 * dst_col);
            one(from + 3 * src_col, to + 3 * dst_col);
            from += 4 * src_col;
            to += 4 * dst_col;
          }
          for (; c < cols; ++c, from += src_col, to += dst_col) one(from, to);
        }
      });
}

void fill(std::byte* dst, Starts dst_rows, Starts dst_cols, int64_t rows, int64_t cols, int64_t last_col, uint64_t mask,
          uint64_t bits, [[maybe_unused]] bool stream) {
  const auto each = [&](auto one) __attribute__((always_inline)) {
    for (int64_t r = 0; r < rows; ++r) {
      std::byte* const to = dst + dst_rows[r];
      for (int64_t c = 0; c < cols; ++c) one(to + std::min(dst_cols[c], last_col));
    }
  };
#if RELAYOUT_KERNELS_SIMD
  if (mask == ~uint64_t{0} && stream) {
    const Wide<uint64_t> wide;
    const auto value = hn::Set(wide, bits);
    return each([=](std::byte* to) HWY_ATTR {
      const bool line = reinterpret_cast<uintptr_t>(to) % kCacheLine == 0;
      for (int64_t i = 0; i < kCacheLine; i += 16 * kBlocks) {
        if (line)
          put<true>(value, wide, as<uint64_t>(to + i));
        else
          put<false>(value, wide, as<uint64_t>(to + i));
      }
    });
  }
#endif
#if RELAYOUT_KERNELS_SIMD && HWY_TARGET <= HWY_AVX3
  const __m512i value = _mm512_set1_epi64(static_cast<int64_t>(bits));
  if (mask == ~uint64_t{0}) return each([=](std::byte* to) HWY_ATTR { _mm512_storeu_si512(to, value); });
  each([=](std::byte* to) HWY_ATTR { _mm512_mask_storeu_epi8(to, mask, value); });
#else
  std::byte value[kCacheLine + 8];
  for (int64_t i = 0; i <= kCacheLine; i += 8) store_unaligned(value + i, bits);
  struct {
    int8_t first, bytes;
  } runs[kCacheLine / 2];
  int count = 0;
  for (int first = 0; first < kCacheLine && mask >> first != 0;) {
    first += std::countr_zero(mask >> first);
    const int n = std::countr_one(mask >> first);
    runs[count++] = {static_cast<int8_t>(first), static_cast<int8_t>(n)};
    first += n;
  }
  each([&](std::byte * to) __attribute__((always_inline)) {
    for (int i = 0; i < count; ++i) copy_short(value + runs[i].first % 8, to + runs[i].first, runs[i].bytes);
  });
#endif
}

#include "relayout/cpu/kernels/line_program-inl.h"
#include "relayout/cpu/kernels/repeat-inl.h"
#include "relayout/cpu/kernels/sub_byte-inl.h"

#if RELAYOUT_KERNELS_SIMD

#include "relayout/cpu/kernels/copy_stream-inl.h"

void flush() { hwy::FlushStream(); }

#endif

}  // namespace

void add_copies(Kernels& k) {
  k.copy = &copy;
  k.copy_strided = &copy_strided;
  k.fill = &fill;
  k.values = 1;
  k.repeat = &repeat<false>;
  k.line_program = {&line_program_plain<16>, &line_program_plain<64>};
  add_packing<1>(k);
  add_packing<2>(k);
  add_packing<4>(k);
  add_packing<6>(k);
#if RELAYOUT_KERNELS_SIMD
  k.copy_stream = &copy_stream;
  k.repeat_stream = &repeat<true>;
  k.flush = &flush;
  k.permuted_bytes = kPermutedBytes;
  k.values = HWY_LANES(float);
  k.line_program[0] = &line_program16;
#if HWY_TARGET <= HWY_AVX3_DL
  k.line_program[1] = &line_program64;
#endif
#endif
}
