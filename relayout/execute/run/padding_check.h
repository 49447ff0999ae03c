// Padding check: what ModelOptions::check_padding writes before each step, and the error about what it finds after it
// (internal to execute).
#pragma once

#include <string>

#include "relayout/core/layout.h"

namespace relayout::execute {

/// Sets all bits of the elements and the padding of a tensor, and no other bytes of its buffer.
void fill_ones(const TensorDesc& desc, void* data);

/// Throws Error{internal}: the padding of a tensor is not zero at this index.
[[noreturn]] void throw_dirty(const std::string& step, const std::string& implementation, const std::string& tensor,
                              const Dims& index);

}  // namespace relayout::execute
