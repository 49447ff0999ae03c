// Lines by byte permutations of windows of the source (reorder/methods/line_program.h), for copy-inl.h.

/// What the kernels of one width are told: units, each `src_step` and `dst_step` bytes after the one before.
template <int64_t kWidth>
void line_program_plain(const std::byte* src, std::byte* dst, const LineProgram& program, int64_t units,
                        int64_t src_step, int64_t dst_step) {
  for (; units > 0; --units, src += src_step, dst += dst_step) {
    std::size_t window = 0;
    for (const LineProgram::Line& line : program.lines) {
      for (int64_t i = 0; program.fills && i < kWidth; ++i) {
        if (line.written >> i & 1) dst[line.dst + i] = std::byte{0};
      }
      for (int64_t w = 0; w < line.windows; ++w, ++window) {
        const uint8_t* const index = program.index(window);
        const std::byte* const from = src + program.from[window];
        for (int64_t i = 0; i < kWidth; ++i) {
          if (index[i] & LineProgram::kTaken) dst[line.dst + i] = from[index[i] & (kWidth - 1)];
        }
      }
    }
  }
}

#if RELAYOUT_KERNELS_SIMD

/// One line of 16 bytes.
HWY_INLINE void program_line16(const std::byte* src, std::byte* dst, const int64_t* from, const uint8_t* index,
                               int64_t windows) {
  const Block16<uint8_t> d;
  const auto taken = hn::Set(d, LineProgram::kTaken);
  auto made = hn::Zero(d);
  for (int64_t w = 0; w < windows; ++w) {
    const auto places = hn::Xor(hn::Load(d, index + 16 * w), taken);
    made = hn::Or(made, hn::TableLookupBytesOr0(hn::LoadU(d, as<uint8_t>(src + from[w])), places));
  }
  hn::StoreU(made, d, as<uint8_t>(dst));
}

void line_program16(const std::byte* src, std::byte* dst, const LineProgram& program, int64_t units, int64_t src_step,
                    int64_t dst_step) {
  for (; units > 0; --units, src += src_step, dst += dst_step) {
    const int64_t* from = program.from.data();
    const uint8_t* index = program.index(0);
    for (const LineProgram::Line& line : program.lines) {
      program_line16(src, dst + line.dst, from, index, line.windows);
      from += line.windows;
      index += 16 * line.windows;
    }
  }
}

#endif

#if RELAYOUT_KERNELS_SIMD && HWY_TARGET <= HWY_AVX3_DL

/// One line of 64 bytes. kFills: bytes of no window are 0.
template <bool kFills>
HWY_INLINE __m512i program_line64(const std::byte* src, const int64_t* from, const uint8_t* index, int64_t windows) {
  const auto place = [&](int64_t w) HWY_ATTR { return _mm512_load_si512(index + 64 * w); };
  const auto window = [&](int64_t w) HWY_ATTR { return _mm512_loadu_si512(src + from[w]); };
  __m512i made = kFills ? _mm512_setzero_si512() : _mm512_permutexvar_epi8(place(0), window(0));
  for (int64_t w = kFills ? 0 : 1; w < windows; ++w) {
    const __m512i places = place(w);
    made = _mm512_mask_permutexvar_epi8(made, _mm512_movepi8_mask(places), places, window(w));
  }
  return made;
}

/// kWindows: the windows of each line; 0 where lines have different numbers. kMasked: gaps and padding are possible.
template <int64_t kWindows, bool kMasked>
HWY_INLINE void program_units64(const std::byte* src, std::byte* dst, const LineProgram& program, int64_t units,
                                int64_t src_step, int64_t dst_step) {
  for (; units > 0; --units, src += src_step, dst += dst_step) {
    const int64_t* from = program.from.data();
    const uint8_t* index = program.index(0);
    for (const LineProgram::Line& line : program.lines) {
      const int64_t windows = kWindows > 0 ? kWindows : line.windows;
      const __m512i made = program_line64<kMasked>(src, from, index, windows);
      if constexpr (kMasked)
        _mm512_mask_storeu_epi8(dst + line.dst, line.written, made);
      else
        _mm512_storeu_si512(dst + line.dst, made);
      from += windows;
      index += 64 * windows;
    }
  }
}

void line_program64(const std::byte* src, std::byte* dst, const LineProgram& program, int64_t units, int64_t src_step,
                    int64_t dst_step) {
  if (program.masked || program.fills) return program_units64<0, true>(src, dst, program, units, src_step, dst_step);
  switch (program.windows) {
    case 1: return program_units64<1, false>(src, dst, program, units, src_step, dst_step);
    case 2: return program_units64<2, false>(src, dst, program, units, src_step, dst_step);
    case 3: return program_units64<3, false>(src, dst, program, units, src_step, dst_step);
    case 4: return program_units64<4, false>(src, dst, program, units, src_step, dst_step);
    default: return program_units64<0, false>(src, dst, program, units, src_step, dst_step);
  }
}

#endif
