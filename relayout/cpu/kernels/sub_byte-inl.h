// Sub-byte elements become bytes, and bytes become sub-byte elements, for copy-inl.h: as many at a time as a vector
// register has, then eight in a register of 64 bits, then the elements of a part of a group. A *group* are the least
// elements that fill whole bytes (byte_period()).

/// Elements in a register of 64 bits.
constexpr int64_t kEight = 8;

/// The lowest `ones` bits of every `every` bits.
constexpr uint64_t low_bits(int ones, int every) {
  uint64_t out = 0;
  for (int at = 0; at < 64; at += every) out |= ((uint64_t{1} << ones) - 1) << at;
  return out;
}

/// Moves the upper halves of what the lower bits of lanes of kLane bits hold, kPart bits each, to the middle of the
/// lanes; and back.
template <int kLane, int kPart>
RELAYOUT_INLINE uint64_t halves_apart(uint64_t x) {
  constexpr uint64_t kLow = low_bits(kPart, kLane);
  return (x & kLow) | ((x << (kLane / 2 - kPart)) & (kLow << (kLane / 2)));
}
template <int kLane, int kPart>
RELAYOUT_INLINE uint64_t halves_together(uint64_t x) {
  constexpr uint64_t kLow = low_bits(kPart, kLane);
  return (x & kLow) | ((x >> (kLane / 2 - kPart)) & (kLow << kPart));
}

/// Spreads eight elements that follow each other to 8 bytes, the first to the lowest.
template <int kElement>
RELAYOUT_INLINE uint64_t spread_eight(uint64_t x) {
  return halves_apart<16, kElement>(halves_apart<32, 2 * kElement>(halves_apart<64, 4 * kElement>(x)));
}

/// Joins the low bits of 8 bytes, the reverse. Their high bits are dropped.
template <int kElement>
RELAYOUT_INLINE uint64_t join_eight(uint64_t x) {
  return halves_together<64, 4 * kElement>(halves_together<32, 2 * kElement>(halves_together<16, kElement>(x)));
}

template <int kElement, bool kSign>
RELAYOUT_INLINE uint64_t unpacked_eight(uint64_t x) {
  constexpr uint64_t kSignBit = uint64_t{1} << (kElement - 1), kAbove = 256 - (uint64_t{1} << kElement);
  x = spread_eight<kElement>(x);
  return kSign ? x | (x & kSignBit * low_bits(1, 8)) * (kAbove / kSignBit) : x;
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

/// Calls one(d, elements done) for as many of n elements as fill registers of D, of half of D, and so on, kPerLane in a
/// lane; returns how many elements these are.
template <int kPerLane, class D, typename One>
HWY_INLINE int64_t by_registers(D d, int64_t n, One one) {
  constexpr int64_t kStep = static_cast<int64_t>(hn::MaxLanes(d)) * kPerLane;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) one(d, i);
  if constexpr (kStep > 16) {
    const hn::Half<D> half;
    i += by_registers<kPerLane>(half, n - i, [&](auto narrow, int64_t done) HWY_ATTR { one(narrow, i + done); });
  }
  return i;
}

/// Where the three bytes of four elements of 6 bits are among those of a register, and where they go in lanes of 32
/// bits; 0x80 stands for a byte that is 0.
alignas(16) constexpr uint8_t kToLanes[16] = {0, 1, 2, 0x80, 3, 4, 5, 0x80, 6, 7, 8, 0x80, 9, 10, 11, 0x80};
alignas(16) constexpr uint8_t kFromLanes[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0x80, 0x80, 0x80, 0x80};
/// Sixteen elements of 6 bits have 12 bytes, but 16 are loaded and stored, which those of 22 elements include.
constexpr int64_t kSixteenAndMore = 22;

/// Extends the signs of bytes that hold an element each.
template <int kElement, bool kSign, class D, class V>
HWY_INLINE V extended(D d, V v) {
  if constexpr (!kSign) return v;
  const auto sign = hn::Set(d, static_cast<uint8_t>(1 << (kElement - 1)));
  return hn::Sub(hn::Xor(v, sign), sign);
}

