// Interleaving a few columns into rows that follow each other, and back: two to four, five, seven or nine.
#if defined(RELAYOUT_CPU_KERNELS_INTERLEAVE) == defined(HWY_TARGET_TOGGLE)
#ifdef RELAYOUT_CPU_KERNELS_INTERLEAVE
#undef RELAYOUT_CPU_KERNELS_INTERLEAVE
#else
#define RELAYOUT_CPU_KERNELS_INTERLEAVE
#endif

#include "relayout/cpu/kernels/common-inl.h"

namespace {

/// dst[r * kCols + c] = src[cols[c] + r], one by one.
template <typename T, int kCols>
RELAYOUT_INLINE void interleave_plain(const std::byte* src, const int64_t* src_cols, std::byte* dst, int64_t begin,
                                      int64_t end) {
  constexpr int64_t kSize = sizeof(T);
  for (int64_t r = begin; r < end; ++r) {
    for (int c = 0; c < kCols; ++c)
      store_unaligned(dst + (r * kCols + c) * kSize, load_unaligned<T>(src + src_cols[c] + r * kSize));
  }
}

/// dst[rows[r] + c] = src[c * kRows + r], one by one.
template <typename T, int kRows>
RELAYOUT_INLINE void deinterleave_plain(const std::byte* src, std::byte* dst, const int64_t* dst_rows, int64_t begin,
                                        int64_t end) {
  constexpr int64_t kSize = sizeof(T);
  for (int64_t c = begin; c < end; ++c) {
    for (int r = 0; r < kRows; ++r)
      store_unaligned(dst + dst_rows[r] + c * kSize, load_unaligned<T>(src + (c * kRows + r) * kSize));
  }
}

#if RELAYOUT_KERNELS_SIMD

/// K registers of one kind.
template <class D, int kK>
struct Few {
  hn::Vec<D> v[kK];
};

#include "relayout/cpu/kernels/interleave_odd-inl.h"

#if HWY_TARGET <= HWY_AVX3_DL

/// Says, for each of K lines, which bytes of K registers it has. index[line][p] are the bytes within the pair p of
/// registers (0 to 127), and bit b of second[line] says that byte b comes from the second pair.
template <int64_t kSize, int kK, bool kBack>
struct InterleaveBytes {
  alignas(64) uint8_t index[kK][2][64] = {};
  uint64_t second[kK] = {};

  constexpr InterleaveBytes() {
    for (int64_t line = 0; line < kK; ++line) {
      for (int64_t b = 0; b < 64; ++b) {
        const int64_t lanes = 64 / kSize;
        // Byte b of this line belongs to element e of all K lines.
        const int64_t e = (line * 64 + b) / kSize;
        const int64_t from = kBack ? e % lanes * kK + e / lanes : e % kK * lanes + e / kK;
        const int64_t byte = from * kSize + b % kSize, pair = byte / 128;
        const auto l = static_cast<std::size_t>(line);
        index[l][pair][b] = static_cast<uint8_t>(byte % 128);
        second[l] |= static_cast<uint64_t>(pair) << b;
      }
    }
  }
};

template <int64_t kSize, bool kBack, class D, int kK>
HWY_INLINE Few<D, kK> permute_interleaved(D, const Few<D, kK>& in) {
  static constexpr InterleaveBytes<kSize, kK, kBack> kBytes;
  Few<D, kK> out;
  for (std::size_t i = 0; i < kK; ++i) {
    out.v[i].raw = _mm512_permutex2var_epi8(in.v[0].raw, _mm512_load_si512(kBytes.index[i][0]), in.v[1].raw);
    const __m512i index = _mm512_load_si512(kBytes.index[i][1]);
    if constexpr (kK == 3)
      out.v[i].raw = _mm512_mask_permutexvar_epi8(out.v[i].raw, kBytes.second[i], index, in.v[2].raw);
    if constexpr (kK == 4) {
      const __m512i other = _mm512_permutex2var_epi8(in.v[2].raw, index, in.v[3].raw);
      out.v[i].raw = _mm512_mask_mov_epi8(out.v[i].raw, kBytes.second[i], other);
    }
  }
  return out;
}

/// Stores the rows that one register of each of K columns has.
template <bool kStream, int kK, class D, typename T>
HWY_INLINE void store_interleaved(D d, const Few<D, kK>& in, T* to) {
  const auto out = permute_interleaved<sizeof(T), false>(d, in);
  for (int i = 0; i < kK; ++i) put<kStream>(out.v[i], d, to + i * static_cast<int64_t>(hn::MaxLanes(d)));
}
template <int kK, class D, typename T>
HWY_INLINE Few<D, kK> load_interleaved(D d, const T* from) {
  Few<D, kK> in;
  for (int i = 0; i < kK; ++i) in.v[i] = hn::LoadU(d, from + i * static_cast<int64_t>(hn::MaxLanes(d)));
  return permute_interleaved<sizeof(T), true>(d, in);
}

#else

template <bool kStream, int kK, class D, typename T>
HWY_INLINE void store_interleaved(D d, const Few<D, kK>& in, T* to) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  alignas(64) T buffer[static_cast<std::size_t>(kK * kLanes)];
  T* const at = kStream ? buffer : to;
  if constexpr (kK == 2) hn::StoreInterleaved2(in.v[0], in.v[1], d, at);
  if constexpr (kK == 3) hn::StoreInterleaved3(in.v[0], in.v[1], in.v[2], d, at);
  if constexpr (kK == 4) hn::StoreInterleaved4(in.v[0], in.v[1], in.v[2], in.v[3], d, at);
  if constexpr (kStream) {
    for (int64_t i = 0; i < kK * kLanes; i += kLanes) hn::Stream(hn::Load(d, buffer + i), d, to + i);
  }
}
template <int kK, class D, typename T>
HWY_INLINE Few<D, kK> load_interleaved(D d, const T* from) {
  Few<D, kK> out;
  if constexpr (kK == 2) hn::LoadInterleaved2(d, from, out.v[0], out.v[1]);
  if constexpr (kK == 3) hn::LoadInterleaved3(d, from, out.v[0], out.v[1], out.v[2]);
  if constexpr (kK == 4) hn::LoadInterleaved4(d, from, out.v[0], out.v[1], out.v[2], out.v[3]);
  return out;
}

