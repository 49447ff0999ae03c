// The layouts of TensorFlow Lite's GPU delegate. D is the number of slices of four channels.
//
// Source: TensorFlow Lite, delegates/gpu/api.h (DataLayout).
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr DimLimit kOneImage{0, 1, 1};

constexpr SystemName kTflite[] = {{"BHWC", "acdb", "nchw"},
                                  {"DHWC4", "aBcd4b", "nchw", 0, kOneImage},
                                  {"HWDC4", "acdB4b", "nchw", 0, kOneImage},
                                  {"HDWC4", "acBd4b", "nchw", 0, kOneImage}};

}  // namespace

const NamedSystem& tflite() {
  static constexpr NamedSystem kSystem{"tflite", "TensorFlow Lite GPU", kTflite};
  return kSystem;
}

}  // namespace relayout::systems
