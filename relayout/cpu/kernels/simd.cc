// The kernels by Highway: this file is compiled once for each instruction set of the architecture.
#include <type_traits>
#include <utility>

// Included before any target is set, so that what they define is built for the baseline.
#include "relayout/cpu/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/cpu/kernels/simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#define RELAYOUT_KERNELS_SIMD (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

HWY_BEFORE_NAMESPACE();
namespace relayout::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "relayout/cpu/kernels/kernels-inl.h"

const Kernels* target_kernels() {
  static constexpr Kernels kKernels = make_kernels(HWY_TARGET == HWY_AVX3 ? "avx512" : HWY_TARGET == HWY_AVX2 ? "avx2"
                                                   : HWY_TARGET == HWY_SSE4 ? "sse4" : HWY_TARGET == HWY_SSSE3 ? "ssse3"
                                                   : HWY_TARGET == HWY_NEON ? "neon" : "simd");
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace relayout::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace relayout::cpu {

HWY_EXPORT(target_kernels);

int simd_kernels(std::span<const Kernels*> out) {
  // Highway dispatches to one target; mocking the supported set target by target lists them all.
  int count = 0;
  std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  for (auto it = targets.rbegin(); it != targets.rend(); ++it) {  // best comes first there
    if (*it == HWY_SCALAR || *it == HWY_EMU128 || count == static_cast<int>(out.size())) continue;
    hwy::SetSupportedTargetsForTest(*it);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    out[static_cast<std::size_t>(count++)] = HWY_DYNAMIC_DISPATCH(target_kernels)();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return count;
}

}  // namespace relayout::cpu
#endif
