// Blocks of elements of 4 bits, by way of a tile with a byte for each (internal to cpu).
#pragma once

#include "relayout/cpu/run.h"

namespace relayout::cpu {

/// The elements of a block, at most kMaxNibbles, on one side, row after row, sign-extended where they are `sign`ed.
/// Stretches of rows or of columns that follow each other in memory are unpacked together; nothing else is read.
void fetch_nibbles(const Kernels& kernels, const std::byte* memory, int64_t offset, Starts rows, Starts cols,
                   const Block& block, bool sign, std::byte* tile);

/// The low 4 bits of a tile's bytes to a block's destination. Of bytes that are shared the other half stays.
void put_nibbles(const Kernels& kernels, const std::byte* tile, std::byte* memory, const Block& block);

/// The same where all have one value; a block of any size.
void fill_nibbles(const Kernels& kernels, std::byte value, std::byte* memory, const Block& block);

}  // namespace relayout::cpu
