// A family of kernels (common-inl.h): conversions of runs in registers. A pair of types has a step, which converts as
// many elements as one register holds of the wider type, and a loop around it. What is too short for a step, and stores
// past the cache, go by way of memory in the first-level cache, by functions that all pairs share.

#include "relayout/cpu/kernels/common-inl.h"

#if RELAYOUT_KERNELS_SIMD

#include "relayout/cpu/kernels/convert_stream-inl.h"
#include "relayout/cpu/kernels/convert_turns-inl.h"
#include "relayout/cpu/kernels/wide_values-inl.h"
//
#include "relayout/cpu/kernels/small_types-inl.h"

namespace {

/// Whether a pair is converted as integers; otherwise whether it goes by way of f64; all others go by way of f32.
template <DType S, DType D>
constexpr bool kByIntegers = !kIsFloating<S> && !kIsFloating<D>;
template <DType S, DType D>
constexpr bool kByDoubles = !kByIntegers<S, D> && (kBits<D> == 64 || (S == DType::f64 && !kIsFloating<D>));

/// Whether the processor converts single elements of a pair faster than registers: x86 has an instruction for s64 to
/// f32, which only AVX-512 has for registers.
template <DType S, DType D>
constexpr bool kByElements = HWY_ARCH_X86_64&& HWY_TARGET > HWY_AVX3&& S == DType::s64&& D == DType::f32;

template <int64_t kCount>
HWY_INLINE void convert_elements(const std::byte* from, std::byte* to) {
  for (int64_t k = 0; k < kCount; ++k) {
    int64_t element;
    __builtin_memcpy(&element, from + k * 8, 8);
    const auto value = static_cast<float>(element);
    __builtin_memcpy(to + k * 4, &value, 4);
  }
}

/// Extends integers to wider lanes.
template <class To, typename From, class V>
HWY_INLINE hn::Vec<To> widen(To d, V v) {
  using T = hn::TFromD<To>;
  if constexpr (sizeof(From) == sizeof(T)) {
    return v;
  } else if constexpr (sizeof(T) == 8 && sizeof(From) < 4) {
    const hn::Rebind<std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>, To> half;
    return hn::PromoteTo(d, hn::PromoteTo(half, v));
  } else {
    return hn::PromoteTo(d, v);
  }
}

/// Converts a register of integers, by lanes as wide as the wider type: they are extended, saturated and cut.
template <DType S, DType D>
HWY_INLINE void convert_integers(const std::byte* from, std::byte* to) {
  using namespace cast_detail;
  constexpr std::size_t kBytes = std::max(sizeof(Storage<S>), sizeof(Storage<D>));
  // Any value but 0 becomes true, the negative ones by being large.
  constexpr bool kSigned = kIsSigned<S> && D != DType::boolean;
  using Unsigned = hwy::UnsignedFromSize<kBytes>;
  using Lane = std::conditional_t<kSigned, std::make_signed_t<Unsigned>, Unsigned>;
  using From = std::conditional_t<kSigned, Storage<S>, std::make_unsigned_t<Storage<S>>>;
  const Wide<Lane> d;
  const hn::Rebind<From, Wide<Lane>> narrow;
  auto elements = hn::LoadU(narrow, as<From>(from));
  if constexpr (S == DType::boolean) elements = hn::Min(elements, hn::Set(narrow, 1));
  constexpr Int128 kLeast = kSigned ? kMin<S> : Int128{0};
  // In a wider type only an unsigned one has no room for negative values, and narrow lanes take fewer instructions.
  constexpr bool kWidens = sizeof(Storage<D>) > sizeof(Storage<S>);
  if constexpr (kWidens && kLeast < kMin<D>) elements = hn::Max(elements, hn::Zero(narrow));
  auto v = widen<Wide<Lane>, From>(d, elements);
  constexpr Int128 kMost = S == DType::boolean ? Int128{1} : kMax<S>;
  constexpr Int128 kHigh = D == DType::boolean ? Int128{1} : kMax<D>;
  if constexpr (!kWidens && kLeast < kMin<D>) v = hn::Max(v, hn::Set(d, static_cast<Lane>(kMin<D>)));
  if constexpr (kMost > kHigh) v = hn::Min(v, hn::Set(d, static_cast<Lane>(kHigh)));
  const Wide<Unsigned> u;
  store_low(u, hn::BitCast(u, v), as<std::make_unsigned_t<Storage<D>>>(to));
}

/// Loads a register of values of S, from which D is stored.
template <DType S, DType D>
HWY_INLINE Values load_for(const std::byte* from) {
  if constexpr (kBits<S> < 64)
    return load_values<S>(from);
  else if constexpr (!kIsFloating<S> && D != DType::f32 && D != DType::bf16)
    return load_saturated<S>(from);
  else
    return load_narrowed<S, D != DType::f32>(from);
}

/// Whether integers of at most 4 bytes are made of wider types by the instructions that pack and saturate.
template <DType S, DType D>
constexpr bool kByPacking = RELAYOUT_PACKS && !kByElements<S, D> && !kIsFloating<D> && kBits<D> <= 32 &&
                            sizeof(Storage<S>) > sizeof(Storage<D>) && (kByIntegers<S, D> || S == DType::f64);

/// How the elements of a register, from element i of a run on, are converted. Where kJoins, `joined` makes a register
/// of D, which is a narrow type, of several of S. With attributes, all go by way of f32.
template <DType S, DType D>
struct Plainly {
  static constexpr int64_t kSrc = sizeof(Storage<S>), kDst = sizeof(Storage<D>);
  static constexpr bool kByValues = !kByIntegers<S, D> && !kByDoubles<S, D>;
  static constexpr bool kByLanes = kByPacking<S, D> && kSrc >= 4;
  // Bytes of an element where it has most of them: in memory, or as a value.
  static constexpr int64_t kWidest = std::max(std::max(kSrc, kDst), int64_t{kByValues ? 4 : 1});
  static constexpr bool kJoins = kDst < 4 && (kByValues ? HWY_ARCH_X86 != 0 : kByPacking<S, D>);
  static constexpr int64_t kCount = kByElements<S, D> ? kCacheLine / kDst
                                    : kByIntegers<S, D> && !kByLanes
                                        ? static_cast<int64_t>(HWY_LANES(uint8_t)) / std::max(kSrc, kDst)
                                        : kValues;

