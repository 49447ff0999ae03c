// Compiles a family of kernels by Highway, once for each instruction set of the architecture. Each simd_*.cc does so
// for one family: it names the family's file, and this file for foreach_target.h.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

// These headers are included before any target is set, so that their functions are built for the baseline.
#include "relayout/cpu/kernels/kernels.h"
//
#include "relayout/cpu/kernels/simd_targets.h"
//
#include "hwy/foreach_target.h"
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#define RELAYOUT_KERNELS_SIMD (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

HWY_BEFORE_NAMESPACE();
namespace relayout::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include RELAYOUT_FAMILY

}  // namespace HWY_NAMESPACE
}  // namespace relayout::cpu
HWY_AFTER_NAMESPACE();
