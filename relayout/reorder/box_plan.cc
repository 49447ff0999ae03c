// Which kernel does a box. In this order: pair nibbles into bytes where that is possible; look whether tiles of
// registers or a permutation of small groups make larger elements; then choose rows and columns of pieces, and the
// kernel that suits these. Start at plan_move() and plan_cast() at the end.
#include "relayout/reorder/box_plan.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "relayout/reorder/axes.h"
#include "relayout/reorder/blocks.h"
#include "relayout/reorder/permuted_rows.h"
#include "relayout/reorder/region.h"
#include "relayout/reorder/register_tiles.h"
#include "relayout/reorder/shuffle.h"
#include "relayout/reorder/stages.h"

namespace relayout {
namespace {

/// A conversion is planned by stages instead where rows have fewer than kFewValues values, regions fewer than
/// kSmallConvertedRegion values, or runs fewer than kShortPiece values, which do not fill a register.
constexpr int64_t kFewValues = 16, kSmallConvertedRegion = 2048, kShortPiece = 8;
/// A box of fewer values than this is not worth planning stages for.
constexpr int64_t kFewElements = 512;
/// The region of pieces that are copied through the cache grows until it has kEnoughCopied bytes, because a smaller
/// block takes longer to start than to copy. Boxes of tiles are left as they are, because the blocks of tiles are
/// started once for all tiles.
constexpr int64_t kEnoughCopied = 2 << 10;

/// Pairs nibbles into bytes where a run of them starts and ends at whole bytes throughout.
bool pair_nibbles(Box& box) {
  const auto run = find_run(box.axes, 1, 1);
  if (run == box.axes.end() || run->extent % 2 != 0 || box.offset[kSrc] % 2 != 0 || box.offset[kDst] % 2 != 0) {
    return false;
  }
  for (auto a = box.axes.begin(); a != box.axes.end(); ++a) {
    if (a->table >= 0 || (a != run && (a->stride[kSrc] % 2 != 0 || a->stride[kDst] % 2 != 0))) return false;
  }
  run->extent /= 2;
  run->stride[kSrc] = run->stride[kDst] = 2;
  for (Operand side : {kSrc, kDst}) {
    box.offset[side] /= 2;
    for (Axis& axis : box.axes) axis.stride[side] /= 2;
  }
  simplify(box);
  return true;
}

/// Moves axes from `axes` to `to`, those of the shortest steps on one side first, until `to` has `enough` steps for a
/// block. `count` is the number of steps that `to` already has. Returns the new count.
int64_t add_nearest(Axes& to, int64_t count, Axes& axes, Operand side, int64_t enough = kEnoughSteps) {
  for (auto next = nearest(axes, side); next != axes.end(); next = nearest(axes, side)) {
    if (!to.empty() && count >= enough) break;
    count *= next->extent;
    to.push_back(take(axes, next));
  }
  if (to.empty()) to.push_back({});
  return count;
}

/// Plans a copy of runs along the axis `run`, each long enough to be copied by itself.
void choose_long_copy(BoxPlan& plan, Axis run, Axes& axes) {
  plan.shape = KernelShape::copy;
  plan.long_runs = plan.dense_cols = true;
  plan.col_count = run.extent;
  plan.cols = {run};
  plan.rows = {take(axes, nearest(axes, kDst))};
  plan.row_count = plan.rows[0].extent;
}

/// Whether the rows and columns chosen for a transposition make a block that is worth a loop around it, and whether
/// they are long enough for the kernels.
bool fills_tiles(const BoxPlan& plan) {
  constexpr int64_t kTile = 16, kLeastTiledBytes = 256;
  const int64_t piece = plan.piece[kSrc], rows = plan.row_count, cols = plan.col_count;
  if (rows * cols * piece < kLeastTiledBytes && plan.elements > rows * cols) return false;
  if (plan.shuffle > 1 && rows * piece < kCacheLine) return false;
  return (rows * piece >= kTile && cols > 1) || (cols * piece >= kTile && rows > 1);
}

/// Plans a gather for a box whose runs are short on both sides. The source is read by *chunks*: a chunk is some dense
/// bytes of it, few enough to stay in the cache. The columns of the box are the pieces of one chunk, in the order of
/// the destination. One list for the whole box says where each piece is in a chunk. The rows of the box are chunks.
/// Through the caches, these are first the chunks that write to the same lines of the destination and then those that
/// are near each other in the source; past the caches, they are the steps of only one axis, the longest.
void choose_chunk(BoxPlan& plan, Axes& axes, bool streams) {
  DenseAxes chunk{kSrc, plan.piece[kSrc]};
  for (auto next = chunk.next(axes); next != axes.end() && chunk.count * next->extent <= kMaxBlockSide;
       next = chunk.next(axes))
    chunk.add(axes, next);
  plan.chunk = chunk.bytes();
  plan.cols = std::move(chunk.fused);
  sort_few(plan.cols, [](const Axis& a) { return a.stride[kDst]; });
  plan.col_count = chunk.count;
  if (plan.cols.empty()) plan.cols.push_back({});
  plan.dense_cols = true;
  int64_t next = plan.piece[kDst];
  for (const Axis& col : plan.cols) {
    plan.dense_cols = plan.dense_cols && col.stride[kDst] == next;
    next *= col.extent;
  }
  if (streams) {
    auto longest = axes.end();
    for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
      if (axis->table < 0 && (longest == axes.end() || axis->extent > longest->extent)) longest = axis;
    }
    plan.rows = {take(axes, longest)};
    plan.row_count = plan.rows[0].extent;
  } else {
    for (auto near = nearest(axes, kDst); near != axes.end() && near->stride[kDst] < kCacheLine;
         near = nearest(axes, kDst)) {
      plan.row_count *= near->extent;
      plan.rows.push_back(take(axes, near));
    }
    plan.row_count = add_nearest(plan.rows, plan.row_count, axes, kSrc);
  }
  plan.dense_rows = false;
  plan.shape = KernelShape::gather;
}

/// Adds rows to a small region of pieces that are copied.
void grow_copied(BoxPlan& plan, Axes& axes) {
  while (plan.row_count * plan.col_count * plan.piece[kDst] < kEnoughCopied) {
    const auto next = shortest(axes);
    if (next == axes.end()) return;
    plan.row_count *= next->extent;
    plan.rows.push_back(take(axes, next));
    plan.dense_rows = false;
  }
}

/// Plans a box that moves elements of whole bytes.
BoxPlan plan_elements(Box box, int64_t element, const Shuffle& shuffle, bool streams, const BlockRules& rules) {
  BoxPlan out;
  out.elements = count_elements(box);
  out.shuffle = shuffle.bytes;
  out.pattern = shuffle.pattern;
  if (const auto run = find_run(box.axes, element, element); run != box.axes.end()) {
    const int64_t bytes = run->extent * element;
    const bool alone = box.axes.size() == 1;
    box.axes.erase(run);
    if (shuffle.bytes == 1 && (alone || bytes >= kLongRun)) {
      choose_long_copy(out, {bytes, {1, 1, 0}, -1}, box.axes);
      return finish(std::move(out), std::move(box), false, streams, rules);
    }
    element = bytes;  // a short run moves as one larger piece
  }
  out.piece = {element, element};
  const bool in_registers = element <= 16 && (element & (element - 1)) == 0;
  BoxPlan tiles = out;
  Box rest = box;
  choose_region(tiles, rest.axes);
  if (element < kGroup) split_columns(tiles, rest.axes);
  // A piece of 16 bytes fills a register: it is copied, and not transposed with others.
  tiles.shape = !in_registers || element == kGroup     ? KernelShape::copy
                : tiles.dense_cols && tiles.dense_rows ? KernelShape::transpose
                                                       : KernelShape::gather;
  // Where a piece is whole groups, permuting them as they are read is a copy.
  if (tiles.shape == KernelShape::gather && element % shuffle.bytes == 0 && shuffle.bytes > 1)
    tiles.shape = KernelShape::copy;
  // Small pieces that are near each other on both sides become the columns, even where they leave gaps in the
  // destination.
  if (tiles.shape == KernelShape::copy && element < kSmallPiece && tiles.dense_rows && !tiles.dense_cols &&
      tiles.rows.size() == 1 && tiles.rows[0].stride[kDst] < tiles.cols[0].stride[kDst]) {
    std::swap(tiles.rows, tiles.cols);
    std::swap(tiles.row_count, tiles.col_count);
    tiles.dense_rows = false;
  }
  if (tiles.shape == KernelShape::gather && !tiles.dense_cols && !streams) {
    // Columns go along the destination, so that its lines are completed soon. The source's lines stay in the cache
    // until they are used up in either order.
    tiles.rows = tiles.cols = {};
    tiles.row_count = tiles.col_count = 1;
    tiles.dense_rows = false;
    rest = box;
    tiles.cols.push_back(take(rest.axes, nearest(rest.axes, kDst)));
    tiles.col_count = tiles.cols[0].extent;
    tiles.rows.push_back(take(rest.axes, nearest(rest.axes, kSrc)));
    tiles.row_count = tiles.rows[0].extent;
  }
  // Where steps are far apart, more axes in the block save loops around it.
  if (tiles.shape != KernelShape::transpose && !streams) {
    if (!tiles.dense_cols && std::abs(tiles.cols[0].stride[kDst]) >= kCacheLine)
      tiles.col_count = add_nearest(tiles.cols, tiles.col_count, rest.axes, kDst);
    if (!tiles.dense_rows) tiles.row_count = add_nearest(tiles.rows, tiles.row_count, rest.axes, kSrc);
  }
  if (tiles.shape == KernelShape::copy && !streams && count_elements(box) * element > kMaxTileBytes)
    grow_copied(tiles, rest.axes);
  if (tiles.shape != KernelShape::transpose || fills_tiles(tiles)) {
    tiles = finish(std::move(tiles), std::move(rest), false, streams, rules);
    note_permuted_rows(tiles);
    return tiles;
  }
  choose_chunk(out, box.axes, streams);
  return finish(std::move(out), std::move(box), false, streams, rules);
}

/// Whether a box's kernels read whole groups of a permuted source.
bool reads_groups(const BoxPlan& plan) {
  if (plan.shape == KernelShape::copy) return plan.piece[kSrc] % plan.shuffle == 0;
  if (plan.shape == KernelShape::gather) return plan.chunk > 0 && plan.chunk % plan.shuffle == 0;
  return plan.shape == KernelShape::transpose && plan.piece[kSrc] * plan.row_count % plan.shuffle == 0;
}

/// Whether both sides start with the same long run, or each with a long run of an axis of its own. Then no bytes within
/// groups are permuted, and a plain copy or transposition is best.
bool starts_with_long_runs(Axes& axes, int64_t element, bool streams) {
  if (const auto run = find_run(axes, element, element); run != axes.end())
    return run->extent * element > kGroup && run->extent * element % kGroup == 0;
  const auto row = stepping(axes, kSrc, element), col = stepping(axes, kDst, element);
  return row != axes.end() && col != axes.end() && row->extent * element >= kGroup &&
         col->extent * element >= (streams ? kCacheLine : kGroup) && row->extent * col->extent * element >= kSmallTiles;
}

/// Chooses which of 64 bytes one store fills: those of the innermost axes and of some steps of the next axis. The other
/// steps of that axis are the columns.
void choose_mask(BoxPlan& plan, Axes& axes) {
  int64_t bytes = plan.piece[kDst];
  plan.fill_mask = (uint64_t{1} << bytes) - 1;
  while (true) {
    const auto axis = nearest(axes, kDst);
    if (axis == axes.end()) return;
    const int64_t stride = axis->stride[kDst], steps = std::min(axis->extent, (kCacheLine - bytes) / stride + 1);
    if (steps == 1) return;
    const uint64_t one = plan.fill_mask;
    for (int64_t i = 1; i < steps; ++i) plan.fill_mask |= one << (i * stride);
    bytes += (steps - 1) * stride;
    const Axis taken = take(axes, axis);
    if (steps == taken.extent) continue;
    plan.col_count = ceil_div(taken.extent, steps);
    plan.cols = {{plan.col_count, {0, steps * stride, 0}, -1}};
    plan.last_col = (taken.extent - steps) * stride;
    return;
  }
}

/// Whether one side interleaves a few long runs of the other side, for which there are kernels of their own.
bool interleaves_few(Box& box, int64_t element) {
  constexpr int64_t kTiles = 4, kLong = 16 * kCacheLine;
  for (const Operand side : {kSrc, kDst}) {
    const auto few = stepping(box.axes, side, element);
    if (few == box.axes.end()) continue;
    const int64_t step = few->extent * element;
    const auto run = side == kSrc ? find_run(box.axes, step, element) : find_run(box.axes, element, step);
    if (run == box.axes.end() || !interleaved(few->extent, run->extent, element)) continue;
    // Five, seven or nine runs are slower by tiles of registers. Up to four are as fast, unless the runs are long.
    if (few->extent > kTiles || run->extent * element >= kLong) return true;
  }
  return false;
}

}  // namespace

