// Elements of 4 bits become bytes, and bytes become elements of 4 bits, for copy-inl.h: as many at a time as a vector
// register has, then eight in a register of 64 bits, then the rest.

/// Elements in a register of 64 bits.
constexpr int64_t kEight = 8;

/// Spreads the halves of 4 bytes to 8 bytes, the low half of each byte first.
RELAYOUT_INLINE uint64_t spread_eight(uint64_t x) {
  x = (x | x << 16) & 0x0000ffff0000ffff;
  x = (x | x << 8) & 0x00ff00ff00ff00ff;
  return (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
}

/// Joins the low halves of 8 bytes to 4 bytes, the first half in the low half of the first byte. High halves are
/// dropped.
RELAYOUT_INLINE uint32_t join_eight(uint64_t x) {
  x &= 0x0f0f0f0f0f0f0f0f;
  x = (x | x >> 4) & 0x00ff00ff00ff00ff;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return static_cast<uint32_t>(x | x >> 16);
}

template <bool kSign>
RELAYOUT_INLINE uint64_t unpacked_eight(uint64_t x) {
  x = spread_eight(x);
  return kSign ? x | (x & 0x0808080808080808) * 0x1e : x;
}

/// Loads 1 to 8 bytes, by two loads of the same size, which may overlap; the bytes above them are 0.
RELAYOUT_INLINE uint64_t load_few(const std::byte* from, int64_t n) {
  const auto both = [&]<typename T>(T) __attribute__((always_inline)) {
    const int64_t last = n - static_cast<int64_t>(sizeof(T));
    return load_unaligned<T>(from) | static_cast<uint64_t>(load_unaligned<T>(from + last)) << (8 * last);
  };
  return n >= 4 ? both(uint32_t()) : n >= 2 ? both(uint16_t()) : static_cast<uint64_t>(*from);
}
RELAYOUT_INLINE void store_few(uint64_t x, std::byte* to, int64_t n) {
  const auto both = [&]<typename T>(T) __attribute__((always_inline)) {
    const int64_t last = n - static_cast<int64_t>(sizeof(T));
    store_unaligned(to, static_cast<T>(x));
    store_unaligned(to + last, static_cast<T>(x >> (8 * last)));
  };
  if (n >= 4) return both(uint32_t());
  if (n >= 2) return both(uint16_t());
  *to = static_cast<std::byte>(x);
}

#if RELAYOUT_KERNELS_SIMD

/// Calls one(d, elements done) for as many of n elements as fill registers of D, of half of D, and so on; returns how
/// many elements these are.
template <class D, typename One>
HWY_INLINE int64_t by_registers(D d, int64_t n, One one) {
  constexpr int64_t kStep = static_cast<int64_t>(hn::MaxLanes(d)) * 2;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) one(d, i);
  if constexpr (kStep > 16) {
    const hn::Half<D> half;
    i += by_registers(half, n - i, [&](auto narrow, int64_t done) HWY_ATTR { one(narrow, i + done); });
  }
  return i;
}

#endif

/// Unpacks n elements, of which the first is in the low half of its byte.
template <bool kSign>
RELAYOUT_INLINE void unpack_run(const std::byte* from, int64_t n, std::byte* to) {
  int64_t i = 0;
#if RELAYOUT_KERNELS_SIMD
  i = by_registers(Wide<uint16_t>(), n, [&](auto words, int64_t at) HWY_ATTR {
    const hn::Rebind<uint8_t, decltype(words)> narrow;
    const hn::Repartition<uint8_t, decltype(words)> bytes;
    const auto both = hn::PromoteTo(words, hn::LoadU(narrow, as<uint8_t>(from + (at >> 1))));
    auto v = hn::BitCast(bytes, hn::And(hn::Or(both, hn::ShiftLeft<4>(both)), hn::Set(words, uint16_t{0x0f0f})));
    if constexpr (kSign) {
      const auto eight = hn::Set(bytes, uint8_t{8});
      v = hn::Sub(hn::Xor(v, eight), eight);
    }
    hn::StoreU(v, bytes, as<uint8_t>(to + at));
  });
#endif
  for (; i + kEight <= n; i += kEight)
    store_unaligned(to + i, unpacked_eight<kSign>(load_unaligned<uint32_t>(from + (i >> 1))));
  if (i < n) store_few(unpacked_eight<kSign>(load_few(from + (i >> 1), (n - i + 1) >> 1)), to + i, n - i);
}

/// Writes one element, half a byte. If `shared`, another thread may write the other half at the same time.
RELAYOUT_INLINE void write_half(std::byte* dst, int64_t at, std::byte value, bool shared) {
  if (!shared) return write_element<DType::u4>(dst, at, static_cast<uint8_t>(value));
  const std::atomic_ref<uint8_t> byte(reinterpret_cast<uint8_t&>(dst[at >> 1]));
  // No other thread changes this half, so what an earlier read says of it is still right.
  const int shift = (at & 1) != 0 ? 4 : 0;
  const int change = (byte.load(std::memory_order_relaxed) >> shift ^ static_cast<int>(value)) & 15;
  byte.fetch_xor(static_cast<uint8_t>(change << shift), std::memory_order_relaxed);
}

/// Packs n elements, of which the first goes to the low half of its byte.
RELAYOUT_INLINE void pack_run(const std::byte* from, std::byte* to, int64_t n, bool shared) {
  int64_t i = 0;
#if RELAYOUT_KERNELS_SIMD
  i = by_registers(Wide<uint16_t>(), n, [&](auto words, int64_t at) HWY_ATTR {
    const hn::Rebind<uint8_t, decltype(words)> narrow;
    const hn::Repartition<uint8_t, decltype(words)> bytes;
    const hn::RebindToSigned<decltype(words)> integers;
    const auto v = hn::BitCast(words, hn::And(hn::LoadU(bytes, as<uint8_t>(from + at)), hn::Set(bytes, uint8_t{15})));
    const auto both = hn::And(hn::Or(v, hn::ShiftRight<4>(v)), hn::Set(words, uint16_t{0xff}));
    hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(integers, both)), narrow, as<uint8_t>(to + (at >> 1)));
  });
#endif
  for (; i + kEight <= n; i += kEight) store_unaligned(to + (i >> 1), join_eight(load_unaligned<uint64_t>(from + i)));
  if (n - i >= 2) store_few(join_eight(load_few(from + i, n - i)), to + (i >> 1), (n - i) >> 1);
  if (n % 2 != 0) write_half(to, n - 1, from[n - 1], shared);
}

template <bool kSign>
void unpack_nibbles(const std::byte* src, int64_t first, Starts lines, int64_t count, int64_t n, std::byte* to,
                    int64_t step) {
  constexpr DType kType = kSign ? DType::s4 : DType::u4;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = first + lines[i], odd = at & 1;
    std::byte* const line = to + i * step;
    if (odd != 0) line[0] = static_cast<std::byte>(read_element<kType>(src, at));
    unpack_run<kSign>(src + ((at + odd) >> 1), n - odd, line + odd);
  }
}

void pack_nibbles(const std::byte* from, int64_t step, std::byte* dst, int64_t first, Starts lines, int64_t count,
                  int64_t n, bool shared) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = first + lines[i], odd = at & 1;
    const std::byte* const line = from + i * step;
    if (odd != 0) write_half(dst, at, line[0], shared);
    pack_run(line + odd, dst + ((at + odd) >> 1), n - odd, shared);
  }
}
