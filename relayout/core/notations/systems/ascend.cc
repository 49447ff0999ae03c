// The private formats of Huawei's Ascend processors. C0 is how many elements 32 bytes hold: 16 of f16, which is taken
// where no type is given, and 32 of s8.
//
//     ascend:NC1HWC0        [N][ceil(C/C0)][H][W][C0]
//     ascend:FRACTAL_NZ     (..., m, n): [...][ceil(n/C0)][ceil(m/16)][16][C0], also of one or two batches
//     ascend:FRACTAL_Z      weights: [ceil(I/C0)][H][W][ceil(O/16)][16][C0]
//     ascend:NDC1HWC0       [N][D][ceil(C/C0)][H][W][C0]
//     ascend:FRACTAL_Z_3D   weights: [D][ceil(I/C0)][H][W][ceil(O/16)][16][C0]
//
// Source: Huawei CANN's documentation of data formats, and its operators' conversions (nd_to_fractal_nz and others).
// Weights are those of one group.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr int kCubeBytes = 32;

constexpr SystemName kAscend[] = {
    {"NC1HWC0", "nChw$c", "", kCubeBytes},
    {"NDC1HWC0", "acBde$b", "ncdhw", kCubeBytes},
    {"FRACTAL_NZ", "BA16a$b", "mn", kCubeBytes},
    {"FRACTAL_NZ", "aCB16b$c", "", kCubeBytes},
    {"FRACTAL_NZ", "abDC16c$d", "", kCubeBytes},
    {"FRACTAL_Z", "IhwO16o$i", "", kCubeBytes},
    {"FRACTAL_Z_3D", "cBdeA16a$b", "oidhw", kCubeBytes},
};

}  // namespace

const NamedSystem& ascend() {
  static constexpr NamedSystem kSystem{"ascend", "Ascend", kAscend, DType::f16};
  return kSystem;
}

}  // namespace relayout::systems
