// Targets of families of kernels in which AVX3_DL has nothing that AVX3 has not: they are compiled for AVX3 alone, and
// simd.cc puts them into the table of AVX3_DL too. To be included before Highway's headers.
#pragma once

#include "relayout/cpu/kernels/simd_targets.h"

#define RELAYOUT_AVX3_DL (1 << 7)
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (RELAYOUT_DISABLED_TARGETS | RELAYOUT_AVX3_DL)