BoxPlan plan_move(Box box, DType dtype, bool streams, const BlockRules& rules) {
  int64_t element = bits(dtype) / 8;
  if (bits(dtype) < 8) {
    if (!pair_nibbles(box)) {
      BoxPlan out;
      out.elements = count_elements(box);
      out.piece = {0, 0};
      out.unit_bits = {4, 4};
      out.cols = {take(box.axes, nearest(box.axes, kDst))};
      out.rows = {take(box.axes, nearest(box.axes, kSrc))};
      out.col_count = add_nearest(out.cols, out.cols[0].extent, box.axes, kDst, kNibbleSide);
      out.row_count = add_nearest(out.rows, out.rows[0].extent, box.axes, kSrc, kNibbleSide);
      return finish(std::move(out), std::move(box), false, false, rules);
    }
    element = 1;
  }
  turn_rows(box, element, element);
  if (interleaves_few(box, element) || starts_with_long_runs(box.axes, element, streams))
    return plan_elements(std::move(box), element, {}, streams, rules);
  auto tiles = element < kGroup ? plan_register_tiles(box, element) : std::nullopt;
  if (tiles && wants_tiles(*tiles, streams)) return *std::move(tiles);
  if (element < kGroup) {
    Box permuted = box;
    if (const Shuffle shuffle = shuffle_source(permuted, element); shuffle.bytes > 1) {
      BoxPlan out = plan_elements(std::move(permuted), element, shuffle, streams, rules);
      // Where a group begins with two elements in their old order, these are better moved as one larger element without
      // a permutation, unless the whole group is copied.
      const bool larger = shuffle.pattern[static_cast<std::size_t>(element)] == element;
      if (reads_groups(out) && (!larger || out.shape == KernelShape::copy)) return out;
    }
  }
  BoxPlan plain = plan_elements(std::move(box), element, {}, streams, rules);
  return tiles && plain.chunk > 0 ? *std::move(tiles) : plain;
}

