// cuDNN's formats of tensors and filters. Filters have their own letters: K outputs, C inputs, R rows and S columns of
// the filter.
//
// Source: the cuDNN API's cudnnTensorFormat_t and its page on layouts.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kCudnn[] = {
    {"NCHW", "nchw", ""},      {"NHWC", "nhwc", ""},         {"NCDHW", "ncdhw", ""},       {"NDHWC", "ndhwc", ""},
    {"NC/4HW4", "nChw4c", ""}, {"NC/32HW32", "nChw32c", ""}, {"KCRS", "oihw", ""},         {"KRSC", "ohwi", ""},
    {"CRSK", "ihwo", ""},      {"KC/4RS4", "oIhw4i", ""},    {"KC/32RS32", "oIhw32i", ""},
};

}  // namespace

const NamedSystem& cudnn() {
  static constexpr NamedSystem kSystem{"cudnn", "cuDNN", kCudnn};
  return kSystem;
}

}  // namespace relayout::systems

namespace relayout {

Spelled read_cudnn(NotationText& text) {
  if (text.rest() == "NCHW_VECT_C")
    text.fail("CUDNN_TENSOR_NCHW_VECT_C has 4 or 32 channels a vector, by its type: NC/4HW4 or NC/32HW32");
  return read_name(text, systems::cudnn());
}

}  // namespace relayout
