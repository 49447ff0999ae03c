// `relayout image --plan`: which images a tensor can be on a device, and several images where it fits none.
#pragma once

#include <optional>

#include "relayout/core/format.h"
#include "relayout/opencl/image.h"
#include "tools/imaging/image_target.h"

namespace relayout::tools {

struct PlanQuestion {
  /// The only layout that is asked about; nothing: all content types of MACE.
  std::optional<Format> format;
  Dims dims;
  DType dtype;
  opencl::ChannelType channel;
};

/// Writes the plan; returns the exit code, which is 1 where no image fits as a whole. Failure: usage (no content type
/// takes dims of this rank; an image's own errors).
int plan_image(const PlanQuestion& question, const ImageTarget& target, bool json);

}  // namespace relayout::tools
