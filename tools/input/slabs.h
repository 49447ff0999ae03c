// Tensors of files slab by slab, so that the pages of both sides that are in memory at once stay under a cap.
#pragma once

#include "relayout/cpu/slab_reorder.h"
#include "tools/input/tensor_input.h"

namespace relayout::tools {

/// An input as a reorder by slabs takes it.
cpu::SlabSource slab_source(const TensorInput& input);

/// The error that a part and the `held` bytes, which are in memory anyway, take more than --max-memory.
Error cap_error(double part, int64_t max_memory, int64_t held);

/// Failure (usage, limit) where a slab and the `held` bytes, which are in memory anyway, take more than --max-memory.
void check_cap(const SlabGrid& grid, int64_t max_memory, int64_t held);

}  // namespace relayout::tools
