// A family of kernels (common-inl.h): conversions between types of a byte of which one is floating. A byte has 256
// values, so a table of them says what each becomes, and permutations of bytes look it up.

#include "relayout/cpu/kernels/common-inl.h"

namespace {

/// What each byte becomes, as the pair's kernel for values that are computed with converts it.
struct ByteTable {
  alignas(64) uint8_t to[256];
  /// Of each half of 128: the first 16 bytes, and how each following 16 differ from the 16 before them.
  alignas(64) uint8_t steps[256];

  explicit ByteTable(ConvertKernel kernel) {
    std::byte all[256];
    for (int i = 0; i < 256; ++i) all[i] = static_cast<std::byte>(i);
    kernel(all, kFirst, reinterpret_cast<std::byte*>(to), kFirst, 1, 256, nullptr, 0);
    for (int i = 0; i < 256; ++i) steps[i] = i % 128 < 16 ? to[i] : to[i] ^ to[i - 16];
  }
};

#if RELAYOUT_KERNELS_SIMD

/// The bytes of a table at the places that are the bytes of `v`.
HWY_INLINE hn::Vec<Wide<uint8_t>> looked_up(const ByteTable& table, hn::Vec<Wide<uint8_t>> v) {
#if HWY_TARGET <= HWY_AVX3_DL
  const auto quarter = [&](int k) HWY_ATTR { return _mm512_load_si512(table.to + 64 * k); };
  const __m512i low = _mm512_permutex2var_epi8(quarter(0), v.raw, quarter(1));
  const __m512i high = _mm512_permutex2var_epi8(quarter(2), v.raw, quarter(3));
  return {_mm512_mask_mov_epi8(low, _mm512_movepi8_mask(v.raw), high)};
#else
  // A lookup of 16 bytes gives 0 where the place's top bit is set: where it is of the other half, and where 16 was
  // subtracted once too often. So all steps up to the place's 16 bytes are put together, and none after them.
  const Wide<uint8_t> d;
  const hn::RebindToSigned<Wide<uint8_t>> i8;
  const auto less16 = [&](auto at)
                          HWY_ATTR { return hn::BitCast(d, hn::SaturatedSub(hn::BitCast(i8, at), hn::Set(i8, 16))); };
  auto low = v, high = hn::Xor(v, hn::Set(d, 0x80)), out = hn::Zero(d);
  for (int k = 0; k < 8; ++k) {
    // x86 takes the low four bits of a place without a top bit; elsewhere these must be all there is.
    const auto at = [&](auto place) HWY_ATTR { return HWY_ARCH_X86 ? place : hn::And(place, hn::Set(d, 0x8f)); };
    const auto step = [&](int i) HWY_ATTR { return hn::LoadDup128(d, table.steps + 16 * i); };
    out = hn::Xor(out,
                  hn::Xor(hn::TableLookupBytesOr0(step(k), at(low)), hn::TableLookupBytesOr0(step(8 + k), at(high))));
    low = less16(low);
    high = less16(high);
  }
  return out;
#endif
}

#endif

/// Converts a run.
RELAYOUT_INLINE void convert_run_of_bytes(const ByteTable& table, const std::byte* from, std::byte* to, int64_t n,
                                          [[maybe_unused]] int64_t ahead) {
  int64_t i = 0;
#if RELAYOUT_KERNELS_SIMD
  const Wide<uint8_t> d;
  constexpr int64_t kRegisterBytes = HWY_LANES(uint8_t);
  for (; i + kRegisterBytes <= n; i += kRegisterBytes) {
    if (ahead != 0 && i % kCacheLine == 0) prefetch(from + i + ahead);
    hn::StoreU(looked_up(table, hn::LoadU(d, as<uint8_t>(from + i))), d, as<uint8_t>(to + i));
  }
  if (i < n && n >= kRegisterBytes) {
    // The last bytes make a register with some that are converted already.
    i = n - kRegisterBytes;
    hn::StoreU(looked_up(table, hn::LoadU(d, as<uint8_t>(from + i))), d, as<uint8_t>(to + i));
    return;
  }
#if HWY_TARGET <= HWY_AVX3_DL
  if (i < n) {
    const __mmask64 some = (uint64_t{1} << n) - 1;
    _mm512_mask_storeu_epi8(to, some, looked_up(table, {_mm512_maskz_loadu_epi8(some, from)}).raw);
    return;
  }
#endif
#endif
  for (; i < n; ++i) to[i] = static_cast<std::byte>(table.to[static_cast<uint8_t>(from[i])]);
}

/// The kernel of a pair for values that are computed with; known once this family has entered its kernels.
template <DType S, DType D>
ConvertKernel computing_kernel = nullptr;

/// All pairs share one loop, so that it is compiled once for each instruction set.
__attribute__((noinline)) void convert_runs_of_bytes(const ByteTable& table, const std::byte* src, Starts src_runs,
                                                     std::byte* dst, Starts dst_runs, int64_t runs, int64_t n,
                                                     int64_t ahead) {
  for (int64_t r = 0; r < runs; ++r) convert_run_of_bytes(table, src + src_runs[r], dst + dst_runs[r], n, ahead);
}

template <DType S, DType D>
void convert_bytes(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs, int64_t n,
                   const RunAttributes* attributes, int64_t ahead) {
  if (attributes) return computing_kernel<S, D>(src, src_runs, dst, dst_runs, runs, n, attributes, ahead);
  static const ByteTable kTable(computing_kernel<S, D>);
  convert_runs_of_bytes(kTable, src, src_runs, dst, dst_runs, runs, n, ahead);
}

template <std::size_t kPair>
void add_byte_conversion(Kernels& k) {
  constexpr auto kFrom = static_cast<DType>(kPair / kPairedTypes), kTo = static_cast<DType>(kPair % kPairedTypes);
  if constexpr (kBits<kFrom> == 8 && kBits<kTo> == 8 && kFrom != kTo && (kIsFloating<kFrom> || kIsFloating<kTo>)) {
    auto& kernel = k.convert[static_cast<std::size_t>(kFrom)][static_cast<std::size_t>(kTo)];
    computing_kernel<kFrom, kTo> = kernel;
    kernel = &convert_bytes<kFrom, kTo>;
  }
}

}  // namespace

void add_byte_conversions(Kernels& k) {
  [&]<std::size_t... Pair>(std::index_sequence<Pair...>) { (add_byte_conversion<Pair>(k), ...); }
  (std::make_index_sequence<kPairedTypes * kPairedTypes>());
}
