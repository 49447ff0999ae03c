// The kernels in plain C++ for the compiler's own target.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include "relayout/cpu/kernels/kernels.h"

#define RELAYOUT_KERNELS_SIMD 0

namespace relayout::cpu {
namespace plain {

#include "relayout/cpu/kernels/table-inl.h"
//
#include "relayout/cpu/kernels/compute-inl.h"
#include "relayout/cpu/kernels/convert_bytes-inl.h"
#include "relayout/cpu/kernels/convert_plain-inl.h"
#include "relayout/cpu/kernels/copy-inl.h"
#include "relayout/cpu/kernels/tiles-inl.h"
#include "relayout/cpu/kernels/transpose-inl.h"
#include "relayout/cpu/kernels/transpose_pipelined-inl.h"

}  // namespace plain

const Kernels* scalar_kernels() {
  static const Kernels kKernels = plain::make_kernels("scalar");
  return &kKernels;
}

}  // namespace relayout::cpu
