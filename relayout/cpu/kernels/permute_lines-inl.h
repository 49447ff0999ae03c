// Makes lines of the destination by byte permutations of stretches of the source (PermutedLine), for copy-inl.h: whole
// lines where one instruction permutes the bytes of two registers, otherwise 16 bytes at a time.

/// How many bytes ahead of each stretch the source is prefetched.
constexpr int64_t kPermuteAhead = 4 << 10;

#if HWY_TARGET <= HWY_AVX3_DL

constexpr int64_t kPermutedBytes = kCacheLine;

template <int kStretches>
HWY_INLINE __m512i permuted_line(const std::byte* src, const PermutedLine& line) {
  const auto stretch = [&](int k) HWY_ATTR {
    prefetch(src + line.from[k] + kPermuteAhead);
    return _mm512_maskz_loadu_epi8(line.mask[k], src + line.from[k]);
  };
  const __m512i index = _mm512_load_si512(line.index[0]);
  if constexpr (kStretches == 1) return _mm512_permutexvar_epi8(index, stretch(0));
  const __m512i out = _mm512_permutex2var_epi8(stretch(0), index, stretch(1));
  if constexpr (kStretches <= 2) return out;
  const __m512i later = _mm512_load_si512(line.index[1]);
  if constexpr (kStretches == 3) return _mm512_mask_permutexvar_epi8(out, line.later, later, stretch(2));
  return _mm512_mask_mov_epi8(out, line.later, _mm512_permutex2var_epi8(stretch(2), later, stretch(3)));
}

template <int kStretches, PermutedLines::Store kStore>
HWY_INLINE void make_line(const std::byte* src, std::byte* dst, const PermutedLine& line, const PermutedLines& lines) {
  const __m512i fill = _mm512_set1_epi8(static_cast<char>(lines.fill));
  const __m512i made = _mm512_mask_mov_epi8(permuted_line<kStretches>(src, line), line.filled, fill);
  if constexpr (kStore == PermutedLines::Store::past_cache)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), made);
  else if constexpr (kStore == PermutedLines::Store::whole)
    _mm512_storeu_si512(dst, made);
  else
    _mm512_mask_storeu_epi8(dst, line.written, made);
}

#else

constexpr int64_t kPermutedBytes = 16;

/// Loads 16 bytes, but reads none from `end` on.
HWY_INLINE hn::Vec<Block16<uint8_t> > stretch_before(const std::byte* from, const std::byte* end) {
  const Block16<uint8_t> d;
  if (HWY_LIKELY(end - from >= 16)) return hn::LoadU(d, as<uint8_t>(from));
  alignas(16) std::byte bytes[16] = {};
  if (end > from) copy_short(from, bytes, end - from);
  return hn::Load(d, as<uint8_t>(bytes));
}

template <int kStretches, PermutedLines::Store kStore>
HWY_INLINE void make_line(const std::byte* src, std::byte* dst, const PermutedLine& line, const PermutedLines& lines) {
  const Block16<uint8_t> d;
  auto made = hn::Load(d, line.index[1]);
  prefetch(src + line.from[0] + kPermuteAhead);
  for (int k = 0; k < kStretches; ++k) {
    const auto stretch = stretch_before(src + line.from[k], lines.end);
    made = hn::Or(made, hn::TableLookupBytesOr0(stretch, hn::Load(d, line.index[0] + 16 * k)));
  }
  put<kStore == PermutedLines::Store::past_cache>(made, d, as<uint8_t>(dst));
}

#endif

template <int kStretches, PermutedLines::Store kStore>
HWY_INLINE void permute_lines_to(const std::byte* src, std::byte* dst, const PermutedLines& lines) {
  int64_t at = lines.first;
  for (int64_t i = 0; i < lines.count; ++i) {
    make_line<kStretches, kStore>(src, dst + i * kPermutedBytes, lines.lines[at], lines);
    if (++at < lines.period) continue;
    at = 0;
    src += lines.step;
  }
}

template <int kStretches>
HWY_INLINE void permute_lines_of(const std::byte* src, std::byte* dst, const PermutedLines& lines) {
  using Store = PermutedLines::Store;
  switch (lines.store) {
    case Store::past_cache: return permute_lines_to<kStretches, Store::past_cache>(src, dst, lines);
    case Store::whole: return permute_lines_to<kStretches, Store::whole>(src, dst, lines);
    case Store::masked: return permute_lines_to<kStretches, Store::masked>(src, dst, lines);
  }
}

void permute_lines(const std::byte* src, std::byte* dst, const PermutedLines& lines) {
  switch (lines.stretches) {
    case 1: return permute_lines_of<1>(src, dst, lines);
    case 2: return permute_lines_of<2>(src, dst, lines);
    case 3: return permute_lines_of<3>(src, dst, lines);
    default: return permute_lines_of<4>(src, dst, lines);
  }
}
