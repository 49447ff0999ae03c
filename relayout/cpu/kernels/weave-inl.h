// Lines of the destination by byte permutations of stretches of the source, for copy-inl.h. Only where bytes of two
// registers are permuted by one instruction.

/// The source is fetched so many bytes ahead of each stretch.
constexpr int64_t kWeaveAhead = 4 << 10;

template <int kStretches>
HWY_INLINE __m512i woven_line(const std::byte* src, const WovenLine& line) {
  const auto stretch = [&](int k) HWY_ATTR {
    prefetch(src + line.from[k] + kWeaveAhead);
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

template <int kStretches>
HWY_INLINE void weave_of(const std::byte* src, std::byte* dst, const WovenLines& lines) {
  const __m512i fill = _mm512_set1_epi8(static_cast<char>(lines.fill));
  int64_t at = lines.first;
  for (int64_t i = 0; i < lines.count; ++i) {
    const WovenLine& line = lines.lines[at];
    const __m512i made = _mm512_mask_mov_epi8(woven_line<kStretches>(src, line), line.filled, fill);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i * kLine), made);
    if (++at < lines.period) continue;
    at = 0;
    src += lines.step;
  }
}

void weave(const std::byte* src, std::byte* dst, const WovenLines& lines) {
  switch (lines.stretches) {
    case 1: return weave_of<1>(src, dst, lines);
    case 2: return weave_of<2>(src, dst, lines);
    case 3: return weave_of<3>(src, dst, lines);
    default: return weave_of<4>(src, dst, lines);
  }
}