#endif

/// Interleaves rows [begin, end), which are a whole number of registers. With kStream, they are whole lines of the
/// destination and are written past the cache.
template <typename T, int kCols, bool kStream>
HWY_INLINE void interleave_rows(const std::byte* src, const int64_t* src_cols, std::byte* dst, int64_t begin,
                                int64_t end) {
  const Wide<T> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Wide<T>()));
  constexpr int64_t kSize = sizeof(T);
  for (int64_t r = begin; r < end; r += kLanes) {
    Few<Wide<T>, kCols> in;
    for (int c = 0; c < kCols; ++c) in.v[c] = hn::LoadU(d, as<T>(src + src_cols[c] + r * kSize));
    if constexpr (kCols > 4)
      store_odd(d, in, as<T>(dst + r * kCols * kSize), std::make_index_sequence<kCols>());
    else
      store_interleaved<kStream>(d, in, as<T>(dst + r * kCols * kSize));
  }
}

template <typename T, int kCols>
void interleave(const std::byte* src, const int64_t* src_cols, std::byte* dst, int64_t rows) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Wide<T>()));
  const int64_t whole = rows / kLanes * kLanes;
  interleave_rows<T, kCols, false>(src, src_cols, dst, 0, whole);
  if (whole == rows) return;
  // The last register starts earlier, so that it is full, and does some rows a second time.
  if (whole > 0) return interleave_rows<T, kCols, false>(src, src_cols, dst, rows - kLanes, rows);
  interleave_plain<T, kCols>(src, src_cols, dst, 0, rows);
}

/// Interleaves like interleave(), but writes whole lines past the cache. Where no row starts at a line, it writes
/// everything through the cache.
template <typename T, int kCols>
void interleave_stream(const std::byte* src, const int64_t* src_cols, std::byte* dst, int64_t rows) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Wide<T>()));
  constexpr int64_t kRow = kCols * static_cast<int64_t>(sizeof(T));
  int64_t first = 0;
  while (first < kCacheLine && (reinterpret_cast<intptr_t>(dst) + first * kRow) % kCacheLine != 0) ++first;
  if (first == kCacheLine || first >= rows) return interleave<T, kCols>(src, src_cols, dst, rows);
  const int64_t end = first + (rows - first) / kLanes * kLanes;
  interleave_plain<T, kCols>(src, src_cols, dst, 0, first);
  interleave_rows<T, kCols, true>(src, src_cols, dst, first, end);
  interleave_plain<T, kCols>(src, src_cols, dst, end, rows);
}

/// Deinterleaves columns [begin, end), which are a whole number of registers. With kStream, they are whole lines of
/// each row and are written past the cache.
template <typename T, int kRows, bool kStream>
HWY_INLINE void deinterleave_cols(const std::byte* src, std::byte* dst, const int64_t* dst_rows, int64_t begin,
                                  int64_t end) {
  const Wide<T> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Wide<T>()));
  constexpr int64_t kSize = sizeof(T);
  for (int64_t c = begin; c < end; c += kLanes) {
    const auto out = [&] HWY_ATTR {
      const T* const from = as<T>(src + c * kRows * kSize);
      if constexpr (kRows > 4)
        return load_odd<kRows>(d, from, std::make_index_sequence<kRows>());
      else
        return load_interleaved<kRows>(d, from);
    }();
    for (int r = 0; r < kRows; ++r) put<kStream>(out.v[r], d, as<T>(dst + dst_rows[r] + c * kSize));
  }
}

template <typename T, int kRows>
void deinterleave(const std::byte* src, std::byte* dst, const int64_t* dst_rows, int64_t cols) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Wide<T>()));
  const int64_t whole = cols / kLanes * kLanes;
  deinterleave_cols<T, kRows, false>(src, dst, dst_rows, 0, whole);
  if (whole == cols) return;
  if (whole > 0) return deinterleave_cols<T, kRows, false>(src, dst, dst_rows, cols - kLanes, cols);
  deinterleave_plain<T, kRows>(src, dst, dst_rows, 0, cols);
}

/// Deinterleaves past the cache. Rows start at lines and are whole lines.
template <typename T, int kRows>
void deinterleave_stream(const std::byte* src, std::byte* dst, const int64_t* dst_rows, int64_t cols) {
  deinterleave_cols<T, kRows, true>(src, dst, dst_rows, 0, cols);
}

#else

template <typename T, int kCols>
void interleave(const std::byte* src, const int64_t* src_cols, std::byte* dst, int64_t rows) {
  interleave_plain<T, kCols>(src, src_cols, dst, 0, rows);
}

template <typename T, int kRows>
void deinterleave(const std::byte* src, std::byte* dst, const int64_t* dst_rows, int64_t cols) {
  deinterleave_plain<T, kRows>(src, dst, dst_rows, 0, cols);
}

#endif  // RELAYOUT_KERNELS_SIMD

}  // namespace

#endif
