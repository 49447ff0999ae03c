// Tenstorrent's layouts of tensors. TILE cuts the two innermost dims into tiles of 32 x 32, tile after tile by rows; a
// tile is four faces of 16 x 16, face after face by rows, and a face has its rows one after the other.
//
//     tenstorrent:TILE   (h, w): [ceil(h/32)][ceil(w/32)][2][2][16][16], and with one or two dims in front
//
// Source: Tenstorrent, tt-metal's report on tensor layouts (tech_reports/tensor_layouts).
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kTenstorrent[] = {
    {"ROW_MAJOR", "contiguous"},
    {"TILE", "AB2a2b16a16b", "hw"},
    {"TILE", "aBC2b2c16b16c", "chw"},
    {"TILE", "abCD2c2d16c16d", "nchw"},
};

}  // namespace

const NamedSystem& tenstorrent() {
  static constexpr NamedSystem kSystem{"tenstorrent", "Tenstorrent", kTenstorrent};
  return kSystem;
}

}  // namespace relayout::systems
