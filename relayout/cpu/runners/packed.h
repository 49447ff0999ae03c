// Transposing a block by way of a dense copy of its source in the first-level cache: for elements so small that a line
// of the source holds several tiles of rows, and for values that are converted on the way.
#pragma once

#include "relayout/cpu/runners/line_transposition.h"
#include "relayout/cpu/runners/transpose_kernels.h"

namespace relayout::cpu {

/// Transposes `block` into elements of `bytes` bytes; `packs` is Transposition::pack. pack(rows, col, cols, to, starts)
/// copies columns [col, col + cols) of `rows`, which are some rows of the block, to dense elements of the destination's
/// type: column i goes to to + starts[i]. pack() also prefetches. With block.stream the destination is written past the
/// cache, by `pipelined` where there is such a kernel.
template <typename Pack>
void transpose_packed(const RunContext& context, const Loops& loops, bool packs, const Block& block, int64_t bytes,
                      const Pipelined& pipelined, const Pack& pack) {
  if (block.lines) return LineTransposition(context, loops, packs, block, bytes, pipelined, pack).run();
  if (block.stream && pipelined.kernel) {
    return pipelined.kernel(block.src, block.src_cols, block.dst, block.dst_rows, nullptr, false, block.rows,
                            block.cols, pipelined.attributes, block.ahead);
  }
  constexpr int64_t kMemory = 8 << 10;
  alignas(64) std::byte memory[kMemory];
  int64_t starts[kCacheLine];
  // As many columns at a time as make one line of a row of the destination, so that reading and writing take turns
  // often.
  const int64_t most = std::min(kCacheLine / bytes, block.cols);
  // Past the cache, one line of each column is packed at a time, because that much is fetched ahead.
  const int64_t rows_most =
      block.stream && packs ? kCacheLine / bytes : (kMemory / most / kCacheLine - 1) * kCacheLine / bytes;
  if (block.rows > rows_most) {
    for (int64_t r = 0; r < block.rows; r += rows_most) {
      transpose_packed(context, loops, packs,
                       sub_block(loops, block, r, std::min(rows_most, block.rows - r), 0, block.cols), bytes, pipelined,
                       pack);
    }
    return;
  }
  // Columns are an odd number of lines apart, so that they do not compete for few sets of the cache.
  const int64_t pitch = (ceil_div(block.rows * bytes, kCacheLine) | 1) * kCacheLine;
  for (int64_t c = 0; c < std::min(most, block.cols); ++c) starts[c] = c * pitch;
  Block packed = block;
  packed.src = memory;
  packed.src_cols = starts;
  packed.ahead = 0;
  for (int64_t begin = 0; begin < block.cols; begin += most) {
    packed.cols = std::min(most, block.cols - begin);
    packed.dst = block.dst + begin * bytes;
    pack(block, begin, packed.cols, memory, starts);
    transpose_by_kernel(context, loops, packed, bytes);
  }
}

}  // namespace relayout::cpu
