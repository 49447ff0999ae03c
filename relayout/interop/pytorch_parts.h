// What the files of pytorch.h share: checked sizes and strides (internal to interop).
#pragma once

#include "relayout/core/extents.h"

namespace relayout::pytorch {

struct TensorMeta;

/// Throws unless there is a stride for each size, and none of the numbers is negative.
void check(const TensorMeta& meta);
/// The number of elements, or Error{overflow}.
int64_t elements(const TensorMeta& meta);
/// a * b, or Error{overflow} with the operation and the dim.
int64_t product(const char* operation, int64_t a, int64_t b, int d);
/// Row-major strides, in which an extent of 0 counts as 1.
Dims row_major(const Dims& sizes);

}  // namespace relayout::pytorch
