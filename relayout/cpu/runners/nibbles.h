// Blocks of elements of 4 bits. They are moved by way of a buffer in which each element has a byte (internal to cpu).
#pragma once

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// Reads the elements of a block, at most kMaxBuffered, on one side into `tile`, row after row, sign-extended where
/// `sign` is set. Elements that follow each other in memory are unpacked together; no other bytes are read.
void fetch_nibbles(const Kernels& kernels, const std::byte* memory, int64_t offset, Starts rows, Starts cols,
                   const Block& block, bool sign, std::byte* tile);

/// Writes the low 4 bits of the bytes of `tile` to a block's destination. Where a byte of the destination also holds an
/// element of another block, that element stays as it is.
void put_nibbles(const RunContext& context, const std::byte* tile, const Block& block);

/// Writes one value to all elements of a block of any size.
void fill_nibbles(const RunContext& context, std::byte value, const Block& block);

}  // namespace relayout::cpu
