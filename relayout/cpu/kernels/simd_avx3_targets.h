// Targets for families of kernels that gain nothing by AVX3_DL. They are not compiled for AVX3_DL; simd.cc puts the
// kernels of AVX3 into its table instead. To be included before Highway's headers.
#pragma once

#include "relayout/cpu/kernels/simd_targets.h"

#define RELAYOUT_AVX3_DL (1 << 7)
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (RELAYOUT_DISABLED_TARGETS | RELAYOUT_AVX3_DL)