  HWY_INLINE void step(const std::byte* from, std::byte* to, int64_t) const {
    if constexpr (kByElements<S, D>) convert_elements<kCount>(from, to);
#if RELAYOUT_PACKS
    else if constexpr (kByLanes)
      store_lanes<D>(lanes(from), to);
#endif
    else if constexpr (kByIntegers<S, D>)
      convert_integers<S, D>(from, to);
    else if constexpr (kByDoubles<S, D>)
      store_doubles<D>(load_doubles<S>(from), to);
    else
      store_values<D>(load_for<S, D>(from), to);
  }
#if HWY_ARCH_X86
  HWY_INLINE Bytes joined(const std::byte* from, int64_t) const {
#if RELAYOUT_PACKS
    if constexpr (kByLanes)
      return pack_lanes<D>([&](int64_t k) HWY_ATTR { return lanes(from + k * kValues * kSrc); });
    else if constexpr (kByIntegers<S, D>)
      return pack_bytes<S, D>(from);
    else
#endif
      return narrow_register<D>([&](int64_t k) HWY_ATTR { return load_for<S, D>(from + k * kValues * kSrc); });
  }
#endif

 private:
#if RELAYOUT_PACKS
  HWY_INLINE static Lanes lanes(const std::byte* from) {
    if constexpr (kByIntegers<S, D>)
      return lanes_of_integers<S, D>(from);
    else
      return lanes_of_doubles<D>(load_doubles<S>(from));
  }
#endif
};
/// With attribute values for each element, or for each run.
template <DType S, DType D, bool kEach>
struct Computed {
  static constexpr int64_t kSrc = sizeof(Storage<S>), kDst = sizeof(Storage<D>);
  static constexpr bool kJoins = kDst < 4 && HWY_ARCH_X86;
  // The arithmetic takes longer than the loop, so that there is no gain in turns of several registers.
  static constexpr int64_t kWidest = kCacheLine;
  static constexpr int64_t kCount = kValues;
  // A copy, because a store of an element could change what is behind a pointer, as far as the compiler knows.
  const RunAttributes attributes;
  const Arithmetics<D> compute;  // of a run

  HWY_INLINE Computed(const RunAttributes& a, int64_t run) : attributes(a), compute(a, run) {}
  HWY_INLINE void step(const std::byte* from, std::byte* to, int64_t i) const { store_values<D>(values(from, i), to); }
#if HWY_ARCH_X86
  HWY_INLINE Bytes joined(const std::byte* from, int64_t i) const {
    return narrow_register<D>([&](int64_t k) HWY_ATTR { return values(from + k * kValues * kSrc, i + k * kValues); });
  }
#endif

