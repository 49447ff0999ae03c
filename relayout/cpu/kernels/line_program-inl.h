// Lines by byte permutations of windows of the source (reorder/boxes/methods/line_program.h), for copy-inl.h.

template <int64_t kWidth>
void line_program_plain(const std::byte* src, std::byte* dst, const LineProgram& program, const ProgramUnits& units) {
  const LineProgram::Line* const first = program.lines.data() + units.first_line;
  for (int64_t u = 0; u < units.count; ++u, src += units.src_step, dst += units.dst_step) {
    int64_t window = first->first_window;
    for (const LineProgram::Line* line = first; line < first + units.lines; ++line) {
      for (int64_t i = 0; program.fills && i < kWidth; ++i) {
        if (line->written >> i & 1) dst[line->dst + i] = std::byte{0};
      }
      for (int64_t w = 0; w < line->windows; ++w, ++window) {
        const uint8_t* const index = program.index(window);
        const std::byte* const from = src + program.from[static_cast<std::size_t>(window)];
        for (int64_t i = 0; i < kWidth; ++i) {
          if (index[i] & LineProgram::kTaken) dst[line->dst + i] = from[index[i] & (kWidth - 1)];
        }
      }
    }
  }
}

#if RELAYOUT_KERNELS_SIMD

/// How many bytes one instruction puts into any order.
#if HWY_TARGET <= HWY_AVX3_DL
constexpr int64_t kPermutedBytes = 64;
#else
constexpr int64_t kPermutedBytes = 16;
#endif

/// How lines are stored: masked where gaps and padding are possible, or as a whole.
enum class LineStore : uint8_t { masked, whole, past_cache };

/// How many bytes ahead of each window the source is prefetched where lines are written past the cache.
constexpr int64_t kWindowsAhead = 4 << 10;

/// Runs make(windows, store), in which `windows` is the number of each line's windows as a constant, 0 where lines have
/// different numbers, and `store` how lines are stored.
template <typename Make>
HWY_INLINE void by_windows(const LineProgram& program, LineStore store, const Make& make) {
  const auto with = [&](auto how) HWY_ATTR {
    switch (program.windows) {
      case 1: return make(std::integral_constant<int64_t, 1>(), how);
      case 2: return make(std::integral_constant<int64_t, 2>(), how);
      case 3: return make(std::integral_constant<int64_t, 3>(), how);
      case 4: return make(std::integral_constant<int64_t, 4>(), how);
      default: return make(std::integral_constant<int64_t, 0>(), how);
    }
  };
  if (store == LineStore::past_cache) return with(std::integral_constant<LineStore, LineStore::past_cache>());
  with(std::integral_constant<LineStore, LineStore::whole>());
}

/// One line of 16 bytes.
template <LineStore kStore>
HWY_INLINE void program_line16(const std::byte* src, std::byte* dst, const int64_t* from, const uint8_t* index,
                               int64_t windows) {
  const Block16<uint8_t> d;
  const auto taken = hn::Set(d, LineProgram::kTaken);
  auto made = hn::Zero(d);
  for (int64_t w = 0; w < windows; ++w) {
    if (kStore == LineStore::past_cache && w == 0) prefetch(src + from[0] + kWindowsAhead);
    const auto places = hn::Xor(hn::Load(d, index + 16 * w), taken);
    made = hn::Or(made, hn::TableLookupBytesOr0(hn::LoadU(d, as<uint8_t>(src + from[w])), places));
  }
  put<kStore == LineStore::past_cache>(made, d, as<uint8_t>(dst));
}

