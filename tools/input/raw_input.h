// Raw input: what a tensor of raw bytes takes beside the file: flags that say what the bytes hold, and how many there
// may be (internal to tensor_input.h).
#pragma once

#include "tools/input/tensor_input.h"

namespace relayout::tools {

/// Failure (usage) that names the flags which are missing where raw bytes are to be read.
void require_for_raw(const InputOptions& options);
/// Refuses the flags about raw bytes for a file of another format.
void check_raw_flags(const InputOptions& options, FileFormat format);
/// Drops the bytes before --file-offset, checks how many are left, and drops those of --slack. The input's layout, dims
/// and type are known.
void take_raw_bytes(const InputOptions& options, TensorInput& input);

}  // namespace relayout::tools