/// Unpacks elements by registers; returns how many.
template <int kElement, bool kSign>
HWY_INLINE int64_t unpack_registers(const std::byte* from, int64_t n, std::byte* to) {
  if constexpr (kElement == 1) {
    // A mask is loaded from 8 bytes.
    const Wide<uint8_t> d;
    int64_t i = 0;
    for (; i + 64 <= n; i += HWY_LANES(uint8_t)) {
      const auto ones = hn::LoadMaskBits(d, as<uint8_t>(from + (i >> 3)));
      hn::StoreU(hn::IfThenElseZero(ones, hn::Set(d, uint8_t{kSign ? 255 : 1})), d, as<uint8_t>(to + i));
    }
    return i;
  } else if constexpr (kElement == 2) {
    return by_registers<4>(Wide<uint32_t>(), n, [&](auto lanes, int64_t at) HWY_ATTR {
      const hn::Rebind<uint8_t, decltype(lanes)> narrow;
      const hn::Repartition<uint8_t, decltype(lanes)> bytes;
      const auto four = hn::PromoteTo(lanes, hn::LoadU(narrow, as<uint8_t>(from + (at >> 2))));
      const auto two = hn::And(hn::Or(four, hn::ShiftLeft<12>(four)), hn::Set(lanes, 0x000f000fu));
      const auto v = hn::And(hn::Or(two, hn::ShiftLeft<6>(two)), hn::Set(lanes, 0x03030303u));
      hn::StoreU(extended<kElement, kSign>(bytes, hn::BitCast(bytes, v)), bytes, as<uint8_t>(to + at));
    });
  } else if constexpr (kElement == 4) {
    return by_registers<2>(Wide<uint16_t>(), n, [&](auto words, int64_t at) HWY_ATTR {
      const hn::Rebind<uint8_t, decltype(words)> narrow;
      const hn::Repartition<uint8_t, decltype(words)> bytes;
      const auto both = hn::PromoteTo(words, hn::LoadU(narrow, as<uint8_t>(from + (at >> 1))));
      const auto v = hn::And(hn::Or(both, hn::ShiftLeft<4>(both)), hn::Set(words, uint16_t{0x0f0f}));
      hn::StoreU(extended<kElement, kSign>(bytes, hn::BitCast(bytes, v)), bytes, as<uint8_t>(to + at));
    });
  } else {
    const Block16<uint8_t> d;
    const Block16<uint32_t> lanes;
    int64_t i = 0;
    for (; i + kSixteenAndMore <= n; i += 16) {
      const auto packed = hn::LoadU(d, as<uint8_t>(from + (i >> 3) * kElement));
      const auto four = hn::BitCast(lanes, hn::TableLookupBytesOr0(packed, hn::Load(d, kToLanes)));
      const auto two = hn::Or(hn::And(four, hn::Set(lanes, 0x00000fffu)),
                              hn::And(hn::ShiftLeft<4>(four), hn::Set(lanes, 0x0fff0000u)));
      const auto v = hn::Or(hn::And(two, hn::Set(lanes, 0x003f003fu)),
                            hn::And(hn::ShiftLeft<2>(two), hn::Set(lanes, 0x3f003f00u)));
      hn::StoreU(extended<kElement, kSign>(d, hn::BitCast(d, v)), d, as<uint8_t>(to + i));
    }
    return i;
  }
}

