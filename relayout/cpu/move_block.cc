// Runs one block whose bits are moved, by the kernel for its shape.
#include <cstring>
#include <type_traits>
#include <utility>

#include "relayout/cpu/gather_run.h"
#include "relayout/cpu/nibbles.h"
#include "relayout/cpu/pack_block.h"

namespace relayout::cpu {
namespace {

/// Gathers kRows rows at a time, so that the list of the columns is read once for all of them.
template <typename T, int kRows>
void gather_rows(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                 Starts dst_cols, int64_t cols) {
  const std::byte* from[kRows];
  std::byte* to[kRows];
  for (int r = 0; r < kRows; ++r) {
    from[r] = src + src_rows[r];
    to[r] = dst + dst_rows[r];
  }
  for (int64_t c = 0; c < cols; ++c) {
    const int64_t at = src_cols[c], put = dst_cols[c];
    T values[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) std::memcpy(&values[r], from[r] + at, sizeof(T));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) std::memcpy(to[r] + put, &values[r], sizeof(T));
  }
}

/// Gathers a block whose elements lie anywhere.
template <typename T>
void gather_region(Block block) {
  constexpr int64_t kTogether = 4;
  // Rows and columns can change places, as both have lists.
  if (block.cols < kTogether && block.cols < block.rows) {
    std::swap(block.rows, block.cols);
    std::swap(block.src_rows, block.src_cols);
    std::swap(block.dst_rows, block.dst_cols);
  }
  const auto rows = [&]<int kRows>(std::integral_constant<int, kRows>, int64_t r) {
    gather_rows<T, kRows>(block.src, block.src_rows + r, block.src_cols, block.dst, block.dst_rows + r, block.dst_cols,
                          block.cols);
  };
  int64_t r = 0;
  for (; r + kTogether <= block.rows; r += kTogether) rows(std::integral_constant<int, kTogether>(), r);
  if (block.rows - r == 3) return rows(std::integral_constant<int, 3>(), r);
  if (block.rows - r == 2) return rows(std::integral_constant<int, 2>(), r);
  if (block.rows - r == 1) rows(std::integral_constant<int, 1>(), r);
}

/// Gathers rows that are one axis (or columns, where these are longer) by a constant step instead of a list. Does
/// nothing and returns false where they are several axes. Past the cache, where runs go backwards, the next run is
/// prefetched, because the processor cannot predict where it starts.
template <typename T>
bool gather_runs(const RunContext& context, const BoxPlan& box, const Block& block) {
  constexpr int64_t kFewSteps = 4, kRunBytes = 512;
  const bool down = block.rows > block.cols;
  const Axes& axes = down ? box.rows : box.cols;
  const int64_t runs = down ? block.cols : block.rows, n = down ? block.rows : block.cols;
  if (axes.size() != 1 || axes[0].table >= 0 || n < kFewSteps) return false;
  const Starts src_runs = down ? block.src_cols : block.src_rows, src = down ? block.src_rows : block.src_cols;
  const Starts dst_runs = down ? block.dst_cols : block.dst_rows, dst = down ? block.dst_rows : block.dst_cols;
  const int64_t src_step = src[1] - src[0], dst_step = dst[1] - dst[0];
  // The rows of an image start at the same byte of a line as the destination's, so that their steps may differ.
  for (int64_t i = 2; down && i < n; ++i) {
    if (dst[i] - dst[i - 1] != dst_step) return false;
  }
  const bool fetches = context.plan.streams() && src_step < 0 && -src_step < kRunBytes;
  const int64_t at_once = fetches ? kRunBytes / -src_step : n;
  for (int64_t r = 0; r < runs; ++r) {
    const std::byte* const from = block.src + src_runs[r] + src[0];
    std::byte* const to = block.dst + dst_runs[r] + dst[0];
    const int64_t next = r + 1 < runs ? src_runs[r + 1] - src_runs[r] : 0;
    for (int64_t i = 0; i < n; i += at_once) {
      const int64_t count = std::min(at_once, n - i);
      for (int64_t b = 0; fetches && b < -count * src_step; b += 64)
        __builtin_prefetch(from + i * src_step + next - b, 0, 2);
      gather_run<T>(from + i * src_step, src_step, to + i * dst_step, dst_step, count);
    }
  }
  return true;
}

template <typename T>
void gather(const RunContext& context, const BoxPlan& box, const Block& block) {
  if (box.shuffle == 1) {
    if (!gather_runs<T>(context, box, block)) gather_region<T>(block);
    return;
  }
  alignas(64) std::byte permuted[kMaxBlockSide * 16];
  for (int64_t r = 0; r < block.rows; ++r) {
    std::byte* to = block.dst + block.dst_rows[r];
    context.kernels.shuffle(block.src + block.src_rows[r], kFirst, kFirst, permuted, kFirst, kFirst, 1, 1, box.chunk,
                            box.pattern.data());
    for (int64_t c = 0; c < block.cols; ++c)
      std::memcpy(to + block.dst_cols[c], permuted + block.src_cols[c], sizeof(T));
  }
}

void gather_block(const RunContext& context, const BoxPlan& box, const Block& block) {
  switch (box.piece[kSrc]) {
    case 1: return gather<uint8_t>(context, box, block);
    case 2: return gather<uint16_t>(context, box, block);
    case 4: return gather<uint32_t>(context, box, block);
    case 8: return gather<uint64_t>(context, box, block);
    case 16: return gather<Bytes16>(context, box, block);
    default: break;
  }
  std::byte tile[kMaxNibbles];
  fetch_nibbles(context.kernels, context.src, block.offset[kSrc], block.src_rows, block.src_cols, block, false, tile);
  put_nibbles(context.kernels, tile, context.dst, block);
}

void copy_block(const RunContext& context, const BoxPlan& box, const Block& block) {
  const int64_t bytes = box.piece[kSrc];
  if (box.long_runs) {
    return context.kernels.copy(block.src, block.src_rows, kFirst, block.dst, block.dst_rows, kFirst, block.rows, 1,
                                block.cols * bytes, 0);
  }
  if (box.shuffle > 1) {
    return context.kernels.shuffle(block.src, block.src_rows, block.src_cols, block.dst, block.dst_rows, block.dst_cols,
                                   block.rows, block.cols, bytes, box.pattern.data());
  }
  context.kernels.copy(block.src, block.src_rows, block.src_cols, block.dst, block.dst_rows, block.dst_cols, block.rows,
                       block.cols, bytes, block.ahead);
}

/// Whether columns of `bytes` bytes follow each other in the source. The last column is checked too, because it may
/// belong to the next row (see run_joined()).
bool columns_follow(const BoxPlan& box, const Block& block, int64_t bytes) {
  const int64_t last = block.cols - 1;
  return last > 0 && box.cols.size() == 1 && block.src_cols[1] - block.src_cols[0] == bytes &&
         block.src_cols[last] - block.src_cols[0] == last * bytes;
}

/// Transposes past the cache where the columns of the source, or the rows of the destination, are lines or halves of
/// lines that follow each other. Elsewhere, or without a kernel for it, does nothing and returns false.
bool transpose_dense(const Kernels& kernels, const BoxPlan& box, const Block& block, int64_t bytes) {
  const int64_t col_bytes = block.rows * bytes, row_bytes = block.cols * bytes;
  if (row_bytes % kCacheLine == 0 && columns_follow(box, block, col_bytes)) {
    const auto split = col_bytes == kCacheLine                     ? kernels.split_lines[log2_size(bytes)]
                       : col_bytes == kCacheLine / 2 && bytes == 4 ? kernels.split_halves
                                                                   : nullptr;
    if (split) split(block.src + block.src_cols[0], block.dst, block.dst_rows, block.cols);
    return split != nullptr;
  }
  if (row_bytes != kCacheLine / 2 || bytes != 4 || !kernels.join_halves || box.rows.size() != 1 || block.rows < 2 ||
      block.dst_rows[1] - block.dst_rows[0] != row_bytes)
    return false;
  std::byte* const dst = block.dst + block.dst_rows[0];
  if (to_line(dst) != 0) return false;
  kernels.join_halves(block.src, block.src_cols, dst, block.rows);
  return true;
}

void transpose_block(const RunContext& context, const BoxPlan& box, const Block& block) {
  const int64_t bytes = box.piece[kSrc];
  if (box.row_run > 0) {
    return context.kernels.tiles[log2_size(bytes)](block.src, block.src_rows, block.src_cols, block.dst, block.dst_rows,
                                                   block.dst_cols,
                                                   tile_shape(box, block.rows, block.cols, box.dst_ahead));
  }
  // A few rows or columns are (de)interleaved, and for that the block need not be packed first.
  const bool few =
      !block.lines && box.shuffle == 1 &&
      (interleaves(context.kernels, box, block, bytes) || deinterleaves(context.kernels, box, block, bytes));
  if (few) return transpose_by_kernel(context, box, block, bytes);
  if (!box.pack && block.lines) return LineTransposition(context, box, block, *block.lines, bytes, {}, nullptr).run();
  if (!box.pack) return transpose_by_kernel(context, box, block, bytes);
  const PipelinedKernel pipelined = box.shuffle == 1 ? context.kernels.transpose_pipelined[log2_size(bytes)] : nullptr;
  transpose_packed(context, box, block, bytes, {pipelined, nullptr},
                   [&](const Block& rows, int64_t col, int64_t cols, std::byte* to, Starts starts) {
                     const int64_t n = rows.rows * bytes;
                     if (box.shuffle > 1) {
                       prefetch_columns(rows, col, cols, n);
                       context.kernels.shuffle(rows.src, kFirst, rows.src_cols + col, to, kFirst, starts, 1, cols, n,
                                               box.pattern.data());
                     } else {
                       context.kernels.copy(rows.src, kFirst, rows.src_cols + col, to, kFirst, starts, 1, cols, n,
                                            rows.ahead);
                     }
                   });
}

}  // namespace

