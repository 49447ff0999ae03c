// TensorRT's formats of tensors. Channels stand in vectors (CHW32: behind everything else) or innermost, rounded up to
// whole vectors (HWC8). All take tensors (n, c, h, w) or (c, h, w), those of volumes with d in front of h.
//
//     tensorrt:CHW4         [N][ceil(C/4)][H][W][4]
//     tensorrt:HWC8         [N][H][W][ceil(C/8)*8]
//     tensorrt:DLA_LINEAR   [N][C][H][roundUp(W, 64/size)]: rows begin at multiples of 64 bytes
//     tensorrt:DLA_HWC4     [N][H][roundUp(W, 32/C'/size)][C'], C' = 1 or 4: C is 1, 3 or 4
//
// Source: NVIDIA TensorRT, NvInferRuntimeBase.h (TensorFormat) and the Python API's page on it.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr DimLimit kOneChannel{1, 1, 1}, kThreeOrFour{1, 3, 4};
constexpr DimLimit kFirstIsOne{0, 1, 1}, kFirstIsThreeOrFour{0, 3, 4};

constexpr SystemName kTensorrt[] = {
    {"LINEAR", "contiguous"},
    {"CHW", "contiguous"},
    {"CHW2", "nChw2c"},
    {"CHW2", "Chw2c"},
    {"CHW4", "nChw4c"},
    {"CHW4", "Chw4c"},
    {"CHW16", "nChw16c"},
    {"CHW16", "Chw16c"},
    {"CHW32", "nChw32c"},
    {"CHW32", "Chw32c"},
    {"CDHW32", "nCdhw32c"},
    {"CDHW32", "Abcd32a", "cdhw"},
    {"HWC", "nhwc"},
    {"HWC", "hwc"},
    {"HWC8", "acdB8b", "nchw"},
    {"HWC8", "bcA8a", "chw"},
    {"HWC16", "acdB16b", "nchw"},
    {"HWC16", "bcA16a", "chw"},
    {"DHWC", "ndhwc"},
    {"DHWC", "bcda", "cdhw"},
    {"DHWC8", "acdeB8b", "ncdhw"},
    {"DHWC8", "bcdA8a", "cdhw"},
    {"DLA_LINEAR", "nchw;align=$", "nchw", 64},
    {"DLA_LINEAR", "chw;align=$", "chw", 64},
    // Pixels of four channels, and rows of whole 32 bytes: 8 bytes of one channel.
    {"DLA_HWC4", "acBD$d4b", "nchw", 8, kThreeOrFour},
    {"DLA_HWC4", "acbD$d", "nchw", 32, kOneChannel},
    {"DLA_HWC4", "bAC$c4a", "chw", 8, kFirstIsThreeOrFour},
    {"DLA_HWC4", "baC$c", "chw", 32, kFirstIsOne},
};

}  // namespace

const NamedSystem& tensorrt() {
  static constexpr NamedSystem kSystem{"tensorrt", "TensorRT", kTensorrt, DType::f16};
  return kSystem;
}

}  // namespace relayout::systems
