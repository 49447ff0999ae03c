// Blocks of sub-byte elements. They are moved by way of a buffer in which each element has a byte (internal to cpu).
#pragma once

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// Reads the elements of a block, at most kMaxBuffered, on one side into `tile`, row after row, those of signed types
/// extended. Elements that follow each other in memory are unpacked together; no other bytes are read.
void fetch_sub_byte(const Kernels& kernels, const std::byte* memory, int64_t offset, Starts rows, Starts cols,
                    const Block& block, DType type, std::byte* tile);

/// Writes the low bits of the bytes of `tile`, as many as an element of the plan's destination has, to a block's
/// destination. Where a byte of the destination also holds an element of another block, that element stays as it is.
void put_sub_byte(const RunContext& context, const std::byte* tile, const Block& block);

/// Writes one value to all elements of a block of any size.
void fill_sub_byte(const RunContext& context, std::byte value, const Block& block);

}  // namespace relayout::cpu
