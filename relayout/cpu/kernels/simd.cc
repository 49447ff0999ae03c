// The tables of the kernels by Highway, one for each instruction set of the architecture, joined from the families
// (simd_*.cc).
#include "relayout/cpu/kernels/kernels.h"
#include "relayout/cpu/kernels/simd_targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/cpu/kernels/simd.cc"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

#ifndef RELAYOUT_ISA_NAME
#define RELAYOUT_ISA_NAME
namespace relayout::cpu {

/// The names of instruction sets, as users write them. Which targets exist depends on Highway's version.
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

// Families in which AVX3_DL has nothing that AVX3 has not: they are compiled for AVX3 alone (simd_avx3_targets.h).
namespace relayout::cpu::N_AVX3 {
void add_tiles(Kernels& k);
void add_conversions(Kernels& k);
void add_arithmetic(Kernels& k);
}  // namespace relayout::cpu::N_AVX3

HWY_BEFORE_NAMESPACE();
namespace relayout::cpu {
namespace HWY_NAMESPACE {

#undef RELAYOUT_FAMILIES_OF_AVX3
#if HWY_TARGET == HWY_AVX3_DL
#define RELAYOUT_FAMILIES_OF_AVX3
using N_AVX3::add_arithmetic;
using N_AVX3::add_conversions;
using N_AVX3::add_tiles;
#endif
#include "relayout/cpu/kernels/table-inl.h"

const Kernels* target_kernels() {
  static const Kernels kKernels = make_kernels(isa_name(HWY_TARGET));
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace relayout::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace relayout::cpu {

// Names each target's table instead of using Highway's dispatch, because that has one chosen target for the whole
// program, which this library must not change. In the #if conditions below, the bit of a target is 0 where the
// installed Highway does not know that target, so that its macro is undefined, or does not compile it.
int simd_kernels(std::span<const Kernels*> out) noexcept {
  const int64_t supported = hwy::SupportedTargets();
  int count = 0;
  [[maybe_unused]] const auto add = [&](int64_t target, const Kernels* (*table)()) {
    if ((supported & target) != 0 && count < static_cast<int>(out.size()))
      out[static_cast<std::size_t>(count++)] = table();
  };
#if HWY_TARGETS & HWY_SSE2
  add(HWY_SSE2, &N_SSE2::target_kernels);
#endif
#if HWY_TARGETS & HWY_SSSE3
  add(HWY_SSSE3, &N_SSSE3::target_kernels);
#endif
#if HWY_TARGETS & HWY_SSE4
  add(HWY_SSE4, &N_SSE4::target_kernels);
#endif
#if HWY_TARGETS & HWY_AVX2
  add(HWY_AVX2, &N_AVX2::target_kernels);
#endif
#if HWY_TARGETS & HWY_AVX3
  add(HWY_AVX3, &N_AVX3::target_kernels);
#endif
#if HWY_TARGETS & HWY_AVX3_DL
  add(HWY_AVX3_DL, &N_AVX3_DL::target_kernels);
#endif
#if HWY_TARGETS & HWY_AVX3_ZEN4
  add(HWY_AVX3_ZEN4, &N_AVX3_ZEN4::target_kernels);
#endif
#if HWY_TARGETS & HWY_AVX3_SPR
  add(HWY_AVX3_SPR, &N_AVX3_SPR::target_kernels);
#endif
#if HWY_TARGETS & HWY_NEON_WITHOUT_AES
  add(HWY_NEON_WITHOUT_AES, &N_NEON_WITHOUT_AES::target_kernels);
#endif
#if HWY_TARGETS & HWY_NEON
  add(HWY_NEON, &N_NEON::target_kernels);
#endif
#if !HWY_ARCH_X86 && !HWY_ARCH_ARM && HWY_STATIC_TARGET != HWY_SCALAR && HWY_STATIC_TARGET != HWY_EMU128
  add(HWY_STATIC_TARGET, &HWY_STATIC_DISPATCH(target_kernels));
#endif
  return count;
}

}  // namespace relayout::cpu
#endif