 private:
  HWY_INLINE Values values(const std::byte* from, int64_t i) const {
    if constexpr (kEach)
      return computed_at<D>(load_values<S>(from), attributes, i);
    else
      return compute(load_values<S>(from));
  }
};

/// Copies up to a few lines, by as few loads and stores as there are lines.
HWY_INLINE void copy_few(const std::byte* src, std::byte* dst, int64_t bytes) {
#if HWY_TARGET <= HWY_AVX3
  for (; bytes > 0; bytes -= kCacheLine, src += kCacheLine, dst += kCacheLine) {
    const __mmask64 some = bytes < kCacheLine ? (uint64_t{1} << bytes) - 1 : ~uint64_t{0};
    _mm512_mask_storeu_epi8(dst, some, _mm512_maskz_loadu_epi8(some, src));
  }
#else
  if (bytes <= kCacheLine) return copy_short(src, dst, bytes);
  __builtin_memcpy(dst, src, static_cast<std::size_t>(bytes));
#endif
}

/// Attribute values of the elements of some runs of n elements each as those of one run.
class JoinedAttributes {
 public:
  static constexpr int64_t kMost = 256 + 64;

  JoinedAttributes(const RunAttributes& of, int64_t first, int64_t runs, int64_t n) : divides_(of.divides) {
    const float* const from[] = {of.src_scale, of.dst_scale, of.subtracted, of.added};
    for (std::size_t k = 0; k < 4; ++k) {
      for (int64_t r = 0; r < runs; ++r) {
        for (int64_t i = 0; i < n; ++i) lists_[k][r * n + i] = from[k][of.entry(i, first + r)];
      }
    }
  }
  RunAttributes lists() const {
    return {lists_[0], lists_[1], lists_[2], lists_[3], RunAttributes::Step::element, divides_};
  }

 private:
  float lists_[4][kMost] = {};  // a step may read more than there are
  bool divides_;
};

/// Converts runs that are shorter than a step. `least` elements or more can be converted by `convert`: these are runs
/// in memory that follow each other.
HWY_NOINLINE void convert_short(ConvertKernel convert, int64_t least, int64_t src_bytes, int64_t dst_bytes,
                                const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs,
                                int64_t n, const RunAttributes* attributes, int64_t ahead) {
  constexpr int64_t kMost = 256;
  alignas(64) std::byte from[(kMost + 64) * 8], to[(kMost + 64) * 8];
  if (n == 0) return;
  const int64_t together = kMost / n;
  std::optional<JoinedAttributes> joined;
  RunAttributes lists{};
  const RunAttributes* with = attributes;
  for (int64_t first = 0; first < runs; first += together) {
    const int64_t count = std::min(together, runs - first);
    const int64_t src_run = n * src_bytes, dst_run = n * dst_bytes;
    for (int64_t r = 0; r < count; ++r) {
      const std::byte* const at = src + src_runs[first + r];
      if (ahead != 0) prefetch(at + ahead);
      copy_few(at, from + r * src_run, src_run);
    }
    using Step = RunAttributes::Step;
    if (attributes && (attributes->step == Step::run || (attributes->step == Step::element && first == 0))) {
      lists = joined.emplace(*attributes, first, count, n).lists();
      with = &lists;
    }
    convert(from, kFirst, to, kFirst, 1, std::max(count * n, least), with, 0);
    for (int64_t r = 0; r < count; ++r) copy_few(to + r * dst_run, dst + dst_runs[first + r], dst_run);
  }
}

/// The types that most models and images have.
template <DType D>
constexpr bool kUsual = kIsFloating<D> ? kBits<D> >= 16 : D == DType::s32 || D == DType::s8 || D == DType::u8;

/// Whether a pair's kernel computes with attribute values of a run as it converts, which doubles its code. The other
/// pairs convert by way of f32.
template <DType S, DType D>
constexpr bool kComputesRuns = (kUsual<S> && kUsual<D>) || S == DType::f32 || D == DType::f32;

/// Converts runs with attribute values by way of f32 in the first-level cache. Values of a run are computed by the
/// kernel that loads; values of each element between loading and storing.
struct ByF32 {
  ConvertKernel convert, load, store;
  int64_t src_bytes, dst_bytes;
};
HWY_NOINLINE void convert_by_f32(const ByF32& way, const std::byte* src, Starts src_runs, std::byte* dst,
                                 Starts dst_runs, int64_t runs, int64_t n, const RunAttributes& attributes,
                                 int64_t ahead) {
  constexpr int64_t kChunk = 512;
  const F32 d;
  const bool each = attributes.step == RunAttributes::Step::element;
  if (n < kValues && !each)
    return convert_short(way.convert, kValues, way.src_bytes, way.dst_bytes, src, src_runs, dst, dst_runs, runs, n,
                         &attributes, ahead);
  alignas(64) float values[kChunk + kValues];
  const auto as_bytes = [](float* at) { return reinterpret_cast<std::byte*>(at); };
  for (int64_t r = 0; r < runs; ++r) {
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t count = std::min(kChunk, n - i);
      const RunAttributes from_here = attributes.from(i, r);
      way.load(src + src_runs[r] + i * way.src_bytes, kFirst, as_bytes(values), kFirst, 1, count,
               each ? nullptr : &from_here, ahead);
      int64_t k = each ? 0 : count;
      for (; k + kValues <= count; k += kValues)
        hn::Store(computed_at<DType::f32>(hn::Load(d, values + k), from_here, k), d, values + k);
      for (; k < count; ++k) {
        const float scaled = (values[k] - from_here.subtracted[k]) * from_here.src_scale[k] / from_here.dst_scale[k];
        values[k] = canonical_nan(scaled + from_here.added[k]);
      }
      way.store(as_bytes(values), kFirst, dst + dst_runs[r] + i * way.dst_bytes, kFirst, 1, count, nullptr, 0);
    }
  }
}

