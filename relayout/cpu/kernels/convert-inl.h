// Conversions of values in registers, for kernels-inl.h: from and to f32, one load, one multiplication where it is
// asked for, one store. They equal the loops over reorder/cast.h bit by bit, which also do what is left over at the
// end. No include guard: it is included once a target.

#if RELAYOUT_KERNELS_SIMD

using F32 = hn::ScalableTag<float>;
using Values = hn::Vec<F32>;

/// Whether load_values and store_values know a type. f16 needs the instructions of F16C, which come with AVX2.
template <DType D>
constexpr bool kInRegisters = D == DType::f32 || D == DType::bf16 || D == DType::u8 || D == DType::s8 ||
                              (D == DType::f16 && HWY_TARGET <= HWY_AVX2);

template <DType D>
HWY_INLINE Values load_values(const std::byte* from) {
  const F32 d;
  const hn::RebindToSigned<F32> d32;
  if constexpr (D == DType::f32) {
    return hn::LoadU(d, as<float>(from));
  } else if constexpr (D == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> half;
    return hn::PromoteTo(d, hn::LoadU(half, as<hwy::float16_t>(from)));
  } else if constexpr (D == DType::bf16) {
    const hn::Rebind<uint16_t, F32> half;
    const hn::RebindToUnsigned<F32> u32;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u32, hn::LoadU(half, as<uint16_t>(from)))));
  } else {
    const hn::Rebind<Storage<D>, F32> narrow;
    return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(narrow, as<Storage<D>>(from))));
  }
}

template <DType D>
HWY_INLINE void store_values(Values v, std::byte* to) {
  const F32 d;
  if constexpr (D == DType::f32) {
    hn::StoreU(v, d, as<float>(to));
  } else if constexpr (D == DType::f16) {
    const hn::Rebind<hwy::float16_t, F32> half;
    hn::StoreU(hn::DemoteTo(half, v), half, as<hwy::float16_t>(to));
  } else if constexpr (D == DType::bf16) {
    // f32_to_bf16() of core/float.h. Both ways leave the result in the low half.
    const hn::RebindToUnsigned<F32> u32;
    const auto bits = hn::BitCast(u32, v);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto even = hn::And(upper, hn::Set(u32, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(u32, 0x7fff)), even));
    const auto number = hn::RebindMask(u32, hn::Eq(v, v));
    const hn::Rebind<uint16_t, F32> half;
    const auto chosen = hn::IfThenElse(number, rounded, hn::Or(upper, hn::Set(u32, 0x40)));
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(hn::RebindToSigned<F32>(), chosen)), half, as<uint16_t>(to));
  } else {
    constexpr float kLow = D == DType::s8 ? -128.0f : 0.0f, kHigh = D == DType::s8 ? 127.0f : 255.0f;
    const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
    const auto inside = hn::Min(hn::Max(number, hn::Set(d, kLow)), hn::Set(d, kHigh));
    const hn::Rebind<Storage<D>, F32> narrow;
    hn::StoreU(hn::DemoteTo(narrow, hn::NearestInt(inside)), narrow, as<Storage<D>>(to));
  }
}

template <DType S, DType D>
void convert_run(const std::byte* src, std::byte* dst, int64_t n, const float* scale) {
  const F32 d;
  constexpr int64_t kSrc = sizeof(Storage<S>), kDst = sizeof(Storage<D>);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (scale) {
    const auto factor = hn::Set(d, *scale), quiet = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
    for (; i + lanes <= n; i += lanes) {
      const auto scaled = hn::Mul(load_values<S>(src + i * kSrc), factor);
      store_values<D>(hn::IfThenElse(hn::Eq(scaled, scaled), scaled, quiet), dst + i * kDst);
    }
  } else {
    for (; i + lanes <= n; i += lanes) store_values<D>(load_values<S>(src + i * kSrc), dst + i * kDst);
  }
  for (; i < n; ++i) {
    const float value = load<float, S>(element<Storage<S>>(src, i));
    set_element<Storage<D>>(dst, i, store<D, float>(scale ? canonical_nan(value * *scale) : value));
  }
}

template <DType S, DType D>
constexpr ConvertKernel convert_kernel() {
  if constexpr (kInRegisters<S> && kInRegisters<D>)
    return &convert_run<S, D>;
  else
    return nullptr;
}

#else

template <DType S, DType D>
constexpr ConvertKernel convert_kernel() {
  return nullptr;
}

#endif
