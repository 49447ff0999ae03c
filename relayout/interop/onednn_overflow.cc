// Numbers of a descriptor that 64 bits do not hold: which of them an error blames (see core/overflow.h). Any operation
// of oneDNN's files may meet them.
#include <algorithm>
#include <vector>

#include "relayout/core/wide.h"
#include "relayout/interop/onednn.h"
#include "relayout/interop/onednn_fields.h"

namespace relayout::onednn {
namespace {

[[noreturn]] void throw_overflow(const std::string& what, const std::string& field, int64_t value,
                                 const std::string& allowed) {
  throw Error(ErrorCode::overflow, what, field, std::to_string(value), allowed);
}

}  // namespace

void throw_blocks_too_large(const BlockedDesc& fields, const std::string& operation, int dim) {
  std::string blocks;
  int64_t largest = 0;
  int worst = 0;
  for (int k = 0; k < fields.inner_nblks; ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (dim >= 0 && fields.inner_idxs[at] != dim) continue;
    const int64_t block = fields.inner_blks[at];
    blocks += (blocks.empty() ? "" : " x ") + std::to_string(block);
    if (block <= largest) continue;
    largest = block;
    worst = k;
  }
  throw_overflow(operation + ": the inner blocks " + blocks + (dim < 0 ? "" : " of dim " + std::to_string(dim)) +
                     " overflow 64 bits; block " + std::to_string(worst) + " (" + std::to_string(largest) +
                     ") is the largest",
                 entry("inner_blks", worst), largest, "a product of 63 bits");
}

void throw_offset_too_far(const BlockedDesc& fields, const std::string& operation, std::string_view list,
                          const Dims& offsets, const Dims& blocks) {
  Wide farthest = -1;
  int worst = -1;
  for (int d = 0; d < offsets.size(); ++d) {
    const Wide reach = abs_wide(Wide{offsets[d] / blocks[d]} * fields.strides[static_cast<std::size_t>(d)]);
    if (reach <= farthest) continue;
    farthest = reach;
    worst = d;
  }
  const std::string begin = operation + ": the offset that " + std::string(list) + " lead to overflows 64 bits; ";
  if (worst < 0 || abs_wide(fields.offset0) > farthest)
    throw_overflow(begin + "offset0 is " + std::to_string(fields.offset0), "offset0", fields.offset0,
                   "an offset of 63 bits");
  throw_overflow(begin + "dim " + std::to_string(worst) + " leads farthest, by " +
                     std::to_string(offsets[worst] / blocks[worst]) + " x " +
                     std::to_string(fields.strides[static_cast<std::size_t>(worst)]),
                 entry(list, worst), offsets[worst], "an offset of 63 bits");
}

}  // namespace relayout::onednn
