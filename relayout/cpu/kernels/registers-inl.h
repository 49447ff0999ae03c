// Transposing squares of elements in registers, for transpositions and tiles.
//
// A block is 16 bytes, N elements. N registers that hold, block by block, N columns of N rows each are transposed by
// log2(N) rounds of interleaving: register i with register i + N/2 moves the top bit of the row's number into the
// column's. A register of several blocks does several such squares at once; where its blocks come from different
// columns the result is longer runs of a row, up to a whole line of 64 bytes.
#if defined(RELAYOUT_CPU_KERNELS_REGISTERS) == defined(HWY_TARGET_TOGGLE)
#ifdef RELAYOUT_CPU_KERNELS_REGISTERS
#undef RELAYOUT_CPU_KERNELS_REGISTERS
#else
#define RELAYOUT_CPU_KERNELS_REGISTERS
#endif

#include "relayout/cpu/kernels/common-inl.h"

namespace {

/// Rows or columns that are a fixed distance apart. It replaces a list, so that addresses need not be loaded.
struct Affine {
  int64_t stride;
  RELAYOUT_INLINE int64_t operator[](int64_t i) const { return i * stride; }
};

#if RELAYOUT_KERNELS_SIMD

/// Registers of one kind, 16 at most.
template <class D>
struct Registers {
  hn::Vec<D> v[16];
};

template <int kN, int kRound = 1, class D>
HWY_INLINE void interleave_rounds(D d, Registers<D>& a) {
  if constexpr (kRound < kN) {
    Registers<D> b;
    for (int i = 0; i < kN / 2; ++i) {
      b.v[2 * i] = hn::InterleaveLower(d, a.v[i], a.v[i + kN / 2]);
      b.v[2 * i + 1] = hn::InterleaveUpper(d, a.v[i], a.v[i + kN / 2]);
    }
    interleave_rounds<kN, 2 * kRound>(d, b);
    a = b;
  }
}

/// Loads a register whose block b is the 16 bytes at src + cols[first + b * kStep].
template <int kStep, class D, class Columns>
HWY_INLINE hn::Vec<D> load_blocks(D d, const std::byte* src, Columns cols, int first) {
  using T = hn::TFromD<D>;
  constexpr int kCount = static_cast<int>(hn::MaxLanes(d) * sizeof(T) / 16);
  if constexpr (kCount == 1) return hn::LoadU(d, as<T>(src + cols[first]));
#if HWY_TARGET <= HWY_AVX2
  if constexpr (kCount == 2) {
    const Block16<T> block;
    return hn::Combine(d, hn::LoadU(block, as<T>(src + cols[first + kStep])),
                       hn::LoadU(block, as<T>(src + cols[first])));
  }
#endif
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kCount == 4) {
    const auto at = [&](int b) HWY_ATTR {
      return hn::LoadU(Block16<uint8_t>(), as<uint8_t>(src + cols[first + b * kStep])).raw;
    };
    __m512i v = _mm512_castsi128_si512(at(0));
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, at(1));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, at(2));
    return hn::Vec<D>{_mm512_mask_broadcast_i32x4(v, 0xf000, at(3))};
  }
#endif
}

#if HWY_TARGET <= HWY_AVX2

/// Block b of a register.
template <int kIndex, class D>
HWY_INLINE hn::Vec<Block16<uint8_t>> block_of(D d, hn::Vec<D> v) {
  constexpr std::size_t kCount = hn::MaxLanes(d) / 16;
  const hn::Half<D> half;
  if constexpr (kCount == 1)
    return v;
  else if constexpr (kIndex < static_cast<int>(kCount / 2))
    return block_of<kIndex>(half, hn::LowerHalf(half, v));
  else
    return block_of<kIndex - static_cast<int>(kCount / 2)>(half, hn::UpperHalf(half, v));
}

#endif

/// The first `bytes` of 16.
template <class D>
HWY_INLINE void store_partial(hn::Vec<D> v, D d, std::byte* to, int bytes) {
#if HWY_TARGET <= HWY_AVX3
  (void)d;
  _mm_mask_storeu_epi8(to, static_cast<__mmask16>((1u << bytes) - 1), v.raw);
#else
  using T = hn::TFromD<D>;
  if (bytes >= 16) return hn::StoreU(v, d, as<T>(to));
  alignas(16) std::byte buffer[16];
  hn::Store(v, d, as<T>(buffer));
  copy_short(buffer, to, bytes);
#endif
}

/// Whether the entries of a list, at least two, are a fixed distance apart.
HWY_INLINE bool even(const int64_t* list, int64_t count) {
  const int64_t stride = list[1] - list[0];
  int64_t uneven = 0;
  for (int64_t i = 2; i < count; ++i) uneven |= list[i] - list[0] - i * stride;
  return uneven == 0;
}

#if HWY_TARGET <= HWY_AVX3

/// Transposes the blocks of four registers: block b of register g becomes block g of register b.
template <class V>
HWY_INLINE void transpose_blocks(V& a, V& b, V& c, V& d) {
  const __m512i t0 = _mm512_shuffle_i32x4(a.raw, b.raw, 0x88), t1 = _mm512_shuffle_i32x4(a.raw, b.raw, 0xdd);
  const __m512i t2 = _mm512_shuffle_i32x4(c.raw, d.raw, 0x88), t3 = _mm512_shuffle_i32x4(c.raw, d.raw, 0xdd);
  a.raw = _mm512_shuffle_i32x4(t0, t2, 0x88);
  b.raw = _mm512_shuffle_i32x4(t1, t3, 0x88);
  c.raw = _mm512_shuffle_i32x4(t0, t2, 0xdd);
  d.raw = _mm512_shuffle_i32x4(t1, t3, 0xdd);
}

#endif

#endif

}  // namespace

#endif