template <int64_t kWindows, LineStore kStore>
HWY_INLINE void program_units16(const std::byte* src, std::byte* dst, const LineProgram& program,
                                const ProgramUnits& units) {
  // Stores could change what lies in memory, as far as the compiler knows; so all that is needed of it is read before.
  const LineProgram::Line *const first = program.lines.data() + units.first_line, *const end = first + units.lines;
  const int64_t count = units.count, src_step = units.src_step, dst_step = units.dst_step;
  const int64_t* const first_from = program.from.data() + first->first_window;
  const uint8_t* const first_index = program.index(first->first_window);
  for (int64_t u = 0; u < count; ++u, src += src_step, dst += dst_step) {
    const int64_t* from = first_from;
    const uint8_t* index = first_index;
    for (const LineProgram::Line* line = first; line < end; ++line) {
      const int64_t windows = kWindows > 0 ? kWindows : line->windows;
      program_line16<kStore>(src, dst + line->dst, from, index, windows);
      from += windows;
      index += 16 * windows;
    }
  }
}

void line_program16(const std::byte* src, std::byte* dst, const LineProgram& program, const ProgramUnits& units) {
  by_windows(program, units.past_cache ? LineStore::past_cache : LineStore::whole,
             [&](auto windows, auto store) HWY_ATTR {
               program_units16<windows.value, store.value>(src, dst, program, units);
             });
}

#endif

#if RELAYOUT_KERNELS_SIMD && HWY_TARGET <= HWY_AVX3_DL

/// One line of 64 bytes. kFills: bytes of no window are 0.
template <bool kFills, LineStore kStore>
HWY_INLINE __m512i program_line64(const std::byte* src, const int64_t* from, const uint8_t* index, int64_t windows) {
  const auto place = [&](int64_t w) HWY_ATTR { return _mm512_load_si512(index + 64 * w); };
  const auto window = [&](int64_t w) HWY_ATTR {
    if constexpr (kStore == LineStore::past_cache) prefetch(src + from[w] + kWindowsAhead);
    return _mm512_loadu_si512(src + from[w]);
  };
  __m512i made = kFills ? _mm512_setzero_si512() : _mm512_permutexvar_epi8(place(0), window(0));
  for (int64_t w = kFills ? 0 : 1; w < windows; ++w) {
    const __m512i places = place(w);
    made = _mm512_mask_permutexvar_epi8(made, _mm512_movepi8_mask(places), places, window(w));
  }
  return made;
}

/// kWindows: the windows of each line; 0 where lines have different numbers. (The loops are those of program_units16.
/// With one function for both, lines of different numbers of windows took 3 to 5 % longer.)
template <int64_t kWindows, bool kFills, LineStore kStore>
HWY_INLINE void program_units64(const std::byte* src, std::byte* dst, const LineProgram& program,
                                const ProgramUnits& units) {
  // Stores could change what lies in memory, as far as the compiler knows; so all that is needed of it is read before.
  const LineProgram::Line *const first = program.lines.data() + units.first_line, *const end = first + units.lines;
  const int64_t count = units.count, src_step = units.src_step, dst_step = units.dst_step;
  const int64_t* const first_from = program.from.data() + first->first_window;
  const uint8_t* const first_index = program.index(first->first_window);
  for (int64_t u = 0; u < count; ++u, src += src_step, dst += dst_step) {
    const int64_t* from = first_from;
    const uint8_t* index = first_index;
    for (const LineProgram::Line* line = first; line < end; ++line) {
      const int64_t windows = kWindows > 0 ? kWindows : line->windows;
      const __m512i made = program_line64<kFills, kStore>(src, from, index, windows);
      std::byte* const to = dst + line->dst;
      if constexpr (kStore == LineStore::masked)
        _mm512_mask_storeu_epi8(to, line->written, made);
      else if constexpr (kStore == LineStore::whole)
        _mm512_storeu_si512(to, made);
      else
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), made);
      from += windows;
      index += 64 * windows;
    }
  }
}

void line_program64(const std::byte* src, std::byte* dst, const LineProgram& program, const ProgramUnits& units) {
  if (program.masked) return program_units64<0, true, LineStore::masked>(src, dst, program, units);
  by_windows(program, units.past_cache ? LineStore::past_cache : LineStore::whole,
             [&](auto windows, auto store) HWY_ATTR {
               if (windows.value == 0 && program.fills)
                 program_units64<0, true, store.value>(src, dst, program, units);
               else
                 program_units64<windows.value, false, store.value>(src, dst, program, units);
             });
}

#endif
