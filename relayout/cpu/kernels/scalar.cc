// The kernels in plain C++ for the compiler's own target.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include "relayout/cpu/kernels/kernels.h"

#define RELAYOUT_KERNELS_SIMD 0

namespace relayout::cpu {

#include "relayout/cpu/kernels/kernels-inl.h"

const Kernels* scalar_kernels() {
  static constexpr Kernels kKernels = make_kernels("scalar");
  return &kKernels;
}

}  // namespace relayout::cpu
