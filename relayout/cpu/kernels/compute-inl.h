// A family of kernels (common-inl.h): arithmetic on values of a compute type. These are loops that the compiler
// vectorizes for the target at hand.

#include "relayout/cpu/kernels/common-inl.h"

namespace {

template <typename C>
using BitsOf = std::conditional_t<sizeof(C) == 4, uint32_t, uint64_t>;

/// As canonical_nan() of reorder/cast.h, but without a comparison of floating values, of which the compiler makes a
/// branch.
template <typename C>
RELAYOUT_INLINE C without_nan_bits(C value) {
  using Bits = BitsOf<C>;
  constexpr Bits kQuiet = __builtin_bit_cast(Bits, std::numeric_limits<C>::quiet_NaN());
  constexpr Bits kInfinity = __builtin_bit_cast(Bits, std::numeric_limits<C>::infinity());
  const Bits bits = __builtin_bit_cast(Bits, value), abs = bits << 1 >> 1;
  // All ones where the value is a NaN, whose bits are beyond infinity's.
  const Bits nan = static_cast<Bits>(static_cast<std::make_signed_t<Bits>>(kInfinity - abs) >> (8 * sizeof(C) - 1));
  return __builtin_bit_cast(C, (bits & ~nan) | (kQuiet & nan));
}

/// Computes the formula of reorder/attributes.h in its order, with one rounding a step. Steps that are not given change
/// nothing, but only a division takes so long that it is left out.
template <typename C, bool kEach, bool kSums, bool kDivides>
void arithmetic_loop(void* values, const void* old, const AttributeLists<C> a, int64_t n, double beta) {
  const C factor = static_cast<C>(beta);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t k = kEach ? i : 0;
    C value = (element<C>(values, i) - a.subtracted[k]) * a.src_scale[k];
    if constexpr (kSums) {
      const C add = factor * element<C>(old, i);
      value = value + add;
    }
    if constexpr (kDivides) value = value / a.dst_scale[k];
    set_element<C>(values, i, without_nan_bits<C>(value + a.added[k]));
  }
}

template <typename C, bool kEach, bool kSums>
void arithmetic_steps(void* values, const void* old, const AttributeLists<C>& a, int64_t n, double beta) {
  if (a.divides)
    arithmetic_loop<C, kEach, kSums, true>(values, old, a, n, beta);
  else
    arithmetic_loop<C, kEach, kSums, false>(values, old, a, n, beta);
}

template <typename C>
void arithmetic_run(void* values, const void* old, const void* attributes, int64_t n, double beta) {
  const auto& a = *static_cast<const AttributeLists<C>*>(attributes);
  const bool each = a.step == AttributeLists<C>::Step::element;
  if (beta != 0)
    each ? arithmetic_steps<C, true, true>(values, old, a, n, beta)
         : arithmetic_steps<C, false, true>(values, old, a, n, beta);
  else
    each ? arithmetic_steps<C, true, false>(values, old, a, n, beta)
         : arithmetic_steps<C, false, false>(values, old, a, n, beta);
}

}  // namespace

void add_arithmetic(Kernels& k) { k.arithmetic = {&arithmetic_run<float>, &arithmetic_run<double>}; }
