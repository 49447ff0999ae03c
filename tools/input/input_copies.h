// Copies of an input's bytes, for what no layout of the file's own bytes says (internal to tensor_input.h).
#pragma once

#include "tools/input/tensor_input.h"

namespace relayout::tools {

/// Strides of a dense array whose first axis is innermost or, where the last one counts the bytes of an element, the
/// innermost but that.
Dims column_major(const Dims& shape, bool bytes_last);

/// Copies an array in Fortran order to row-major order, for layouts that cannot express the other order (images).
/// Failure (usage) where the copy takes more than --max-memory.
void copy_to_row_major(const InputOptions& options, const StoredTensor& stored, bool bytes_last, TensorInput& input);
/// Brings elements of less than a byte that have a byte each behind each other (interop/numpy_bytes.h). Failure: as
/// above.
void pack_elements(const InputOptions& options, TensorInput& input);

}  // namespace relayout::tools
