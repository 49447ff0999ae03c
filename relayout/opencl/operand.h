// One side of a copy on a device (internal to this folder).
#pragma once

#include <optional>

#include "relayout/opencl/image.h"

namespace relayout::opencl {

/// Memory of `desc`, or an image.
struct Operand {
  TensorDesc desc;
  std::optional<Image> image;
};

}  // namespace relayout::opencl