template <DType S, DType D>
void convert(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs, int64_t n,
             const RunAttributes* attributes, int64_t ahead) {
  constexpr int64_t kSrc = sizeof(Storage<S>), kDst = sizeof(Storage<D>);
  // how_of(r): how the elements of run r are converted.
  const auto all = [&]<class How>(std::type_identity<How>, auto how_of) HWY_ATTR {
    constexpr int64_t kCount = How::kCount;
    if (n < kCount)
      return convert_short(&convert<S, D>, kCount, kSrc, kDst, src, src_runs, dst, dst_runs, runs, n, attributes,
                           ahead);
    for (int64_t r = 0; r < runs; ++r) convert_run(how_of(r), src + src_runs[r], dst + dst_runs[r], n, ahead);
  };
  if constexpr (compute_type(S, D, true) == ComputeType::f32) {
    if (attributes) {
      const bool each = attributes->step == RunAttributes::Step::element;
      if constexpr (kUsual<S> && kUsual<D>) {
        if (each) {
          return all(std::type_identity<Computed<S, D, true>>(),
                     [&](int64_t run) HWY_ATTR { return Computed<S, D, true>(*attributes, run); });
        }
      }
      if constexpr (kComputesRuns<S, D>) {
        if (!each) {
          return all(std::type_identity<Computed<S, D, false>>(),
                     [&](int64_t run) HWY_ATTR { return Computed<S, D, false>(*attributes, run); });
        }
      }
      if constexpr (!kUsual<S> || !kUsual<D>) {
        constexpr ByF32 kWay{&convert<S, D>, &convert<S, DType::f32>, &convert<DType::f32, D>, kSrc, kDst};
        return convert_by_f32(kWay, src, src_runs, dst, dst_runs, runs, n, *attributes, ahead);
      }
    }
  }
  all(std::type_identity<Plainly<S, D>>(), [](int64_t) HWY_ATTR { return Plainly<S, D>(); });
}

/// The kernel of a pair; null where a type is not known here.
template <std::size_t kPair>
constexpr ConvertKernel convert_kernel() {
  constexpr auto kFrom = static_cast<DType>(kPair / kPairedTypes), kTo = static_cast<DType>(kPair % kPairedTypes);
  if constexpr (kInRegisters<kFrom> && kInRegisters<kTo>)
    return &convert<kFrom, kTo>;
  else
    return nullptr;
}

template <std::size_t... Pair>
void add_pairs(Kernels& k, std::index_sequence<Pair...>) {
  constexpr ConvertKernel kKernels[] = {convert_kernel<Pair>()...};
  for (std::size_t i = 0; i < std::size(kKernels); ++i) {
    if (kKernels[i]) k.convert[i / kPairedTypes][i % kPairedTypes] = kKernels[i];
  }
}

}  // namespace

void add_conversions(Kernels& k) {
  k.convert = scalar_kernels()->convert;
  add_pairs(k, std::make_index_sequence<kPairedTypes * kPairedTypes>());
  add_small_types(k);
  k.convert_stream = &convert_stream;
}

#else

void add_conversions(Kernels& k) {
  k.convert = scalar_kernels()->convert;
  k.decode = scalar_kernels()->decode;
  k.encode = scalar_kernels()->encode;
  k.to_odd = scalar_kernels()->to_odd;
}

#endif
