// Copies, lines made by permutations, and fills by Highway.
#define RELAYOUT_FAMILY "relayout/cpu/kernels/copy-inl.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/cpu/kernels/simd_family-inl.h"
#include "relayout/cpu/kernels/simd_family-inl.h"
