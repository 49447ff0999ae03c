// Cutting a table into parts: see gathered_parts.h.
#include "relayout/cpu/gathered_parts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "relayout/core/extents.h"
#include "relayout/cpu/machine.h"
#include "relayout/reorder/slabs.h"

namespace relayout::cpu {
namespace {

/// Entries of a part: its lists take 16 bytes an entry, so 256 KiB, which every machine's second level holds. Of fewer
/// than kLeastParts parts one plan is made.
constexpr int64_t kEntries = 16 << 10, kLeastParts = 4;

}  // namespace

bool gathers_in_parts(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes) {
  if (attributes.src_index.size() != 1 || !attributes.dst_index.empty() || attributes.arithmetic() ||
      src.dtype != dst.dtype)
    return false;
  const IndexTable& table = attributes.src_index[0];
  const Layout& to = dst.layout;
  const auto count = static_cast<int64_t>(table.entries().size());
  return count >= kLeastParts * kEntries && to.ndims() == src.layout.ndims() && table.dim() < to.ndims() &&
         !to.swizzled() && !to.padded() && to.block(table.dim()) == 1 && to.injective() &&
         ceil_div(to.dim(table.dim()), table.block()) == count;
}

void gather_in_parts(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                     const std::function<void(const Plan&)>& run) {
  const IndexTable& table = attributes.src_index[0];
  const int dim = table.dim();
  const std::span<const int64_t> entries = table.entries();
  const Dims& dims = dst.layout.dims();
  const auto count = static_cast<int64_t>(entries.size()), indices = dims[dim], block = table.block();
  table.check(indices, src.layout.dim(dim), false, "src_index of dim " + std::to_string(dim));
  for (int64_t begin = 0; begin < count; begin += kEntries) {
    const int64_t own = std::min(kEntries, count - begin);
    Slab slab{Dims(dims.size(), 0), dims};
    slab.offsets[dim] = begin * block;
    slab.dims[dim] = std::min(own * block, indices - begin * block);
    Attributes part = attributes;
    part.src_index = {IndexTable(dim, {entries.begin() + begin, entries.begin() + begin + own}, block)};
    run(Plan::make(src, slab_view(dst, slab), part, machine()));
  }
}

}  // namespace relayout::cpu
