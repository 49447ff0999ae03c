// Conversions of bytes by tables, by Highway.
#define RELAYOUT_FAMILY "relayout/cpu/kernels/convert_bytes-inl.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/cpu/kernels/simd_family-inl.h"
#include "relayout/cpu/kernels/simd_family-inl.h"
