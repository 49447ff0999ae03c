// Running the boxes of a plan (internal to cpu).
#pragma once

#include <cstddef>
#include <cstdint>

#include "relayout/cpu/kernels/kernels.h"
#include "relayout/reorder/plan.h"

namespace relayout::cpu {

/// Everything a box needs that does not change from block to block.
struct RunContext {
  const Plan& plan;
  const Kernels& kernels;
  const std::byte* src;
  std::byte* dst;
};

/// Blocks of a box: its loops times the blocks of its region.
int64_t block_count(const BoxPlan& box);

/// Does blocks [begin, end) of a box. Disjoint ranges write disjoint bytes, except where the destination's unit
/// is a nibble.
void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end);

/// One block, converting values: `offsets` is its first element, rows x cols its size (cast_block.cc).
void cast_block(const RunContext& context, const BoxPlan& box, const Offsets& offsets, int64_t rows, int64_t cols);

/// Moves a block element by element: element_bytes 0 moves nibbles, and a side whose unit is a byte has one in each
/// byte's low half.
void gather_block(const std::byte* src, Offsets offsets, const Axis& rows, const Axis& cols, std::byte* dst,
                  int element_bytes, int64_t row_count, int64_t col_count);

}  // namespace relayout::cpu