/// Packs elements by registers; returns how many.
template <int kElement>
HWY_INLINE int64_t pack_registers(const std::byte* from, int64_t n, std::byte* to) {
  if constexpr (kElement == 1) {
    const Wide<uint8_t> d;
    int64_t i = 0;
    for (; i + 64 <= n; i += HWY_LANES(uint8_t)) {
      const auto v = hn::LoadU(d, as<uint8_t>(from + i));
      hn::StoreMaskBits(d, hn::TestBit(v, hn::Set(d, uint8_t{1})), as<uint8_t>(to + (i >> 3)));
    }
    return i;
  } else if constexpr (kElement == 2) {
    return by_registers<4>(Wide<uint32_t>(), n, [&](auto lanes, int64_t at) HWY_ATTR {
      const hn::Rebind<uint8_t, decltype(lanes)> narrow;
      const hn::Repartition<uint8_t, decltype(lanes)> bytes;
      const hn::RebindToSigned<decltype(lanes)> integers;
      const auto v = hn::And(hn::BitCast(lanes, hn::LoadU(bytes, as<uint8_t>(from + at))), hn::Set(lanes, 0x03030303u));
      const auto two = hn::And(hn::Or(v, hn::ShiftRight<6>(v)), hn::Set(lanes, 0x000f000fu));
      const auto four = hn::And(hn::Or(two, hn::ShiftRight<12>(two)), hn::Set(lanes, 0xffu));
      hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(integers, four)), narrow, as<uint8_t>(to + (at >> 2)));
    });
  } else if constexpr (kElement == 4) {
    return by_registers<2>(Wide<uint16_t>(), n, [&](auto words, int64_t at) HWY_ATTR {
      const hn::Rebind<uint8_t, decltype(words)> narrow;
      const hn::Repartition<uint8_t, decltype(words)> bytes;
      const hn::RebindToSigned<decltype(words)> integers;
      const auto v = hn::BitCast(words, hn::And(hn::LoadU(bytes, as<uint8_t>(from + at)), hn::Set(bytes, uint8_t{15})));
      const auto both = hn::And(hn::Or(v, hn::ShiftRight<4>(v)), hn::Set(words, uint16_t{0xff}));
      hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(integers, both)), narrow, as<uint8_t>(to + (at >> 1)));
    });
  } else {
    const Block16<uint8_t> d;
    const Block16<uint32_t> lanes;
    int64_t i = 0;
    for (; i + kSixteenAndMore <= n; i += 16) {
      const auto v = hn::BitCast(lanes, hn::LoadU(d, as<uint8_t>(from + i)));
      const auto two =
          hn::Or(hn::And(v, hn::Set(lanes, 0x003f003fu)), hn::ShiftRight<2>(hn::And(v, hn::Set(lanes, 0x3f003f00u))));
      const auto four = hn::Or(hn::And(two, hn::Set(lanes, 0x00000fffu)),
                               hn::ShiftRight<4>(hn::And(two, hn::Set(lanes, 0x0fff0000u))));
      const auto packed = hn::TableLookupBytesOr0(hn::BitCast(d, four), hn::Load(d, kFromLanes));
      hn::StoreU(packed, d, as<uint8_t>(to + (i >> 3) * kElement));
    }
    return i;
  }
}

#endif

/// Unpacks n elements, fewer than eight, from element `first` of the group at `from` on.
template <int kElement, bool kSign>
RELAYOUT_INLINE void unpack_part(const std::byte* from, int64_t first, int64_t n, std::byte* to) {
  const int64_t bit = first * kElement, byte = bit >> 3, end = (bit + n * kElement + 7) >> 3;
  const uint64_t bits = load_few(from + byte, end - byte) >> (bit & 7);
  store_few(unpacked_eight<kElement, kSign>(bits), to, n);
}

/// Unpacks n elements, of which the first starts a byte.
template <int kElement, bool kSign>
RELAYOUT_INLINE void unpack_run(const std::byte* from, int64_t n, std::byte* to) {
  int64_t i = 0;
#if RELAYOUT_KERNELS_SIMD
  i = unpack_registers<kElement, kSign>(from, n, to);
#endif
  for (; i + kEight <= n; i += kEight)
    store_unaligned(to + i, unpacked_eight<kElement, kSign>(load_few(from + (i >> 3) * kElement, kElement)));
  // 16 elements of a register may be followed by eight others, so that i is a multiple of eight.
  if (i < n) unpack_part<kElement, kSign>(from + (i >> 3) * kElement, 0, n - i, to + i);
}

