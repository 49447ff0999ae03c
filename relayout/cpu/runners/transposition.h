// Transposing blocks, for all methods that do (internal to cpu).
#pragma once

#include "relayout/cpu/runners/transpose_kernels.h"

namespace relayout::cpu {

/// Whether rows are a quarter or half of a line and make lines one after the other. The answer is the same for all
/// blocks of a box, as two blocks may share a line, of which each then writes its own rows.
bool writes_partial_lines(const Loops& loops, const Block& block);

/// Whether there is a kernel that carries the last, incomplete line of each row of a block to its next columns.
bool carries(const Kernels& kernels, const Loops& loops, const Block& block, const IndexRange& cols);

/// Transposes a block through the cache or, as the block says, past it.
void transpose_block(const RunContext& context, const Loops& loops, const Transposition& method, const Block& block);

}  // namespace relayout::cpu
