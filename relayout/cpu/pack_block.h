// Transposing a block by way of a dense copy of its source in the first-level cache: for elements so small that a line
// of the source holds several tiles of rows, and for values that are converted on the way.
#pragma once

#include "relayout/cpu/stream_lines.h"

namespace relayout::cpu {

/// Transposes `block` of `box` into elements of `bytes` bytes. pack(part, col, to) writes column `col` of `part`, some
/// rows of the block, dense and of that type, to `to`. With block.stream the destination's lines are written past the
/// cache.
template <typename Pack>
void transpose_packed(const RunContext& context, const BoxPlan& box, const Block& block, int64_t bytes,
                      const Pack& pack) {
  if (block.lines) return LineTransposition(context, box, block, *block.lines, bytes, pack).run();
  constexpr int64_t kLine = 64, kMemory = 24 << 10;
  alignas(64) std::byte memory[kMemory];
  int64_t starts[kLine];
  // Few columns at a time, so that reading and writing take turns often.
  const int64_t most = kLine / bytes;
  const int64_t rows_most = (kMemory / most / kLine - 1) * kLine / bytes;
  if (block.rows > rows_most) {
    for (int64_t r = 0; r < block.rows; r += rows_most) {
      transpose_packed(context, box, part_of(box, block, r, std::min(rows_most, block.rows - r), 0, block.cols), bytes,
                       pack);
    }
    return;
  }
  // Columns an odd number of lines apart, against conflicts in the cache.
  const int64_t pitch = (ceil_div(block.rows * bytes, kLine) | 1) * kLine;
  const int64_t src_lines = ceil_div(block.rows * box.piece[kSrc], kLine);
  Block packed = block;
  packed.src_cols = starts;
  packed.ahead = 0;
  for (int64_t c = 0; c < std::min(most, block.cols); ++c) starts[c] = c * pitch;
  for (int64_t begin = 0; begin < block.cols; begin += most) {
    packed.cols = std::min(most, block.cols - begin);
    // The next columns, or the next strip's first ones, are fetched meanwhile: half while this group is read, half
    // while it is written.
    const bool last = begin + most >= block.cols, strip = last || !block.stream;
    const int64_t next = !block.stream ? begin : last ? 0 : begin + most;
    const int64_t fetched = block.ahead == 0 ? 0 : std::min(most, block.cols - next);
    const std::byte* ahead = block.src + (strip ? block.ahead : 0);
    const auto fetch = [&](int64_t col, int64_t from, int64_t to) {
      for (int64_t b = from; b < to; ++b) __builtin_prefetch(ahead + block.src_cols[next + col] + b * kLine, 0, 2);
    };
    const int64_t half = block.stream ? src_lines / 2 : src_lines;
    for (int64_t c = 0; c < packed.cols; ++c) {
      if (c < fetched) fetch(c, 0, half);
      pack(block, begin + c, memory + starts[c]);
    }
    const int64_t step = block.stream ? 16 : block.rows;
    int64_t col = 0;
    for (int64_t r = 0; r < block.rows; r += step) {
      // The last rows are done together: a kernel wants a tile of them.
      const int64_t rows = block.rows - r < 2 * step ? block.rows - r : step;
      packed.src = memory + r * bytes;
      packed.dst = block.dst + begin * bytes;
      packed.dst_rows = block.dst_rows + r;
      packed.rows = rows;
      transpose_by_kernel(context, box, packed, bytes);
      for (const int64_t until = fetched * (r + rows) / block.rows; col < until; ++col) fetch(col, half, src_lines);
      if (rows > step) break;
    }
  }
}

}  // namespace relayout::cpu
