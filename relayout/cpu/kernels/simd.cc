// The kernels by Highway: this file is compiled once for each instruction set of the architecture.
#include <type_traits>
#include <utility>

// Included before any target is set, so that what they define is built for the baseline.
#include "relayout/cpu/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/cpu/kernels/simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef RELAYOUT_ISA_NAME
#define RELAYOUT_ISA_NAME
namespace relayout::cpu {

/// Names as users of the instruction sets write them; which targets exist depends on Highway's version.
constexpr std::string_view isa_name(int64_t target) {
  switch (target) {
    case HWY_SSSE3: return "ssse3";
    case HWY_SSE4: return "sse4";
    case HWY_AVX2: return "avx2";
    case HWY_AVX3: return "avx512";
    case HWY_AVX3_DL: return "avx512_dl";
    case HWY_NEON: return "neon";
#ifdef HWY_SSE2
    case HWY_SSE2: return "sse2";
#endif
#ifdef HWY_AVX3_ZEN4
    case HWY_AVX3_ZEN4: return "avx512_zen4";
#endif
#ifdef HWY_AVX3_SPR
    case HWY_AVX3_SPR: return "avx512_spr";
#endif
#ifdef HWY_NEON_WITHOUT_AES
    case HWY_NEON_WITHOUT_AES: return "neon_without_aes";
#endif
    default: return "simd";
  }
}

}  // namespace relayout::cpu
#endif

#define RELAYOUT_KERNELS_SIMD (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

HWY_BEFORE_NAMESPACE();
namespace relayout::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "relayout/cpu/kernels/kernels-inl.h"

const Kernels* target_kernels() {
  static constexpr Kernels kKernels = make_kernels(isa_name(HWY_TARGET));
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
