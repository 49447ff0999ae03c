// Chunks: which axes are in one, and how many are done at a time.
#include "relayout/reorder/methods/chunks.h"

namespace relayout {

Planned<Chunks> plan_chunks(Box box, int64_t element, int64_t elements, bool streams) {
  Axes& axes = box.axes;
  DenseAxes chunk{kSrc, element};
  for (auto next = chunk.next(axes); next != axes.end() && chunk.count * next->extent <= kMaxBlockSide;
       next = chunk.next(axes))
    chunk.add(axes, next);
  Planned<Chunks> out{{}, {chunk.bytes()}};
  Loops& loops = out.loops;
  loops.piece = {element, element};
  loops.elements = elements;
  loops.cols = std::move(chunk.fused);
  sort_few(loops.cols, [](const Axis& a) { return a.stride[kDst]; });
  loops.col_count = chunk.count;
  if (loops.cols.empty()) loops.cols.push_back({});
  loops.dense_cols = true;
  int64_t next = element;
  for (const Axis& col : loops.cols) {
    loops.dense_cols = loops.dense_cols && col.stride[kDst] == next;
    next *= col.extent;
  }
  if (streams) {
    auto longest = axes.end();
    for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
      if (axis->table < 0 && (longest == axes.end() || axis->extent > longest->extent)) longest = axis;
    }
    loops.rows = {take(axes, longest)};
    loops.row_count = loops.rows[0].extent;
    write_past_cache(loops);
  } else {
    for (auto near = nearest(axes, kDst); near != axes.end() && near->stride[kDst] < kCacheLine;
         near = nearest(axes, kDst)) {
      loops.row_count *= near->extent;
      loops.rows.push_back(take(axes, near));
    }
    loops.row_count = add_nearest(loops.rows, loops.row_count, axes, kSrc);
  }
  loops.block_cols = loops.col_count;
  loops.block_rows = std::clamp<int64_t>(kHalfL1 / out.method.bytes, 1, kMaxBlockSide);
  finish(loops, std::move(box));
  return out;
}

}  // namespace relayout
