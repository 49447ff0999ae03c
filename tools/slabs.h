// Converts a tensor part by part, so that the pages of both sides that are in memory at once stay under a cap.
#pragma once

#include <span>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "relayout/interop/files/pages.h"
#include "relayout/reorder/slabs.h"
#include "tools/tensor_input.h"

namespace relayout::tools {

/// Failure (usage, limit) where a part and the `held` bytes, which are in memory anyway, take more than --max-memory.
void check_cap(const SlabGrid& grid, int64_t max_memory, int64_t held);

/// Converts one part of an input and writes it to `dst_bytes` in the layout `dst`, which is that of the part. `scratch`
/// is used where the input's bytes must be swapped.
void convert_slab(const TensorInput& input, const Slab& slab, const TensorDesc& dst, std::span<std::byte> dst_bytes,
                  const Attributes& attributes, int threads, std::vector<std::byte>& scratch);

}  // namespace relayout::tools
