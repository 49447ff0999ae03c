// The types without kernels of pairs: each is read as one type that has them, and made of one (kernels.h). Reading a
// byte is a look-up; integers are stored by saturating bytes, floating types by rounding f32 in registers. Types of 8
// bytes first become f32 rounded to odd, whose rounding to a type of at least two bits less equals rounding them
// directly. A part of convert-inl.h and convert_plain-inl.h.

namespace {

#if RELAYOUT_KERNELS_SIMD

/// What the at most 64 values of a type of one byte are read as, which has one byte, too.
template <DType S>
struct ReadBytes {
  alignas(16) uint8_t to[64];

  ReadBytes() {
    for (int i = 0; i < 64; ++i)
      to[i] = store<read_as(S), float>(load<float, S>(static_cast<uint8_t>(i & ((1 << kBits<S>)-1))));
  }
  template <class D, class V>
  HWY_INLINE V at(D d, V v) const {
    if constexpr (kBits<S> <= 4) return hn::TableLookupBytes(hn::LoadDup128(d, to), v);
    const auto low = hn::And(v, hn::Set(d, uint8_t{15})), high = hn::And(v, hn::Set(d, uint8_t{0x30}));
    auto out = hn::Zero(d);
    for (int k = 0; k < 4; ++k) {
      const auto of16 = hn::TableLookupBytes(hn::LoadDup128(d, to + 16 * k), low);
      out = hn::Or(out, hn::IfThenElseZero(hn::Eq(high, hn::Set(d, static_cast<uint8_t>(16 * k))), of16));
    }
    return out;
  }
};

/// Calls step(i) for registers of `lanes` elements that together cover n or more elements; the last two may overlap.
/// Returns false where there are fewer elements than one register has.
template <class Step>
HWY_INLINE bool by_overlapping(int64_t n, int64_t lanes, Step step) {
  if (n < lanes) return false;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) step(i);
  if (i < n) step(n - lanes);
  return true;
}

HWY_INLINE bool exponents_to_bf16(const std::byte* from, std::byte* to, int64_t n) {
  const Wide<uint16_t> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  return by_overlapping(n, HWY_LANES(uint16_t), [&](int64_t i) HWY_ATTR {
    const auto v = hn::PromoteTo(d, hn::LoadU(bytes, as<uint8_t>(from + i)));
    // 2^-127 is a denormal, and NaN is quiet.
    const auto ends = hn::Or(hn::Eq(v, hn::Zero(d)), hn::Eq(v, hn::Set(d, uint16_t{255})));
    const auto more = hn::IfThenElseZero(ends, hn::Set(d, uint16_t{0x40}));
    hn::StoreU(hn::Or(hn::ShiftLeft<7>(v), more), d, as<uint16_t>(to + 2 * i));
  });
}

template <DType S>
HWY_INLINE bool decode_registers(const std::byte* from, std::byte* to, int64_t n) {
  if constexpr (S == DType::f8_e8m0) {
    return exponents_to_bf16(from, to, n);
  } else {
    static const ReadBytes<S> kTable;
    const Wide<uint8_t> d;
    return by_overlapping(n, HWY_LANES(uint8_t), [&](int64_t i) HWY_ATTR {
      hn::StoreU(kTable.at(d, hn::LoadU(d, as<uint8_t>(from + i))), d, as<uint8_t>(to + i));
    });
  }
}

/// f32_to_f8_e8m0() of core/float.h.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<F32>> to_exponents(Values v) {
  const hn::RebindToUnsigned<F32> u32;
  const hn::RebindToSigned<F32> i32;
  const auto bits = hn::BitCast(i32, v);
  const auto abs = hn::And(bits, hn::Set(i32, 0x7fffffff));
  // The sum of a NaN may have the sign bit; it is shifted as an unsigned one.
  const auto sum = hn::BitCast(u32, hn::Add(abs, hn::Set(i32, 0x400000)));
  const auto rounded = hn::Min(hn::BitCast(i32, hn::ShiftRight<23>(sum)), hn::Set(i32, 255));
  const auto number = hn::IfThenElseZero(hn::Gt(abs, hn::Set(i32, 0x5fffff)), rounded);
  return hn::BitCast(u32, hn::IfThenElse(hn::Gt(bits, hn::Zero(i32)), number, hn::Set(i32, 255)));
}

/// narrow_saturating() of core/float.h, by the sum that rounds in to_f8() of values-inl.h.
template <int kMantissa, int kBias, uint32_t kMost>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<F32>> to_saturated(Values v, float largest) {
  constexpr int kShift = 23 - kMantissa, kSignShift = 32 - std::bit_width(kMost + 1);
  const F32 d;
  const hn::RebindToUnsigned<F32> u32;
  const auto smallest_normal = hn::Set(u32, static_cast<uint32_t>(128 - kBias) << 23);
  const auto is_number = hn::RebindMask(u32, hn::Eq(v, v));
  const auto abs =
      hn::BitCast(d, hn::IfThenElseZero(is_number, hn::BitCast(u32, hn::Min(hn::Abs(v), hn::Set(d, largest)))));
  const auto exponent = hn::And(hn::BitCast(u32, abs), hn::Set(u32, 0x7f800000));
  const auto above = hn::Sub(hn::Max(exponent, smallest_normal), smallest_normal);
  const auto power = hn::Add(above, hn::Set(u32, static_cast<uint32_t>(128 - kBias + kShift) << 23));
  const auto mantissa = hn::Sub(hn::BitCast(u32, hn::Add(abs, hn::BitCast(d, power))), power);
  // A NaN has the other sign.
  const auto sign_bit = hn::Set(u32, kMost + 1);
  const auto sign = hn::Xor(hn::And(hn::ShiftRight<kSignShift>(hn::BitCast(u32, v)), sign_bit),
                            hn::IfThenZeroElse(is_number, sign_bit));
  return hn::Or(hn::Add(hn::ShiftRight<kShift>(above), mantissa), sign);
}