bool interleaves(const Kernels& kernels, const BoxPlan& box, const Block& block, int64_t bytes) {
  const auto& interleave = block.stream ? kernels.interleave_stream : kernels.interleave;
  if (!few_kernel(interleave, block.cols, box.row_count, bytes) || box.rows.size() != 1) return false;
  const int64_t stride = block.rows > 1 ? block.dst_rows[1] - block.dst_rows[0] : box.rows[0].stride[kDst];
  return stride == block.cols * bytes;
}

bool deinterleaves(const Kernels& kernels, const BoxPlan& box, const Block& block, int64_t bytes) {
  const auto& deinterleave = block.stream ? kernels.deinterleave_stream : kernels.deinterleave;
  return few_kernel(deinterleave, block.rows, block.cols, bytes) &&
         (!block.stream || block.rows > 4 || block.cols * bytes % kCacheLine == 0) &&
         columns_follow(box, block, block.rows * bytes);
}

void transpose_by_kernel(const RunContext& context, const BoxPlan& box, const Block& block, int64_t bytes) {
  const std::size_t size = log2_size(bytes);
  const Kernels& kernels = context.kernels;
  if (interleaves(kernels, box, block, bytes)) {
    const auto& interleave = block.stream ? kernels.interleave_stream : kernels.interleave;
    return interleave[static_cast<std::size_t>(block.cols - 2)][size](block.src, block.src_cols,
                                                                      block.dst + block.dst_rows[0], block.rows);
  }
  if (deinterleaves(kernels, box, block, bytes)) {
    const auto& deinterleave = block.stream ? kernels.deinterleave_stream : kernels.deinterleave;
    return deinterleave[static_cast<std::size_t>(block.rows - 2)][size](block.src + block.src_cols[0], block.dst,
                                                                        block.dst_rows, block.cols);
  }
  if (block.stream && transpose_dense(kernels, box, block, bytes)) return;
  const auto& transpose = block.stream ? kernels.transpose_stream : kernels.transpose;
  transpose[size](block.src, block.src_cols, block.dst, block.dst_rows, block.rows, block.cols, block.ahead);
}

void move_block(const RunContext& context, const BoxPlan& box, const Block& block) {
  switch (box.shape) {
    case KernelShape::copy: return copy_block(context, box, block);
    case KernelShape::transpose: return transpose_block(context, box, block);
    default: return gather_block(context, box, block);
  }
}

}  // namespace relayout::cpu
