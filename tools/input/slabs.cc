// The cap of --max-memory.
#include "tools/input/slabs.h"

#include <fmt/format.h>

#include <cmath>

namespace relayout::tools {

cpu::SlabSource slab_source(const TensorInput& input) {
  return {.desc = input.desc,
          .bytes = input.bytes,
          .mapped = input.mapped,
          .swap_item_bytes = input.swap_item_bytes,
          .gates = input.gates};
}

Error cap_error(double part, int64_t max_memory, int64_t held) {
  const double need = part + static_cast<double>(held);
  return Error(
      ErrorCode::limit,
      fmt::format("--max-memory {}: the smallest part takes {:.0f} bytes{}; {:.0f}M is enough", max_memory, need,
                  held > 0 ? " together with what is held in memory anyway" : "", std::ceil(need / (1 << 20))),
      "--max-memory", std::to_string(max_memory), fmt::format("{:.0f}", need));
}

void check_cap(const SlabGrid& grid, int64_t max_memory, int64_t held) {
  if (grid.slab_bytes() + static_cast<double>(held) > static_cast<double>(max_memory))
    throw Failure(kUsage, cap_error(grid.slab_bytes(), max_memory, held));
}

}  // namespace relayout::tools
