// The kernels that transpose dense blocks, and which of them suits a block (internal to cpu).
#pragma once

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// The kernel of a table that interleaves `few` columns of `many` rows (or deinterleaves `few` rows of `many` columns),
/// or null. Kernels for more than four columns (rows) work by whole registers, so `many` must fill one.
template <typename Table>
auto few_kernel(const Table& table, int64_t few, int64_t many, int64_t bytes) {
  const bool has = few >= 2 && few <= kMostInterleaved && (few <= 4 || many * bytes >= 64);
  return has ? table[static_cast<std::size_t>(few - 2)][log2_size(bytes)] : nullptr;
}

/// Transposes elements of `bytes` bytes with the kernel that suits the block.
void transpose_by_kernel(const RunContext& context, const Loops& loops, const Block& block, int64_t bytes);
/// Whether transpose_by_kernel() interleaves a few columns into rows that follow each other, or deinterleaves columns
/// of a few rows, by a kernel for that number of columns or rows. So few would not fill a tile of a transposition. An
/// image of a block may have rows that follow each other where the block has not, so the answer depends on the block.
bool interleaves(const Kernels& kernels, const Loops& loops, const Block& block, int64_t bytes);
bool deinterleaves(const Kernels& kernels, const Loops& loops, const Block& block, int64_t bytes);

}  // namespace relayout::cpu
