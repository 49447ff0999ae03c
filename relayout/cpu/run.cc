// The loops around the kernels: from block to block of a box. Start at run_blocks() at the end, which chooses how a box
// is run.
#include "relayout/cpu/run.h"

#include <algorithm>

#include "relayout/cpu/nibbles.h"
#include "relayout/cpu/permuted_run.h"
#include "relayout/cpu/steps.h"

namespace relayout::cpu {
namespace {

void fill_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& cols) {
  uint64_t bits = context.plan.fill_bits();
  const int64_t bytes = box.piece[kDst];
  if (bytes == 0) {
    return fill_nibbles(context.kernels, static_cast<std::byte>(bits & 15), context.dst, block);
  }
  for (int64_t b = bytes; b < 8; b *= 2) bits = (bits & (~uint64_t{0} >> (64 - 8 * b))) | bits << (8 * b);
  context.kernels.fill(block.dst, block.dst_rows, block.dst_cols, block.rows, block.cols,
                       box.last_col - cols.begin * box.cols[0].stride[kDst], box.fill_mask, bits, box.fill_streams);
}

void run_strided_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin,
                        int64_t end) {
  const Axis &row = box.rows[0], &col = box.cols[0];
  each_block(box, tables, begin, end, [&](const Odometer& position, const IndexRange& rows, const IndexRange& cols) {
    const Offsets& at = position.offsets;
    run_strided(context.kernels, box,
                context.src + at[kSrc] + rows.begin * row.stride[kSrc] + cols.begin * col.stride[kSrc],
                context.dst + at[kDst] + rows.begin * row.stride[kDst] + cols.begin * col.stride[kDst], rows.count(),
                cols.count());
  });
}

/// Runs blocks that interleave a few columns, or deinterleave a few rows, through the cache. The kernel is chosen, and
/// its list made, once for all blocks. For other boxes, does nothing and returns false.
bool run_interleaved(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  if (box.rows.size() != 1 || box.cols.size() != 1) return false;
  const Axis &row = box.rows[0], &col = box.cols[0];
  const int64_t bytes = box.piece[kSrc], rows = box.row_count, cols = box.col_count;
  const Kernels& kernels = context.kernels;
  const auto interleave =
      box.panels == 1 && row.stride[kDst] == cols * bytes ? few_kernel(kernels.interleave, cols, rows, bytes) : nullptr;
  const auto deinterleave = box.strips == 1 && col.stride[kSrc] == rows * bytes
                                ? few_kernel(kernels.deinterleave, rows, cols, bytes)
                                : nullptr;
  if (!interleave && !deinterleave) return false;
  int64_t starts[kMostInterleaved];
  for (int64_t i = 0; i < (interleave ? cols : rows); ++i)
    starts[i] = i * (interleave ? col.stride[kSrc] : row.stride[kDst]);
  each_block(box, tables, begin, end, [&](const Odometer& position, const IndexRange& strip, const IndexRange& panel) {
    const std::byte* const src =
        context.src + position.offsets[kSrc] + strip.begin * bytes + panel.begin * col.stride[kSrc];
    std::byte* const dst = context.dst + position.offsets[kDst] + strip.begin * row.stride[kDst] + panel.begin * bytes;
    if (interleave)
      interleave(src, starts, dst, strip.count());
    else
      deinterleave(src, dst, starts, panel.count());
  });
  return true;
}

