// The layouts of TensorFlow Lite's GPU delegate. D is the number of slices of four channels.
//
// Source: TensorFlow Lite, delegates/gpu/api.h (DataLayout).
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kTflite[] = {{"BHWC", "acdb", "nchw"},
                                  {"DHWC4", "aBcd4b", "nchw", true},
                                  {"HWDC4", "acdB4b", "nchw", true},
                                  {"HDWC4", "acBd4b", "nchw", true}};

}  // namespace

const NamedSystem& tflite() {
  static constexpr NamedSystem kSystem{"tflite", "TensorFlow Lite GPU", kTflite};
  return kSystem;
}

}  // namespace relayout::systems
