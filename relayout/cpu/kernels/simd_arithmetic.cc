// Compiles the arithmetic on values (compute-inl.h) for each of Highway's targets.
#include "relayout/cpu/kernels/simd_avx3_targets.h"
#define RELAYOUT_FAMILY "relayout/cpu/kernels/compute-inl.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/cpu/kernels/simd_family-inl.h"
#include "relayout/cpu/kernels/simd_family-inl.h"
