// Tensors that become new ones as they are (internal to checkpoint).
#pragma once

#include "relayout/checkpoint/target.h"

namespace relayout::checkpoint {

/// Whether the elements are those of a type that reorders know, one after the other in the contents.
bool has_elements(const CheckpointTensor& tensor);
/// Tensor `i` as it is stored, row-major, with the strides that it had. Error{unsupported}: its elements are
/// big-endian, or lie apart and are of no known type.
Target copied(const CheckpointTensor& tensor, std::size_t i);
}  // namespace relayout::checkpoint