/// Writes the bits of a byte that are set in `mask`. If `shared`, another thread may write the others at the same time.
RELAYOUT_INLINE void write_bits(std::byte& byte, uint8_t mask, uint8_t bits, bool shared) {
  auto& to = reinterpret_cast<uint8_t&>(byte);
  if (mask == 255) {
    to = bits;
  } else if (!shared) {
    to = static_cast<uint8_t>((to & ~mask) | bits);
  } else {
    // No other thread changes these bits, so what an earlier read says of them is still right.
    const std::atomic_ref<uint8_t> atomic(to);
    atomic.fetch_xor(static_cast<uint8_t>((atomic.load(std::memory_order_relaxed) ^ bits) & mask),
                     std::memory_order_relaxed);
  }
}

/// Packs n elements into a part of the group at `to`, from its element `first` on.
template <int kElement>
RELAYOUT_INLINE void pack_part(const std::byte* from, std::byte* to, int64_t first, int64_t n, bool shared) {
  const uint64_t bits = join_eight<kElement>(load_few(from, n)) << (first * kElement);
  const uint64_t mask = ((uint64_t{1} << (n * kElement)) - 1) << (first * kElement);
  for (int byte = 0; byte < byte_period(kElement) * kElement / 8; ++byte) {
    const auto own = static_cast<uint8_t>(mask >> (8 * byte));
    if (own != 0) write_bits(to[byte], own, static_cast<uint8_t>(bits >> (8 * byte)), shared);
  }
}

/// Packs n elements, of which the first starts a byte.
template <int kElement>
RELAYOUT_INLINE void pack_run(const std::byte* from, std::byte* to, int64_t n, bool shared) {
  constexpr int64_t kGroup = byte_period(kElement), kGroupBytes = kGroup * kElement / 8;
  int64_t i = 0;
#if RELAYOUT_KERNELS_SIMD
  i = pack_registers<kElement>(from, n, to);
#endif
  for (; i + kEight <= n; i += kEight)
    store_few(join_eight<kElement>(load_unaligned<uint64_t>(from + i)), to + (i >> 3) * kElement, kElement);
  const int64_t groups = (n - i) / kGroup;
  if (groups > 0) {
    store_few(join_eight<kElement>(load_few(from + i, groups * kGroup)), to + (i >> 3) * kElement,
              groups * kGroupBytes);
    i += groups * kGroup;
  }
  if (i < n) pack_part<kElement>(from + i, to + i / kGroup * kGroupBytes, 0, n - i, shared);
}

template <int kElement, bool kSign>
void unpack(const std::byte* src, int64_t first, Starts lines, int64_t count, int64_t n, std::byte* to, int64_t step) {
  constexpr int64_t kGroup = byte_period(kElement), kGroupBytes = kGroup * kElement / 8;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = first + lines[i], inside = at & (kGroup - 1);
    const std::byte* const group = src + (at - inside) / kGroup * kGroupBytes;
    std::byte* const line = to + i * step;
    const int64_t head = inside == 0 ? 0 : std::min(kGroup - inside, n);
    if (head > 0) unpack_part<kElement, kSign>(group, inside, head, line);
    unpack_run<kElement, kSign>(group + (inside == 0 ? 0 : kGroupBytes), n - head, line + head);
  }
}

template <int kElement>
void pack(const std::byte* from, int64_t step, std::byte* dst, int64_t first, Starts lines, int64_t count, int64_t n,
          bool shared) {
  constexpr int64_t kGroup = byte_period(kElement), kGroupBytes = kGroup * kElement / 8;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = first + lines[i], inside = at & (kGroup - 1);
    std::byte* const group = dst + (at - inside) / kGroup * kGroupBytes;
    const std::byte* const line = from + i * step;
    const int64_t head = inside == 0 ? 0 : std::min(kGroup - inside, n);
    if (head > 0) pack_part<kElement>(line, group, inside, head, shared);
    pack_run<kElement>(line + head, group + (inside == 0 ? 0 : kGroupBytes), n - head, shared);
  }
}

template <int kElement>
void add_packing(Kernels& k) {
  constexpr std::size_t kPlace = PackedBits::place(kElement);
  k.unpack[kPlace] = {&unpack<kElement, false>, &unpack<kElement, true>};
  k.pack[kPlace] = &pack<kElement>;
}
