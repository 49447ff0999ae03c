// The cap of --max-memory, and one part.
#include "tools/slabs.h"

#include <fmt/format.h>

#include <cmath>

namespace relayout::tools {

void check_cap(const SlabGrid& grid, int64_t max_memory, int64_t held) {
  const double need = grid.part_bytes() + static_cast<double>(held);
  if (need <= static_cast<double>(max_memory)) return;
  throw Failure(
      kUsage,
      Error(ErrorCode::limit,
            fmt::format("--max-memory {}: the smallest part takes {:.0f} bytes{}; {:.0f}M is enough", max_memory, need,
                        held > 0 ? " together with what is held in memory anyway" : "", std::ceil(need / (1 << 20))),
            "--max-memory", std::to_string(max_memory), fmt::format("{:.0f}", need)));
}

void convert_slab(const TensorInput& input, const Slab& slab, const TensorDesc& dst, std::span<std::byte> dst_bytes,
                  const Attributes& attributes, int threads, std::vector<std::byte>& scratch) {
  const cpu::RunOptions run{.threads = threads};
  const TensorDesc src = slab_view(input.desc, slab);
  if (input.swap_item_bytes <= 1) {
    cpu::reorder(src, input.bytes, dst, dst_bytes, attributes, run);
    return;
  }
  // The bytes are in foreign order: collect the elements in dense memory, swap their bytes there, and convert from
  // there.
  const TensorDesc packed(Layout::contiguous(slab.dims), src.dtype);
  scratch.resize(static_cast<std::size_t>(packed.span_bytes()));
  cpu::reorder(src, input.bytes, packed, scratch, {}, run);
  swap_bytes(scratch, input.swap_item_bytes);
  cpu::reorder(packed, scratch, dst, dst_bytes, attributes, run);
}

}  // namespace relayout::tools
