// A family of kernels (common-inl.h): arithmetic on values of a compute type. These are loops that the compiler
// vectorizes for the target at hand.

#include "relayout/cpu/kernels/common-inl.h"

namespace {

/// Computes the formula of reorder/attributes.h step by step, in its order, with one rounding a step.
template <typename C>
void arithmetic_run(void* values, const void* old, const void* with, int64_t stride, int64_t n, const Arithmetic& a) {
  using Of = AttributeValuesOf<C>;
  const auto* const attributes = static_cast<const Of*>(with);
  const auto each = [&](auto member, auto step) __attribute__((always_inline)) {
    if (stride == 0) {
      const C constant = attributes->*member;
      for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, step(element<C>(values, i), constant));
    } else {
      for (int64_t i = 0; i < n; ++i) {
        set_element<C>(values, i, step(element<C>(values, i), attributes[i * stride].*member));
      }
    }
  };
  if (a.subtracted) each(&Of::subtracted, [](C x, C y) { return x - y; });
  if (a.src_scale) each(&Of::src_scale, [](C x, C y) { return x * y; });
  if (a.beta != 0) {
    for (int64_t i = 0; i < n; ++i) {
      const C add = static_cast<C>(a.beta) * element<C>(old, i);
      set_element<C>(values, i, element<C>(values, i) + add);
    }
  }
  if (a.dst_scale) each(&Of::dst_scale, [](C x, C y) { return x / y; });
  if (a.added) each(&Of::added, [](C x, C y) { return x + y; });
  for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, canonical_nan(element<C>(values, i)));
}

}  // namespace

void add_arithmetic(Kernels& k) { k.arithmetic = {&arithmetic_run<float>, &arithmetic_run<double>}; }