/// Runs a transposition through the cache whose blocks are whole regions, with one kernel and the same lists for all
/// blocks. For other boxes, does nothing and returns false.
bool run_regions(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  const bool cached = !context.plan.streams() || context.in_tile;
  if (box.shape != KernelShape::transpose || !cached || context.converts() || box.shuffle > 1 || box.row_run > 0 ||
      box.pack || box.ahead != 0)
    return false;
  if (run_interleaved(context, box, tables, begin, end)) return true;
  if (box.strips > 1 || box.panels > 1 || end - begin == 1) return false;
  Starts2 rows(box.rows), cols(box.cols);
  rows.seek(0, box.row_count);
  cols.seek(0, box.col_count);
  const auto transpose = context.kernels.transpose[log2_size(box.piece[kSrc])];
  each_block(box, tables, begin, end, [&](const Odometer& at, const IndexRange& row, const IndexRange& col) {
    transpose(context.src + at.offsets[kSrc], cols.of(kSrc), context.dst + at.offsets[kDst], rows.of(kDst), row.count(),
              col.count(), 0);
  });
  return true;
}

/// Whether rows that are as long as whole lines, but do not start at lines, can be *joined*: they follow each other in
/// the destination, so that the last line of a row is completed by the start of the next row. Then blocks are moved on
/// by some columns so that they start at lines, and kernels write only whole lines. Short rows of small regions are not
/// joined but put together in the cache, because the first line and the last row, which are made separately, would take
/// longer than all the rest.
bool rows_join(const RunContext& context, const BoxPlan& box) {
  const int64_t bytes = box.piece[kDst], row_bytes = box.col_count * bytes;
  const auto even = [](const Axis& a) { return a.stride[kAttribute] == 0; };
  if (box.strips * box.panels == 1 && small_region(box)) return false;
  return box.shape == KernelShape::transpose && box.shuffle == 1 && streams(context, box) &&
         row_bytes % kCacheLine == 0 && !deinterleaves_whole(context, box) &&
         (box.panels == 1 || box.block_cols * bytes % kCacheLine == 0) && box.rows.size() == 1 &&
         box.rows[0].stride[kDst] == row_bytes && even(box.rows[0]) && std::ranges::all_of(box.cols, even);
}

/// Runs a block of a box whose rows are joined. It has been moved on by `shift` columns, so that it starts at the first
/// whole line of its rows; its last columns are then the first ones of the next row. What comes before the first whole
/// line of the first row, and after the last whole line of the last row, is made as blocks of their own.
void run_joined(const RunContext& context, const BoxPlan& box, Block block, IndexRange row, const IndexRange& col,
                int64_t shift) {
  int64_t cols[kMaxListed], first[kCacheLine], unused[kCacheLine];
  const int64_t begin = col.begin + shift, own = std::min(block.cols, col.total - begin);
  const int64_t start = list_starts(box.cols, begin, 1, {first, unused})[kSrc];
  list_starts(box.cols, 0, shift, {first, unused});
  for (int64_t c = 0; c < shift; ++c) first[c] -= start;
  if (row.begin == 0 && col.begin == 0) {
    Block head = block;
    head.dst -= shift * box.piece[kDst];
    head.src_cols = first;
    head.rows = 1;
    head.cols = shift;
    make_block(context, box, head);
  }
  if (own < block.cols) {
    if (row.end() == row.total) {
      --block.rows;
      --row.total;
      make_block(context, box, sub_block(box, block, block.rows, 1, 0, own));
    }
    std::copy_n(block.src_cols, own, cols);
    for (int64_t c = own; c < block.cols; ++c) cols[c] = first[c - own] + box.rows[0].stride[kSrc];
    block.src_cols = cols;
  }
  if (block.rows > 0) run_block(context, box, block, row, col);
}

