// Tiles by Highway.
#include "relayout/cpu/kernels/simd_avx3_targets.h"
#define RELAYOUT_FAMILY "relayout/cpu/kernels/tiles-inl.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/cpu/kernels/simd_family-inl.h"
#include "relayout/cpu/kernels/simd_family-inl.h"
