// Runs in which one piece of the source is repeated. A part of copy-inl.h.

/// Repeats a piece of any size up to a line, from memory that holds it and a line more of its repetitions. Lines are
/// made one after the other; each begins where the line before ended within the piece.
template <bool kStream>
void repeat_piece(const std::byte* src, std::byte* to, int64_t piece, int64_t bytes) {
  alignas(64) std::byte pattern[2 * kCacheLine];
  copy_short(src, pattern, piece);
  for (int64_t have = piece; have < kCacheLine + piece; have *= 2)
    copy_short(pattern, pattern + have, std::min(have, kCacheLine + piece - have));
  const int64_t head = std::min(bytes, -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to)) & (kCacheLine - 1));
  copy_short(pattern, to, head);
  int64_t i = head, phase = head % piece;
  for (const int64_t step = kCacheLine % piece; i + kCacheLine <= bytes; i += kCacheLine) {
#if RELAYOUT_KERNELS_SIMD
    if constexpr (kStream)
      stream_lines(pattern + phase, to + i, kCacheLine, 0);
    else
#endif
      copy_line(pattern + phase, to + i);
    phase += step;
    if (phase >= piece) phase -= piece;
  }
  copy_short(pattern + phase, to + i, bytes - i);
}

#if RELAYOUT_KERNELS_SIMD

/// A register of a repeated element.
template <typename T>
HWY_INLINE hn::Vec<Wide<uint8_t>> repeated(const std::byte* at) {
  const Wide<uint8_t> d;
  if constexpr (sizeof(T) == 16) {
    alignas(16) std::byte copy[16];
    store_unaligned(copy, load_unaligned<T>(at));
    return hn::LoadDup128(d, as<uint8_t>(copy));
  } else {
    return hn::BitCast(d, hn::Set(Wide<T>(), load_unaligned<T>(at)));
  }
}

/// Writes a run of `v`, to elements that start at multiples of their size.
template <class V>
HWY_INLINE void put_repeated(V v, std::byte* to, int64_t bytes) {
#if HWY_TARGET <= HWY_AVX3
  // All stores stay within a line, as those that cross to the next one take several times as long.
  const auto in_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kCacheLine);
  std::byte* line = to - in_line;
  int64_t left = bytes + in_line;
  uint64_t own = ~uint64_t{0} << in_line;
  if (left >= kCacheLine) {
    _mm512_mask_storeu_epi8(line, own, v.raw);
    for (line += kCacheLine, left -= kCacheLine; left >= kCacheLine; line += kCacheLine, left -= kCacheLine)
      _mm512_store_si512(line, v.raw);
    own = ~uint64_t{0};
  }
  own &= (uint64_t{1} << left) - 1;
  if (own != 0) _mm512_mask_storeu_epi8(line, own, v.raw);
#else
  // Only the first and the last store may cross from one line to the next.
  constexpr int64_t kStep = 16 * kBlocks;
  const Wide<uint8_t> d;
  if (bytes < kStep) {
    alignas(32) std::byte few[kStep];
    hn::Store(v, d, as<uint8_t>(few));
    return copy_short(few, to, bytes);
  }
  hn::StoreU(v, d, as<uint8_t>(to));
  int64_t i = kStep - static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kStep);
  for (; i + kStep <= bytes; i += kStep) hn::StoreU(v, d, as<uint8_t>(to + i));
  hn::StoreU(v, d, as<uint8_t>(to + bytes - kStep));
#endif
}

/// Does so past the cache, but for the lines that the run has only a part of.
template <class V>
HWY_INLINE void stream_repeated(V v, std::byte* to, int64_t bytes) {
  const int64_t head = std::min(bytes, -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to)) & (kCacheLine - 1));
  if (head > 0) put_repeated(v, to, head);
  const Wide<uint8_t> d;
  int64_t i = head;
  for (; i + kCacheLine <= bytes; i += kCacheLine) {
    for (int64_t b = 0; b < kCacheLine; b += 16 * kBlocks) hn::Stream(v, d, as<uint8_t>(to + i + b));
  }
  if (i < bytes) put_repeated(v, to + i, bytes - i);
}

/// Repeats elements of T in runs that start at multiples of its size.
template <bool kStream, typename T>
void repeat_elements(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs,
                     int64_t bytes) {
  for (int64_t r = 0; r < runs; ++r) {
    const auto v = repeated<T>(src + src_runs[r]);
    if constexpr (kStream)
      stream_repeated(v, dst + dst_runs[r], bytes);
    else
      put_repeated(v, dst + dst_runs[r], bytes);
  }
}

#endif

template <bool kStream>
void repeat(const std::byte* src, Starts src_runs, int64_t piece, std::byte* dst, Starts dst_runs, int64_t runs,
            int64_t bytes) {
#if RELAYOUT_KERNELS_SIMD
  const auto elements = [&]<typename T>(T)
                            HWY_ATTR { repeat_elements<kStream, T>(src, src_runs, dst, dst_runs, runs, bytes); };
  // Some bit that is less than the piece's, which is a power of two, is set where a run starts within an element.
  auto starts = reinterpret_cast<uintptr_t>(dst);
  for (int64_t r = 0; r < runs; ++r) starts |= static_cast<uintptr_t>(dst_runs[r]);
  switch ((starts & static_cast<uintptr_t>(piece - 1)) == 0 ? piece : 0) {
    case 1: return elements(uint8_t());
    case 2: return elements(uint16_t());
    case 4: return elements(uint32_t());
    case 8: return elements(uint64_t());
    case 16: return elements(Bytes16());
    default: break;
  }
#endif
  for (int64_t r = 0; r < runs; ++r) repeat_piece<kStream>(src + src_runs[r], dst + dst_runs[r], piece, bytes);
}