void run_listed(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  Starts2 rows(box.rows), cols(box.cols);
  const bool bytes[] = {box.unit_bits[kSrc] == 8, box.unit_bits[kDst] == 8};
  const bool one_column = box.long_runs && bytes[kSrc] && bytes[kDst];
  // How many columns beyond its own a block needs at most to complete its last line.
  const int64_t piece = std::max<int64_t>(1, box.piece[kDst]);
  const int64_t extra_cols = context.plan.streams() ? ceil_div(kMaxExtra, piece) : 0;
  // Each strip prefetches the next one; so the last strip of a panel must prefetch the first strip of the next panel or
  // region, which may lie elsewhere.
  const int64_t over = box.ahead - box.block_rows * box.piece[kSrc];
  const bool by_strips =
      box.ahead > 0 && box.dense_rows && (box.cols.size() == 1 || box.panels == 1) && over >= 0 && over < kMaxExtra;
  const auto to_next = [&](const Odometer& at, const IndexRange& row, const IndexRange& col) {
    const int64_t stride = box.cols[0].stride[kSrc];
    const int64_t next =
        col.end() < col.total ? col.most * stride : at.next_src() - at.offsets[kSrc] - col.begin * stride;
    return next - row.begin * box.piece[kSrc] + over;
  };
  const bool joins = rows_join(context, box);
  each_block(box, tables, begin, end, [&](const Odometer& at, const IndexRange& row, const IndexRange& col) {
    const int64_t head = joins ? to_line(context.dst + at.offsets[kDst]) : 0,
                  shift = head % piece == 0 ? head / piece : 0;
    const IndexRange own{col.begin + shift, col.most, col.total};
    rows.seek(row.begin, row.count());
    cols.seek(own.begin, one_column ? 1 : own.listed(extra_cols));
    Offsets offset;
    for (std::size_t k = 0; k < kOperands; ++k) offset[k] = at.offsets[k] + rows.first()[k] + cols.first()[k];
    offset[kAttribute] += context.attribute;
    const Block block{context.src + (bytes[kSrc] ? offset[kSrc] : 0),
                      context.dst + (bytes[kDst] ? offset[kDst] : 0),
                      offset,
                      rows.of(kSrc),
                      cols.of(kSrc),
                      rows.of(kDst),
                      cols.of(kDst),
                      row.count(),
                      col.count(),
                      by_strips && row.end() == row.total ? to_next(at, row, col) : 0};
    if (shift > 0)
      run_joined(context, box, block, row, col, shift);
    else
      run_block(context, box, block, row, col);
  });
  const bool streamed = (context.plan.streams() && !context.in_tile) || box.fill_streams;
  if (streamed && context.kernels.flush) context.kernels.flush();
}

}  // namespace

void run_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& rows,
               const IndexRange& cols) {
  if (box.shape == KernelShape::fill) return fill_block(context, box, block, cols);
  if (streams(context, box)) return stream_block(context, box, block, rows, cols);
  make_block(context, box, block);
}

Block sub_block(const BoxPlan& box, const Block& block, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  Block sub = block;
  sub.rows = rows;
  sub.cols = cols;
  sub.offset[kAttribute] += row * box.rows[0].stride[kAttribute] + col * box.cols[0].stride[kAttribute];
  // The rows of the source are one axis, or follow each other, so that the same list serves from any row on.
  sub.src += block.src_rows[row];
  sub.offset[kSrc] += block.src_rows[row];
  sub.dst_rows += row;
  if (col == 0) return sub;
  if (box.long_runs)
    sub.src += col * box.piece[kSrc];
  else
    sub.src_cols += col;
  const int64_t dst = box.dense_cols ? col * box.piece[kDst] : block.dst_cols[col];
  sub.dst += dst;
  sub.offset[kDst] += dst;
  return sub;
}

void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  if (box.stage > 0)
    run_stages(context, box, tables, begin, end);
  else if (!box.nested.empty())
    run_tiles(context, box, tables, begin, end);
  else if (!box.row_sources.empty() && run_permuted(context, box, tables, begin, end))
    return;
  else if (box.strided && box.ahead == 0)
    run_strided_blocks(context, box, tables, begin, end);
  else if (box.by_image && context.kernels.copy_stream && to_line(context.dst) == 0)
    run_image_tiles(context, box, tables, begin, end);
  else if (!run_regions(context, box, tables, begin, end))
    run_listed(context, box, tables, begin, end);
}

}  // namespace relayout::cpu
