// ncnn's packed images. A Mat has no batch, and a channel of its packed form (elempack 4, 32-bit elements) needs no gap
// to begin at a multiple of 16 bytes.
//
// Source: ncnn, src/mat.h.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kNcnn[] = {
    {"NC4HW4", "nChw4c", "", true}, {"NC8HW8", "nChw8c", "", true}, {"NC16HW16", "nChw16c", "", true}};

}  // namespace

const NamedSystem& ncnn() {
  static constexpr NamedSystem kSystem{"ncnn", "ncnn", kNcnn};
  return kSystem;
}

}  // namespace relayout::systems
