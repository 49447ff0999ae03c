// Permutation of groups of up to 64 bytes that follow each other, for tiles-inl.h.

#if RELAYOUT_KERNELS_SIMD && HWY_TARGET <= HWY_AVX3_DL

void regroup(const std::byte* src, std::byte* dst, int64_t groups, int64_t bytes, const uint8_t* pattern) {
  const __m512i index = _mm512_loadu_si512(pattern);
  for (int64_t g = 0; g < groups; ++g)
    _mm512_storeu_si512(dst + g * bytes, _mm512_permutexvar_epi8(index, _mm512_loadu_si512(src + g * bytes)));
}

#elif RELAYOUT_KERNELS_SIMD

/// Permutes groups of up to kCount blocks of 16 bytes. Each block of the result is put together of bytes of all blocks
/// of the group.
template <int kCount>
HWY_INLINE void regroup_of(const std::byte* src, std::byte* dst, int64_t groups, int64_t bytes,
                           const uint8_t* pattern) {
  const Block16<uint8_t> d;
  // index[b][k] picks from block k of the group the bytes of block b of the result; bytes that come from other blocks
  // become 0.
  alignas(16) uint8_t index[kCount][kCount][16];
  for (int to = 0; to < kCount; ++to) {
    for (int from = 0; from < kCount; ++from) {
      for (int i = 0; i < 16; ++i) {
        const int at = pattern[16 * to + i] - 16 * from;
        index[to][from][i] = static_cast<uint8_t>(at >= 0 && at < 16 ? at : 0x80);
      }
    }
  }
  for (int64_t g = 0; g < groups; ++g) {
    struct {
      hn::Vec<Block16<uint8_t> > v[kCount];
    } in;
    for (int k = 0; k < kCount; ++k) in.v[k] = hn::LoadU(d, as<uint8_t>(src + g * bytes + 16 * k));
    for (int to = 0; to < kCount; ++to) {
      auto out = hn::TableLookupBytesOr0(in.v[0], hn::Load(d, index[to][0]));
      for (int k = 1; k < kCount; ++k) out = hn::Or(out, hn::TableLookupBytesOr0(in.v[k], hn::Load(d, index[to][k])));
      hn::StoreU(out, d, as<uint8_t>(dst + g * bytes + 16 * to));
    }
  }
}

void regroup(const std::byte* src, std::byte* dst, int64_t groups, int64_t bytes, const uint8_t* pattern) {
  if (bytes <= 16) return regroup_of<1>(src, dst, groups, bytes, pattern);
  if (bytes <= 32) return regroup_of<2>(src, dst, groups, bytes, pattern);
  if (bytes <= 48) return regroup_of<3>(src, dst, groups, bytes, pattern);
  regroup_of<4>(src, dst, groups, bytes, pattern);
}

#else

void regroup(const std::byte* src, std::byte* dst, int64_t groups, int64_t bytes, const uint8_t* pattern) {
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t i = 0; i < bytes; ++i) dst[g * bytes + i] = src[g * bytes + pattern[i]];
  }
}

#endif
