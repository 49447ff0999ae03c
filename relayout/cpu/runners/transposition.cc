// Runs transpositions: which kernel suits a block, whether its source is packed first, and regions that share a kernel
// and lists.
#include "relayout/cpu/runners/transposition.h"

#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/packed.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// Runs blocks that interleave a few columns, or deinterleave a few rows, through the cache. The kernel is chosen, and
/// its list made, once for all blocks. For other boxes, does nothing and returns false.
bool run_interleaved(const RunContext& context, const Loops& loops, const Tables& tables, int64_t begin, int64_t end) {
  if (loops.along_src.axes.size() != 1 || loops.along_dst.axes.size() != 1) return false;
  const Axis &row = loops.along_src.axes[0], &col = loops.along_dst.axes[0];
  const int64_t bytes = loops.piece[kSrc], rows = loops.along_src.count, cols = loops.along_dst.count;
  const Kernels& kernels = context.kernels;
  const auto interleave = loops.along_dst.blocks == 1 && row.stride[kDst] == cols * bytes
                              ? few_kernel(kernels.interleave, cols, rows, bytes)
                              : nullptr;
  const auto deinterleave = loops.along_src.blocks == 1 && col.stride[kSrc] == rows * bytes
                                ? few_kernel(kernels.deinterleave, rows, cols, bytes)
                                : nullptr;
  if (!interleave && !deinterleave) return false;
  int64_t starts[kMostInterleaved];
  for (int64_t i = 0; i < (interleave ? cols : rows); ++i)
    starts[i] = i * (interleave ? col.stride[kSrc] : row.stride[kDst]);
  each_block(loops, tables, begin, end,
             [&](const Odometer& position, const IndexRange& strip, const IndexRange& panel) {
               const std::byte* const src =
                   context.src + position.offsets[kSrc] + strip.begin * bytes + panel.begin * col.stride[kSrc];
               std::byte* const dst =
                   context.dst + position.offsets[kDst] + strip.begin * row.stride[kDst] + panel.begin * bytes;
               if (interleave)
                 interleave(src, starts, dst, strip.count());
               else
                 deinterleave(src, dst, starts, panel.count());
             });
  return true;
}

}  // namespace

bool carries(const Kernels& kernels, const Loops& loops, const Block& block, const IndexRange& cols) {
  const int64_t bytes = loops.piece[kDst], total = std::min(cols.total, cols.end() + kCacheLine / bytes) - cols.begin;
  return kernels.transpose_carried[log2_size(bytes)] && block.rows * bytes >= kRegister && total * bytes >= kCacheLine;
}

bool writes_partial_lines(const Loops& loops, const Block& block) {
  const int64_t row_bytes = loops.bytes_along_dst();
  if ((row_bytes != 16 && row_bytes != 32) || loops.along_dst.blocks > 1) return false;
  const auto even = [&](const Axis& a) { return a.table < 0 && a.stride[kDst] % row_bytes == 0; };
  if (const int64_t run = run_of_rows(loops);
      run < kLongRunOfRows && (run % kCacheLine != 0 || to_line(block.dst) != 0))
    return false;
  return loops.along_src.axes[0].stride[kDst] == row_bytes && to_line(block.dst) % row_bytes == 0 &&
         std::ranges::all_of(loops.along_src.axes, even) && std::ranges::all_of(loops.loops, even);
}

void transpose_block(const RunContext& context, const Loops& loops, const Transposition& method, const Block& block) {
  const int64_t bytes = loops.piece[kSrc];
  // A few rows or columns are (de)interleaved, and for that the block need not be packed first.
  const bool few = !block.lines && (interleaves(context.kernels, loops, block, bytes) ||
                                    deinterleaves(context.kernels, loops, block, bytes));
  if (few) return transpose_by_kernel(context, loops, block, bytes);
  if (!method.pack && block.lines) return LineTransposition(context, loops, false, block, bytes, {}, nullptr).run();
  if (!method.pack) return transpose_by_kernel(context, loops, block, bytes);
  const PipelinedKernel pipelined = context.kernels.transpose_pipelined[log2_size(bytes)];
  transpose_packed(context, loops, true, block, bytes, {pipelined, nullptr},
                   [&](const Block& rows, int64_t col, int64_t cols, std::byte* to, Starts starts) {
                     const int64_t n = rows.rows * bytes;
                     context.kernels.copy(rows.src, kFirst, rows.src_cols + col, to, kFirst, starts, 1, cols, n,
                                          rows.ahead);
                   });
}

void make(const RunContext& context, const Loops& loops, const Transposition& method, const Block& block) {
  transpose_block(context, loops, method, fetched_ahead(loops, block));
}

bool stream(const RunContext& context, const Loops& loops, const Transposition& method, const Block& whole) {
  const Kernels& kernels = context.kernels;
  const int64_t bytes = loops.piece[kDst];
  Block block = whole;
  block.stream = true;
  if (interleaves(kernels, loops, block, bytes)) {
    transpose_by_kernel(context, loops, block, bytes);
    return true;
  }
  const bool partial = writes_partial_lines(loops, block);
  if (!partial && (!at_lines(loops, block) || block.cols * bytes % kCacheLine != 0)) return false;
  block = fetched_ahead(loops, block);
  if (!partial && deinterleaves(kernels, loops, block, bytes)) {
    transpose_by_kernel(context, loops, block, bytes);
    return true;
  }
  if (!kernels.transpose_stream[log2_size(bytes)] || (!partial && block.rows * bytes < kRegister)) return false;
  transpose_block(context, loops, method, block);
  return true;
}

bool carry(const RunContext& context, const Loops& loops, const Transposition& method, const Block& whole,
           const IndexRange& cols) {
  if (!carries(context.kernels, loops, whole, cols)) return false;
  Block block = fetched_ahead(loops, whole);
  block.lines = &cols;
  transpose_block(context, loops, method, block);
  return true;
}

/// Transpositions through the cache whose blocks are whole regions go with one kernel and the same lists for all
/// blocks.
bool run(const RunContext& context, const Loops& loops, const Transposition& method, const Tables& tables,
         int64_t begin, int64_t end) {
  if (loops.past_cache || method.pack || loops.ahead != 0 || loops.strided) return false;
  if (run_interleaved(context, loops, tables, begin, end)) return true;
  if (loops.along_src.blocks > 1 || loops.along_dst.blocks > 1 || end - begin == 1) return false;
  Starts2 rows(loops.along_src.axes), cols(loops.along_dst.axes);
  rows.seek(0, loops.along_src.count);
  cols.seek(0, loops.along_dst.count);
  const auto transpose = context.kernels.transpose[log2_size(loops.piece[kSrc])];
  each_block(loops, tables, begin, end, [&](const Odometer& at, const IndexRange& row, const IndexRange& col) {
    transpose(context.src + at.offsets[kSrc], cols.of(kSrc), context.dst + at.offsets[kDst], rows.of(kDst), row.count(),
              col.count(), 0);
  });
  return true;
}

}  // namespace relayout::cpu