template <DType D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<F32>> to_small(Values v) {
  if constexpr (D == DType::f8_e8m0) return to_exponents(v);
  if constexpr (D == DType::f6_e3m2) return to_saturated<2, 3, 31>(v, 28);
  if constexpr (D == DType::f6_e2m3) return to_saturated<3, 1, 31>(v, 7.5f);
  if constexpr (D == DType::f4_e2m1) return to_saturated<1, 1, 7>(v, 6);
}

template <DType D>
HWY_INLINE bool encode_registers(const std::byte* from, std::byte* to, int64_t n) {
  if constexpr (!kIsFloating<D>) {
    const Wide<Storage<D>> d;
    using T = Storage<D>;
    return by_overlapping(n, HWY_LANES(uint8_t), [&](int64_t i) HWY_ATTR {
      auto v = hn::Min(hn::LoadU(d, as<T>(from + i)), hn::Set(d, static_cast<T>(cast_detail::kMax<D>)));
      if constexpr (kIsSigned<D>) v = hn::Max(v, hn::Set(d, static_cast<T>(cast_detail::kMin<D>)));
      hn::StoreU(v, d, as<T>(to + i));
    });
  } else {
    const hn::RebindToSigned<F32> i32;
    const auto lanes = [&](int64_t i) HWY_ATTR {
      return hn::BitCast(i32, to_small<D>(hn::LoadU(F32(), as<float>(from + 4 * i))));
    };
#if HWY_ARCH_X86
    const auto four = [&](int64_t i) HWY_ATTR {
      hn::StoreU(pack<false>(lanes(i), lanes(i + kValues), lanes(i + 2 * kValues), lanes(i + 3 * kValues)),
                 Wide<uint8_t>(), as<uint8_t>(to + i));
    };
    if (by_overlapping(n, 4 * kValues, four)) return true;
#endif
    return by_overlapping(n, kValues, [&](int64_t i) HWY_ATTR {
      const hn::Rebind<uint8_t, F32> bytes;
      hn::StoreU(hn::DemoteTo(bytes, lanes(i)), bytes, as<uint8_t>(to + i));
    });
  }
}

template <DType S>
HWY_INLINE bool odd_registers(const std::byte* from, std::byte* to, int64_t n) {
  return by_overlapping(n, kValues, [&](int64_t i) HWY_ATTR {
    hn::StoreU(load_narrowed<S, true>(from + 8 * i), F32(), as<float>(to + 4 * i));
  });
}

#else

template <DType S>
bool decode_registers(const std::byte*, std::byte*, int64_t) {
  return false;
}
template <DType D>
bool encode_registers(const std::byte*, std::byte*, int64_t) {
  return false;
}
template <DType S>
bool odd_registers(const std::byte*, std::byte*, int64_t) {
  return false;
}

#endif

template <DType S>
void decode(const std::byte* from, std::byte* to, int64_t n) {
  if (decode_registers<S>(from, to, n)) return;
  constexpr DType kTo = read_as(S);
  for (int64_t i = 0; i < n; ++i)
    set_element<Storage<kTo>>(to, i, store<kTo, float>(load<float, S>(element<Storage<S>>(from, i))));
}

template <DType D>
void encode(const std::byte* from, std::byte* to, int64_t n) {
  if (encode_registers<D>(from, to, n)) return;
  constexpr DType kFrom = stored_from(D);
  for (int64_t i = 0; i < n; ++i)
    set_element<Storage<D>>(to, i, store<D, float>(load<float, kFrom>(element<Storage<kFrom>>(from, i))));
}

template <DType S>
void to_odd(const std::byte* from, std::byte* to, int64_t n) {
  if (odd_registers<S>(from, to, n)) return;
  for (int64_t i = 0; i < n; ++i) {
    const auto value = element<Storage<S>>(from, i);
    if constexpr (S == DType::f64)
      set_element<float>(to, i, f64_to_f32_odd(value));
    else
      set_element<float>(to, i, cast_detail::integer_to_f32_odd(value));
  }
}

void add_small_types(Kernels& k) {
  const auto add = [&]<std::size_t... Place>(std::index_sequence<Place...>) {
    const auto one = [&]<DType kType>(std::integral_constant<DType, kType>) {
      if constexpr (kIsFloating<kType>) k.decode[SmallTypes::place(kType)] = &decode<kType>;
      k.encode[SmallTypes::place(kType)] = &encode<kType>;
    };
    (one(std::integral_constant<DType, SmallTypes::dtype(Place)>()), ...);
  };
  add(std::make_index_sequence<SmallTypes::kCount>());
  k.to_odd = {&to_odd<DType::f64>, &to_odd<DType::s64>, &to_odd<DType::u64>};
}

}  // namespace
