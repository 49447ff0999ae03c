// Transposing a block by way of a dense copy of its source in the first-level cache: for elements so small that a line of
// the source holds several tiles of rows, and for values that are converted on the way.
#pragma once

#include "relayout/cpu/run.h"

namespace relayout::cpu {

/// Transposes `block`, of elements of src_bytes, into elements of `bytes` bytes. pack(col, to) writes the block's column `col`, dense and of that
/// type, to `to`. With block.stream the destination's lines are written past the cache.
template <typename Pack>
void transpose_packed(const RunContext& context, const Block& block, int64_t src_bytes, int64_t bytes,
                      const Pack& pack) {
  constexpr int64_t kLine = 64, kMemory = 24 << 10;
  alignas(64) std::byte memory[kMemory];
  int64_t starts[kMemory / kLine];
  const auto kernel = (block.stream ? context.kernels.transpose_stream : context.kernels.transpose)[log2_size(bytes)];
  // Columns an odd number of lines apart, against conflicts in the cache.
  const int64_t pitch = (ceil_div(block.rows * bytes, kLine) | 1) * kLine;
  const int64_t whole = block.stream ? kLine / bytes : 1;
  const int64_t most = std::max<int64_t>(1, std::min(kMemory / pitch, kMaxBlockSide) / whole) * whole;
  for (int64_t c = 0; c < std::min(most, block.cols); ++c) starts[c] = c * pitch;
  for (int64_t begin = 0; begin < block.cols; begin += most) {
    const int64_t count = std::min(most, block.cols - begin);
    for (int64_t c = 0; c < count; ++c) {
      if (block.ahead != 0) {
        const std::byte* next = block.src + block.src_cols[begin + c] + block.ahead;
        for (int64_t b = 0; b < block.rows * src_bytes; b += kLine) __builtin_prefetch(next + b, 0, 2);
      }
      pack(begin + c, memory + starts[c]);
    }
    kernel(memory, starts, block.dst + begin * bytes, block.dst_rows, block.rows, count, 0);
  }
}

}  // namespace relayout::cpu
