// What the checked forms of the functions in reorder.h, parts.h and tune.h look at first (internal to this folder).
#pragma once

#include <cstddef>
#include <string_view>

#include "relayout/core/elements.h"

namespace relayout::cpu {

/// Where offset 0 of each side lies.
struct BothBytes {
  const std::byte* src;
  std::byte* dst;
};

/// Errors, which name the operation: invalid_argument (elements of another type), buffer_too_small, overlap.
BothBytes checked_buffers(const TensorDesc& src_desc, const ConstElements& src, const TensorDesc& dst_desc,
                          const Elements& dst, std::string_view operation);

}  // namespace relayout::cpu
