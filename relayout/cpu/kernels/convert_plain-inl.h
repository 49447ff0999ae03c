// Conversions in plain C++: loops over core/float.h and reorder/cast.h, by way of values of the compute type. scalar.cc
// has them for every pair of types that has kernels of its own; the other tables have them where they know nothing
// better (convert-inl.h).

#include "relayout/cpu/kernels/common-inl.h"
//
#include "relayout/cpu/kernels/small_types-inl.h"

namespace {

template <typename C, DType D>
void load_run(const std::byte* src, void* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, load<C, D>(element<Storage<D>>(src, i)));
}

template <typename C, DType D>
void store_run(const void* values, std::byte* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) set_element<Storage<D>>(dst, i, store<D, C>(element<C>(values, i)));
}

/// How one pair of types is converted: the loops, and the bytes of elements.
struct ByWay {
  void (*load)(const std::byte* src, void* values, int64_t n);
  void (*store)(const void* values, std::byte* dst, int64_t n);
  int64_t src_bytes, dst_bytes;
};

/// The formula of reorder/attributes.h without the old value, for values that follow each other.
inline void compute_run(void* values, const RunAttributes& a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t k = a.entry(i, 0);
    const float scaled = (element<float>(values, i) - a.subtracted[k]) * a.src_scale[k] / a.dst_scale[k];
    set_element<float>(values, i, canonical_nan(scaled + a.added[k]));
  }
}

void convert_by_way(const ByWay& way, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs,
                    int64_t runs, int64_t n, const RunAttributes* attributes) {
  constexpr int64_t kChunk = 512;
  alignas(64) std::byte values[kChunk * sizeof(Int128)];
  for (int64_t r = 0; r < runs; ++r) {
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t count = std::min(kChunk, n - i);
      way.load(src + src_runs[r] + i * way.src_bytes, values, count);
      if (attributes) compute_run(values, attributes->from(i, r), count);
      way.store(values, dst + dst_runs[r] + i * way.dst_bytes, count);
    }
  }
}

template <DType S, DType D>
void convert(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs, int64_t n,
             const RunAttributes* attributes, int64_t) {
  constexpr ComputeType kCompute = compute_type(S, D, false);
  using C = std::conditional_t<kCompute == ComputeType::f32, float,
                               std::conditional_t<kCompute == ComputeType::f64, double, Int128>>;
  constexpr ByWay kWay{&load_run<C, S>, &store_run<C, D>, sizeof(Storage<S>), sizeof(Storage<D>)};
  convert_by_way(kWay, src, src_runs, dst, dst_runs, runs, n, attributes);
}

template <std::size_t... Pair>
constexpr std::array<std::array<ConvertKernel, kPairedTypes>, kPairedTypes> convert_table(
    std::index_sequence<Pair...>) {
  std::array<std::array<ConvertKernel, kPairedTypes>, kPairedTypes> out{};
  ((out[Pair / kPairedTypes][Pair % kPairedTypes] =
        &convert<static_cast<DType>(Pair / kPairedTypes), static_cast<DType>(Pair % kPairedTypes)>),
   ...);
  return out;
}

}  // namespace

void add_conversions(Kernels& k) {
  k.convert = convert_table(std::make_index_sequence<kPairedTypes * kPairedTypes>());
  add_small_types(k);
}
