// TNN's formats. NHC4W4 is the image of its OpenCL device.
//
// Source: TNN, include/tnn/core/common.h (DataFormat) and core/blob.cc.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kTnn[] = {{"NCHW", "nchw", ""},        {"NHWC", "nhwc", ""},     {"NHWC4", "acdB4b", "nchw"},
                               {"NC2HW2", "nChw2c", ""},    {"NC4HW4", "nChw4c", ""}, {"NC8HW8", "nChw8c", ""},
                               {"NC16HW16", "nChw16c", ""}, {"NCDHW", "ncdhw", ""},   {"NHC4W4", "nh|Cw4c", ""}};

}  // namespace

const NamedSystem& tnn() {
  static constexpr NamedSystem kSystem{"tnn", "TNN", kTnn};
  return kSystem;
}

}  // namespace relayout::systems