BoxPlan plan_cast(Box box, DType src, DType dst, bool sums, bool streams, const BlockRules& rules) {
  BoxPlan out;
  out.elements = count_elements(box);
  out.unit_bits = {static_cast<int8_t>(unit_bits(src)), static_cast<int8_t>(unit_bits(dst))};
  out.piece = {units(src), units(dst)};
  const bool whole_bytes = bits(src) >= 8 && bits(dst) >= 8;
  if (whole_bytes) turn_rows(box, units(src), units(dst));
  if (const auto run = find_run(box.axes, units(src), units(dst)); run != box.axes.end()) {
    const bool alone = box.axes.size() == 1;
    // All values of a piece must share one attribute value, so a run whose attribute values differ is cut into values.
    const bool divisible = run->stride[kAttribute] != 0 || !whole_bytes;
    const Axis taken = take(box.axes, run);
    if (whole_bytes && !alone && taken.extent < kShortPiece && out.elements >= kFewElements) {
      box.axes.push_back(taken);
      if (auto stages = plan_stages(box, src, dst, sums)) return *std::move(stages);
      box.axes.pop_back();
    }
    if (alone || divisible || taken.extent * std::max(units(src), units(dst)) >= kLongRun) {
      choose_long_copy(out, taken, box.axes);
      return finish(std::move(out), std::move(box), true, streams && whole_bytes, rules);
    }
    out.piece = {taken.extent * units(src), taken.extent * units(dst)};
    choose_region(out, box.axes);
    split_columns(out, box.axes);
    out.shape = KernelShape::copy;
    return finish(std::move(out), std::move(box), true, streams, rules);
  }
  const Axes axes = box.axes;
  choose_region(out, box.axes);
  split_columns(out, box.axes);
  out.shape = whole_bytes && out.dense_cols && out.dense_rows ? KernelShape::transpose : KernelShape::gather;
  // The values that are converted together: rows as they lie in the source if the destination's type is narrower,
  // otherwise columns as they lie in the destination.
  const int64_t together = units(dst) < units(src) ? out.row_count : out.col_count;
  const int64_t region = out.row_count * out.col_count;
  const bool small =
      together < kFewValues || (region < kSmallConvertedRegion && region < out.elements && units(src) != units(dst));
  if (whole_bytes && out.elements >= kFewElements && (out.shape == KernelShape::gather || small)) {
    if (auto stages = plan_stages({box.offset, axes}, src, dst, sums)) return *std::move(stages);
  }
  return finish(std::move(out), std::move(box), true, streams && whole_bytes, rules);
}

BoxPlan plan_fill(Box box, DType dtype, uint64_t fill_bits) {
  BoxPlan out;
  out.shape = KernelShape::fill;
  out.last_col = std::numeric_limits<int64_t>::max();
  out.elements = count_elements(box);
  const int64_t element = bits(dtype) / 8;
  out.piece = {element, element};
  if (bits(dtype) < 8) {
    const bool one_pattern = (fill_bits & 15) * 17 == fill_bits;
    out.piece[kSrc] = out.piece[kDst] = one_pattern && pair_nibbles(box) ? 1 : 0;
    if (out.piece[kDst] == 0) out.unit_bits = {4, 4};
  }
  if (out.piece[kDst] > 0) choose_mask(out, box.axes);
  // Where choose_mask() chose no columns, they are the innermost axes; and rows are the next ones.
  if (out.cols.empty()) out.col_count = add_nearest(out.cols, 1, box.axes, kDst);
  out.row_count = add_nearest(out.rows, 1, box.axes, kDst);
  return finish(std::move(out), std::move(box), false, false, {});
}

}  // namespace relayout
