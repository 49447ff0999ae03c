// How squares and tiles read lines of columns and write lines of rows, for transpose-inl.h. Classes whose names begin
// with Rows say where tiles and squares are stored.

/// Rows of the destination, through the cache or past it.
template <bool kStream>
struct Rows {
  std::byte* dst;
  const int64_t* starts;

  HWY_INLINE Rows from(int64_t r) const { return {dst, starts + r}; }
  template <class D>
  HWY_INLINE void put(D d, int i, hn::Vec<D> v) const {
    auto* const to = as<hn::TFromD<D>>(dst + starts[i]);
    if constexpr (kStream)
      hn::Stream(v, d, to);
    else
      hn::StoreU(v, d, to);
  }
};

#if HWY_TARGET <= HWY_AVX3

/// How many squares are done side by side, and so how many lines of a row are written one after the other.
constexpr int kBeside = 4;

/// Memory for all squares that lie side by side but the last one: kLines lines of each row.
template <int kLines>
struct Image {
  std::byte* lines;

  template <class D>
  HWY_INLINE void put(D d, int i, hn::Vec<D> v) const {
    hn::Store(v, d, as<hn::TFromD<D>>(lines + i * kLines * kCacheLine));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> get(D d, int i, int line) const {
    return hn::Load(d, as<hn::TFromD<D>>(lines + (i * kLines + line) * kCacheLine));
  }
};

/// Stores the last of the squares that lie side by side, into rows of whole lines. Before each line of it, the lines of
/// the same row in the image are written.
template <int kLines>
struct RowsOfLines {
  std::byte* dst;
  const int64_t* starts;
  Image<kLines> image;

  HWY_INLINE RowsOfLines from(int64_t r) const { return {dst, starts + r, image}; }
  template <class D>
  HWY_INLINE void put(D d, int i, hn::Vec<D> v) const {
    std::byte* const to = dst + starts[i];
#pragma GCC unroll 4
    for (int line = 0; line < kLines; ++line)
      hn::Stream(image.get(d, i, line), d, as<hn::TFromD<D>>(to + line * kCacheLine));
    hn::Stream(v, d, as<hn::TFromD<D>>(to + kLines * kCacheLine));
  }
};

#endif

#if HWY_TARGET <= HWY_AVX3_DL

/// The indices for a permutation of two lines that picks the 64 bytes from byte `skip` of the first line on.
HWY_INLINE __m512i bytes_from(int64_t skip) {
  alignas(64) static constexpr auto kCount = [] {
    std::array<int8_t, 64> out{};
    for (int k = 0; k < 64; ++k) out[static_cast<std::size_t>(k)] = static_cast<int8_t>(k);
    return out;
  }();
  return _mm512_add_epi8(_mm512_load_si512(kCount.data()), _mm512_set1_epi8(static_cast<char>(skip)));
}

/// Rows of whole lines that start anywhere: each line of the destination is put together, in registers, of the line of
/// the row made before and the one made now.
struct CarriedRows {
  std::byte* dst;
  const int64_t* starts;
  std::byte* carry;
  bool first;

  HWY_INLINE CarriedRows from(int64_t r) const { return {dst, starts + r, carry + r * kCacheLine, first}; }
  template <class D>
  HWY_INLINE void put(D, int i, hn::Vec<D> v) const {
    std::byte* const last = carry + i * kCacheLine;
    const __m512i before = _mm512_load_si512(last);
    _mm512_store_si512(last, v.raw);
    if (first) return;
    std::byte* const to = dst + starts[i];
    const intptr_t skip = -reinterpret_cast<intptr_t>(to) & (kCacheLine - 1);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + skip - kCacheLine),
                        _mm512_permutex2var_epi8(before, bytes_from(skip), v.raw));
  }
};

#endif

#if HWY_TARGET <= HWY_AVX3

/// Reads a line of each column, from any address. With each line, the one `ahead` bytes later is prefetched, where that
/// is not 0. (Not a lambda, as gcc drops calls of a function that only prefetches unless they are inlined by force.)
template <class Columns>
struct ColumnLines {
  const std::byte* src;
  Columns src_cols;
  int64_t ahead;

  HWY_INLINE ColumnLines from(int64_t c) const { return {src, src_cols + c, ahead}; }
  template <class D>
  HWY_INLINE hn::Vec<D> read(D d, int i) const {
    const std::byte* const at = src + src_cols[i];
    const auto line = hn::LoadU(d, as<hn::TFromD<D>>(at));
    if (ahead != 0) prefetch(at + ahead);
    return line;
  }
};

#endif
