// MNN's formats. NC4HW4 is what its name says; the kernels of MNN for CPUs and Metal lay such a tensor out as C4NHW4,
// which is the same for one image. NHWC4 has channels rounded up to a multiple of 4.
//
// Source: MNN, schema/default/Tensor.fbs and docs.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kMnn[] = {{"NCHW", "nchw", ""},
                               {"NHWC", "nhwc", ""},
                               {"NC4HW4", "nChw4c", ""},
                               {"C4NHW4", "Bacd4b", "nchw"},
                               {"NHWC4", "acdB4b", "nchw"}};

}  // namespace

const NamedSystem& mnn() {
  static constexpr NamedSystem kSystem{"mnn", "MNN", kMnn};
  return kSystem;
}

}  // namespace relayout::systems
