// A family of kernels (common-inl.h): conversions by way of a compute type. These are loops over core/float.h and
// reorder/cast.h that the compiler vectorizes for the target at hand.

#include "relayout/cpu/kernels/common-inl.h"

namespace {

template <typename C, DType D>
void load_run(const std::byte* src, void* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, load<C, D>(element<Storage<D>>(src, i)));
}

template <typename C, DType D>
void store_run(const void* values, std::byte* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) set_element<Storage<D>>(dst, i, store<D, C>(element<C>(values, i)));
}

/// Computes the formula of reorder/attributes.h step by step, in its order, with one rounding a step.
template <typename C>
void arithmetic_run(void* values, const void* old, const AttributeValues* attributes, int64_t stride, int64_t n,
                    const Arithmetic& a) {
  const auto each = [&](auto member, auto step) __attribute__((always_inline)) {
    if (stride == 0) {
      const C constant = static_cast<C>(attributes->*member);
      for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, step(element<C>(values, i), constant));
    } else {
      for (int64_t i = 0; i < n; ++i) {
        set_element<C>(values, i, step(element<C>(values, i), static_cast<C>(attributes[i * stride].*member)));
      }
    }
  };
  if (a.src_zero_point) each(&AttributeValues::src_zero_point, [](C x, C y) { return x - y; });
  if (a.src_scale) each(&AttributeValues::src_scale, [](C x, C y) { return x * y; });
  if (a.beta != 0) {
    for (int64_t i = 0; i < n; ++i) {
      const C add = static_cast<C>(a.beta) * element<C>(old, i);
      set_element<C>(values, i, element<C>(values, i) + add);
    }
  }
  if (a.dst_scale) each(&AttributeValues::dst_scale, [](C x, C y) { return x / y; });
  if (a.dst_zero_point) each(&AttributeValues::dst_zero_point, [](C x, C y) { return x + y; });
  for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, canonical_nan(element<C>(values, i)));
}

template <typename C, std::size_t... D>
constexpr std::array<LoadKernel, kDTypeCount> load_row(std::index_sequence<D...>) {
  constexpr auto kernel = []<DType kType>() -> LoadKernel {
    if constexpr (kIsFloating<kType> && !std::is_floating_point_v<C>)
      return nullptr;
    else
      return &load_run<C, kType>;
  };
  return {kernel.template operator()<static_cast<DType>(D)>()...};
}

template <typename C, std::size_t... D>
constexpr std::array<StoreKernel, kDTypeCount> store_row(std::index_sequence<D...>) {
  return {&store_run<C, static_cast<DType>(D)>...};
}

}  // namespace

void add_arithmetic(Kernels& k) {
  constexpr auto all = std::make_index_sequence<kDTypeCount>();
  k.load = {load_row<float>(all), load_row<double>(all), load_row<Int128>(all)};
  k.store = {store_row<float>(all), store_row<double>(all), store_row<Int128>(all)};
  k.arithmetic = {&arithmetic_run<float>, &arithmetic_run<double>};
}
