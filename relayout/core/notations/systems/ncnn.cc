// ncnn's packed images. A Mat has no batch, and a channel of its packed form (elempack 4, 32-bit elements) needs no gap
// to begin at a multiple of 16 bytes.
//
// Source: ncnn, src/mat.h.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr DimLimit kOneMat{0, 1, 1};

constexpr SystemName kNcnn[] = {{"NC4HW4", "nChw4c", "", 0, kOneMat},
                                {"NC8HW8", "nChw8c", "", 0, kOneMat},
                                {"NC16HW16", "nChw16c", "", 0, kOneMat}};

}  // namespace

const NamedSystem& ncnn() {
  static constexpr NamedSystem kSystem{"ncnn", "ncnn", kNcnn};
  return kSystem;
}

}  // namespace relayout::systems
