// The loops from block to block: lists of where rows and columns start, and rows that are joined.
#include "relayout/cpu/runners/listed.h"

#include "relayout/cpu/runners/steps.h"
#include "relayout/cpu/runners/transposition.h"

namespace relayout::cpu {
namespace {

/// Whether the rows of a box are joined (Transposition::joins): then blocks are moved on by some columns so that they
/// start at lines, and kernels write only whole lines.
bool rows_join(const Kernels& kernels, const BoxPlan& box) {
  if (!kernels.copy_stream) return false;
  if (const auto* converted = box.as<ConvertedTransposition>()) return converted->joins;
  const auto* moved = box.as<Transposition>();
  return moved && moved->joins;
}

/// Runs a block of a box whose rows are joined. It has been moved on by `shift` columns, so that it starts at the first
/// whole line of its rows; its last columns are then the first ones of the next row. What comes before the first whole
/// line of the first row, and after the last whole line of the last row, is made as blocks of their own.
void run_joined(const RunContext& context, const BoxPlan& box, Block block, IndexRange row, const IndexRange& col,
                int64_t shift) {
  int64_t cols[kMaxListed], first[kCacheLine], unused[kCacheLine];
  const int64_t begin = col.begin + shift, own = std::min(block.cols, col.total - begin);
  const int64_t start = list_starts(box.along_dst.axes, begin, 1, {first, unused})[kSrc];
  list_starts(box.along_dst.axes, 0, shift, {first, unused});
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
    for (int64_t c = own; c < block.cols; ++c) cols[c] = first[c - own] + box.along_src.axes[0].stride[kSrc];
    block.src_cols = cols;
  }
  if (block.rows > 0) run_block(context, box, block, row, col);
}

}  // namespace

void run_listed(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end,
                BlockLists& lists) {
  auto& [rows, cols] = lists;
  const bool bytes[] = {box.unit_bits[kSrc] == 8, box.unit_bits[kDst] == 8};
  const bool one_column = box.long_runs && bytes[kSrc] && bytes[kDst];
  // How many columns beyond its own a block needs at most to complete its last line.
  const int64_t piece = std::max<int64_t>(1, box.piece[kDst]);
  const int64_t extra_cols = box.past_cache ? ceil_div(kMaxExtra, piece) : 0;
  // Each strip prefetches the next one; so the last strip of a panel must prefetch the first strip of the next panel or
  // region, which may lie elsewhere.
  const int64_t over = box.ahead - box.along_src.block * box.piece[kSrc];
  const bool by_strips = box.ahead > 0 && box.along_src.dense &&
                         (box.along_dst.axes.size() == 1 || box.along_dst.blocks == 1) && over >= 0 && over < kMaxExtra;
  const auto to_next = [&](const Odometer& at, const IndexRange& row, const IndexRange& col) {
    const int64_t stride = box.along_dst.axes[0].stride[kSrc];
    const int64_t next =
        col.end() < col.total ? col.most * stride : at.next_src() - at.offsets[kSrc] - col.begin * stride;
    return next - row.begin * box.piece[kSrc] + over;
  };
  const bool joins = rows_join(context.kernels, box);
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
                      by_strips && row.end() == row.total ? to_next(at, row, col) : 0,
                      false,
                      box.along_src.axes[0].table >= 0 ? row.total - row.end() : 0};
    if (shift > 0)
      run_joined(context, box, block, row, col, shift);
    else
      run_block(context, box, block, row, col);
  });
  const auto* padding = box.as<Fill>();
  if ((box.past_cache || (padding && padding->past_cache)) && context.kernels.flush) context.kernels.flush();
}

Block sub_block(const Loops& loops, const Block& block, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  Block sub = block;
  sub.rows = rows;
  sub.cols = cols;
  sub.offset[kAttribute] +=
      row * loops.along_src.axes[0].stride[kAttribute] + col * loops.along_dst.axes[0].stride[kAttribute];
  sub.dst_rows += row;
  if (loops.along_src.axes[0].table >= 0) {
    sub.src_rows += row;
    sub.rows_behind += block.rows - row - rows;
  } else {
    // The rows of the source are one axis, or follow each other, so that the same list serves from any row on.
    sub.src += block.src_rows[row];
    sub.offset[kSrc] += block.src_rows[row];
  }
  if (col == 0) return sub;
  if (loops.long_runs)
    sub.src += col * loops.along_dst.axes[0].stride[kSrc];
  else
    sub.src_cols += col;
  const int64_t dst = loops.along_dst.dense ? col * loops.piece[kDst] : block.dst_cols[col];
  sub.dst += dst;
  sub.offset[kDst] += dst;
  return sub;
}

}  // namespace relayout::cpu
