// Making a plan: checks, refinement, and the choice of a kernel shape for each box.
#include "relayout/reorder/plan.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>
#include <utility>

#include "relayout/reorder/cast.h"
#include "relayout/reorder/refine.h"

namespace relayout {
namespace {

/// Runs of so many bytes are copied as they are; shorter ones are pieces.
constexpr int64_t kLongRun = 512;
/// Bytes of a copy that are one unit of work.
constexpr int64_t kCopyBlock = 256 << 10;
/// Values of a run that are converted as one unit of work.
constexpr int64_t kCastBlock = 4096;
/// Fewer rows than pay for a list of columns of their own.
constexpr int64_t kFewRows = 32;
/// Rows of a region grow until they have so many bytes.
constexpr int64_t kRowBytes = 256;
/// Lines of the cache.
constexpr int64_t kLine = 64;
/// The table of attribute values.
constexpr int64_t kMaxAttributeBytes = int64_t{1} << 30;

int unit_bits(DType dtype) { return bits(dtype) < 8 ? bits(dtype) : 8; }
int64_t units(DType dtype) { return bits(dtype) / unit_bits(dtype); }

/// Offsets and strides from elements to units.
void scale(Offsets& offsets, int64_t src_units, int64_t dst_units) {
  offsets[kSrc] *= src_units;
  offsets[kDst] *= dst_units;
}

void scale(Box& box, int64_t src_units, int64_t dst_units) {
  scale(box.offset, src_units, dst_units);
  for (Axis& axis : box.axes) scale(axis.stride, src_units, dst_units);
}

/// The affine axis with the least |stride| of an operand, or end().
Axes::iterator nearest(Axes& axes, Operand operand) {
  auto best = axes.end();
  for (auto a = axes.begin(); a != axes.end(); ++a) {
    if (a->table >= 0) continue;
    if (best == axes.end() || std::abs(a->stride[operand]) < std::abs(best->stride[operand])) best = a;
  }
  return best;
}

/// The affine axis of exactly this stride, or end().
Axes::iterator stepping(Axes& axes, Operand operand, int64_t stride) {
  return std::ranges::find_if(axes, [&](const Axis& a) { return a.table < 0 && a.stride[operand] == stride; });
}

Axis take(Axes& axes, Axes::iterator at) {
  if (at == axes.end()) return {};
  const Axis out = *at;
  axes.erase(at);
  return out;
}

/// Fused axes of one operand that follow each other without a gap from pieces of `piece` units on, with one stride of
/// the attributes.
struct DenseAxes {
  Operand operand;
  int64_t piece, count = 1;
  Axes fused = {};

  Axes::iterator next(Axes& axes) const {
    const auto axis = stepping(axes, operand, piece * count);
    if (axis == axes.end() || fused.empty()) return axis;
    return axis->stride[kAttribute] == fused[0].stride[kAttribute] * count ? axis : axes.end();
  }
  void add(Axes& axes, Axes::iterator axis) {
    count *= axis->extent;
    fused.push_back(take(axes, axis));
  }
  int64_t bytes() const { return piece * count; }
};

/// The axis that steps from element to element on both sides, or end().
Axes::iterator find_run(Axes& axes, int64_t element_bytes) {
  return std::ranges::find_if(axes, [&](const Axis& a) {
    return a.table < 0 && a.stride[kSrc] == element_bytes && a.stride[kDst] == element_bytes;
  });
}

/// Pairs nibbles into bytes where a run of them starts and ends at whole bytes throughout.
bool pair_nibbles(Box& box) {
  const auto run = find_run(box.axes, 1);
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

/// Bytes of a group that a shuffle of registers permutes, at most.
constexpr int64_t kGroup = 16;

/// A permutation within dense groups of the source.
struct Shuffle {
  int64_t bytes = 1;
  std::array<uint8_t, kGroup> pattern{};
};

/// Where both sides start with short runs of different axes, groups of the source that hold some of each are permuted
/// as they are read, so that what is together in the destination becomes one larger element. Rewrites the source's
/// strides of `box` to those of the permuted source. Returns a shuffle of 1 byte where that gains nothing.
///
///     src 2a of 1 byte within 16b2a, dst 2b within 16a2b: groups b2 a2 become a2 b2, elements of two bytes
Shuffle shuffle_source(Box& box, int64_t element) {
  // The axes that make up the source's innermost bytes.
  Axes group;
  int64_t bytes = element;
  Axes& axes = box.axes;
  while (bytes < kGroup && kGroup % bytes == 0) {
    const auto axis = stepping(axes, kSrc, bytes);
    if (axis == axes.end()) break;
    const int64_t room = kGroup / bytes;
    if (axis->extent > room) {
      if (axis->extent % room != 0) break;
      Axis outer = *axis;
      outer.extent /= room;
      for (std::size_t k = 0; k < kOperands; ++k) outer.stride[k] *= room;
      axis->extent = room;
      group.push_back(take(axes, axis));
      axes.push_back(outer);
    } else {
      group.push_back(take(axes, axis));
    }
    bytes *= group.back().extent;
  }
  Shuffle out;
  const auto give_back = [&] {
    for (const Axis& axis : group) axes.push_back(axis);
    simplify(box);
    return out;
  };
  const bool aligned =
      std::ranges::all_of(axes, [&](const Axis& a) { return a.table < 0 && a.stride[kSrc] % bytes == 0; });
  if (group.size() < 2 || !aligned || kGroup % bytes != 0) return give_back();
  Axes sorted = group;
  std::ranges::stable_sort(sorted, {}, [](const Axis& a) { return a.stride[kDst]; });
  // The larger element, if there is one.
  if (sorted[0].stride[kDst] != element || sorted[0].stride[kSrc] == element) return give_back();
  out.bytes = bytes;
  int64_t virtual_stride = element;
  std::array<int64_t, kGroup> from{};  // of each element's place in the permuted group
  int64_t count = 1;
  for (Axis& axis : sorted) {
    for (int64_t i = axis.extent - 1; i >= 0; --i) {
      for (int64_t k = 0; k < count; ++k)
        from[static_cast<std::size_t>(i * count + k)] = from[static_cast<std::size_t>(k)] + i * axis.stride[kSrc];
    }
    count *= axis.extent;
    axis.stride[kSrc] = virtual_stride;
    virtual_stride *= axis.extent;
  }
  for (int64_t i = 0; i < kGroup; ++i) {
    const int64_t place = i % bytes;
    out.pattern[static_cast<std::size_t>(i)] =
        static_cast<uint8_t>(i - place + from[static_cast<std::size_t>(place / element)] + place % element);
  }
  group = sorted;
  return give_back();
}

int64_t count_elements(const Box& box) {
  int64_t count = 1;
  for (const Axis& axis : box.axes) count *= axis.extent;
  return count;
}

/// See choose_blocks().
void choose_streamed_blocks(BoxPlan& plan, int64_t piece) {
  const int64_t src_piece = plan.piece[kSrc], row_bytes = plan.col_count * plan.piece[kDst];
  const int64_t rows = std::max<int64_t>(kRowBytes / src_piece, 4);
  int64_t panel = std::max<int64_t>(128, 512 / plan.piece[kDst]);
  // Few rows leave room for more columns.
  if (plan.row_count < rows) panel = std::min(kMaxBlockSide, panel * rows / plan.row_count);
  // Panels of about the same size.
  const int64_t panels = std::max<int64_t>(1, (plan.col_count + panel / 2) / panel);
  plan.block_cols = std::min(kMaxBlockSide, ceil_div(ceil_div(plan.col_count, panels), 16) * 16);
  plan.block_rows = rows;
  if (plan.shape == KernelShape::copy)
    plan.block_rows = std::clamp<int64_t>((32 << 10) / (std::min(plan.col_count, panel) * piece), 4, kMaxBlockSide);
  plan.ahead = plan.dense_rows ? plan.block_rows * src_piece + kLine - 1 : 0;
  plan.pack = plan.shape == KernelShape::transpose && src_piece <= 2;
  // A source without gaps: its next bytes are the next columns.
  if (plan.dense_rows && plan.cols[0].stride[kSrc] == plan.row_count * src_piece &&
      plan.row_count * src_piece <= 8 * kRowBytes) {
    plan.block_rows = std::max<int64_t>(plan.block_rows, 512 / src_piece);
    plan.ahead = 128 << 10;
  }
  // Short rows that follow each other make one run of the destination together.
  if (row_bytes <= 1024 && plan.rows.size() == 1 && plan.rows[0].stride[kDst] == row_bytes && row_bytes % kLine != 0)
    plan.block_rows = std::clamp<int64_t>((16 << 10) / row_bytes, 16, kMaxBlockSide);
}

/// The blocks of a region. In the cache: small enough for its first level. Beyond it: a *strip* of rows, one line of
/// the source wide, over a *panel* of columns, so that a strip's lines are written whole while the next strip's are
/// fetched.
void choose_blocks(BoxPlan& plan, bool converts, bool streams) {
  const int64_t piece = std::max<int64_t>(1, std::max(plan.piece[kSrc], plan.piece[kDst]));
  if (plan.shape == KernelShape::fill) {
    plan.block_cols = kMaxBlockSide;
    plan.block_rows = std::clamp<int64_t>(kCopyBlock / 8 / plan.col_count, 1, kMaxBlockSide);
  } else if (plan.chunk > 0) {
    plan.block_cols = plan.col_count;
    plan.block_rows = std::clamp<int64_t>((16 << 10) / plan.chunk, 1, kMaxBlockSide);
  } else if (plan.unit_bits[kSrc] == 4 || plan.unit_bits[kDst] == 4) {
    plan.block_rows = plan.block_cols = 64;
  } else if (plan.long_runs) {
    plan.block_cols = converts ? kCastBlock : kCopyBlock;
    plan.block_rows = std::min<int64_t>(kMaxBlockSide, std::max<int64_t>(1, plan.block_cols / plan.col_count));
  } else if (!streams || !plan.dense_cols) {
    plan.block_rows = std::max<int64_t>(16, kRowBytes / piece);
    plan.block_cols =
        std::clamp<int64_t>((16 << 10) / (piece * std::min(plan.row_count, plan.block_rows)), 16, kMaxBlockSide);
    if (plan.col_count < plan.block_cols)
      plan.block_rows = std::clamp<int64_t>((16 << 10) / (piece * plan.col_count), 16, kMaxBlockSide);
  } else {
    choose_streamed_blocks(plan, piece);
  }
}

/// What the caller chose instead.
void apply(const Tuning& tuning, BoxPlan& plan) {
  const auto side = [](int64_t wanted) { return std::min(wanted, kMaxBlockSide); };
  if (tuning.panel > 0) plan.block_cols = side(tuning.panel);
  if (tuning.strip > 0) plan.block_rows = side(tuning.strip);
  if (tuning.ahead > 0 && plan.ahead > 0) plan.ahead = tuning.ahead;
}

/// Chooses the blocks of a region and makes the rest of the axes loops.
BoxPlan finish(BoxPlan plan, Box box, bool converts, bool streams, const Tuning& tuning) {
  choose_blocks(plan, converts, streams);
  if (streams && !plan.long_runs && plan.chunk == 0) apply(tuning, plan);
  if (plan.shuffle > 1 && plan.shape == KernelShape::transpose) plan.pack = true;
  plan.offset = box.offset;
  plan.loops = std::move(box.axes);
  // Groups that are permuted are whole.
  if (plan.shuffle > 1 && plan.chunk == 0)
    plan.block_rows = std::min(kMaxBlockSide, ceil_div(plan.block_rows, kGroup) * kGroup);
  plan.block_rows = std::clamp<int64_t>(plan.block_rows, 1, plan.row_count);
  plan.block_cols = std::clamp<int64_t>(plan.block_cols, 1, plan.col_count);
  plan.strips = ceil_div(plan.row_count, plan.block_rows);
  plan.panels = ceil_div(plan.col_count, plan.block_cols);
  plan.blocks = plan.strips * plan.panels;
  for (const Axis& loop : plan.loops) plan.blocks *= loop.extent;
  return plan;
}

/// Rows and columns of a box of pieces: rows along the source, columns along the destination, as dense as they come. An
/// axis that could be either goes to the side that has less so far; rows of a few lines are enough.
void choose_region(BoxPlan& plan, Axes& axes) {
  DenseAxes rows{kSrc, plan.piece[kSrc]}, cols{kDst, plan.piece[kDst]};
  if (const auto first = rows.next(axes); first != axes.end()) rows.add(axes, first);
  while (true) {
    const auto row = rows.next(axes);
    auto col = cols.next(axes);
    // With few rows, the list of the columns must serve more than one block.
    if (col != axes.end() && !cols.fused.empty() && rows.count < kFewRows && cols.count * col->extent > kMaxBlockSide &&
        cols.count >= kFewRows)
      col = axes.end();
    const bool want_row = row != axes.end() && !rows.fused.empty() && rows.bytes() < kRowBytes;
    // All of a permuted group is rows.
    if (row != axes.end() && rows.bytes() < plan.shuffle)
      rows.add(axes, row);
    else if (want_row && (col == axes.end() || (!cols.fused.empty() && rows.bytes() < cols.bytes())))
      rows.add(axes, row);
    else if (col != axes.end())
      cols.add(axes, col);
    else
      break;
  }
  plan.dense_rows = !rows.fused.empty();
  plan.dense_cols = !cols.fused.empty();
  if (!plan.dense_cols) {
    cols.fused.push_back(take(axes, nearest(axes, kDst)));
    cols.count = cols.fused[0].extent;
  }
  if (!plan.dense_rows) {
    rows.fused.push_back(take(axes, nearest(axes, kSrc)));
    rows.count = rows.fused[0].extent;
  }
  plan.rows = std::move(rows.fused);
  plan.cols = std::move(cols.fused);
  plan.row_count = rows.count;
  plan.col_count = cols.count;
}

/// A run of n elements along `run`, long enough to be worth a copy of its own.
void choose_long_copy(BoxPlan& plan, Axis run, Axes& axes) {
  plan.shape = KernelShape::copy;
  plan.long_runs = plan.dense_cols = true;
  plan.col_count = run.extent;
  plan.cols = {run};
  plan.rows = {take(axes, nearest(axes, kDst))};
  plan.row_count = plan.rows[0].extent;
}

/// Whether a transposition's blocks are worth their loops, and tiles of registers or the kernels for a few rows or
/// columns fit them.
bool fills_tiles(const BoxPlan& plan) {
  constexpr int64_t kTile = 16, kBlock = 256;
  const int64_t piece = plan.piece[kSrc], rows = plan.row_count, cols = plan.col_count;
  if (rows * cols * piece < kBlock && plan.elements > rows * cols) return false;
  if (plan.shuffle > 1 && rows * piece < kLine) return false;
  return (rows * piece >= kTile && cols > 1) || (cols * piece >= kTile && rows > 1);
}

/// Where runs are short on both sides: columns are all of a *chunk*, a dense part of the source that stays in the
/// cache, in the destination's order. Their list is made once for the box. The longest other axis is the rows.
void choose_chunk(BoxPlan& plan, Axes& axes) {
  DenseAxes chunk{kSrc, plan.piece[kSrc]};
  for (auto next = chunk.next(axes); next != axes.end() && chunk.count * next->extent <= kMaxBlockSide;
       next = chunk.next(axes))
    chunk.add(axes, next);
  plan.chunk = chunk.bytes();
  plan.cols = std::move(chunk.fused);
  std::ranges::stable_sort(plan.cols, {}, [](const Axis& a) { return a.stride[kDst]; });
  plan.col_count = chunk.count;
  if (plan.cols.empty()) plan.cols.push_back({});
  plan.dense_cols = true;
  int64_t next = plan.piece[kDst];
  for (const Axis& col : plan.cols) {
    plan.dense_cols = plan.dense_cols && col.stride[kDst] == next;
    next *= col.extent;
  }
  auto longest = axes.end();
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    if (axis->table < 0 && (longest == axes.end() || axis->extent > longest->extent)) longest = axis;
  }
  plan.rows = {take(axes, longest)};
  plan.row_count = plan.rows[0].extent;
  plan.dense_rows = false;
  plan.shape = KernelShape::gather;
}

/// A box that moves elements of whole bytes.
BoxPlan plan_elements(Box box, int64_t element, const Shuffle& shuffle, bool streams, const Tuning& tuning) {
  BoxPlan out;
  out.elements = count_elements(box);
  out.shuffle = shuffle.bytes;
  out.pattern = shuffle.pattern;
  if (const auto run = find_run(box.axes, element); run != box.axes.end()) {
    const int64_t bytes = run->extent * element;
    const bool alone = box.axes.size() == 1;
    box.axes.erase(run);
    if (shuffle.bytes == 1 && (alone || bytes >= kLongRun)) {
      choose_long_copy(out, {bytes, {1, 1, 0}, -1}, box.axes);
      return finish(std::move(out), std::move(box), false, streams, tuning);
    }
    element = bytes;  // a short run moves as one larger piece
  }
  out.piece = {element, element};
  const bool in_registers = element <= 16 && (element & (element - 1)) == 0;
  BoxPlan tiles = out;
  Box rest = box;
  choose_region(tiles, rest.axes);
  tiles.shape = !in_registers                          ? KernelShape::copy
                : tiles.dense_cols && tiles.dense_rows ? KernelShape::transpose
                                                       : KernelShape::gather;
  // Groups that are permuted are read whole.
  if (tiles.shape == KernelShape::gather && element % shuffle.bytes == 0 && shuffle.bytes > 1)
    tiles.shape = KernelShape::copy;
  if (tiles.shape != KernelShape::transpose || fills_tiles(tiles))
    return finish(std::move(tiles), std::move(rest), false, streams, tuning);
  choose_chunk(out, box.axes);
  return finish(std::move(out), std::move(box), false, streams, tuning);
}

/// Whether a box's kernels read whole groups of a permuted source.
bool reads_groups(const BoxPlan& plan) {
  if (plan.shape == KernelShape::copy) return plan.piece[kSrc] % plan.shuffle == 0;
  if (plan.shape == KernelShape::gather) return plan.chunk > 0 && plan.chunk % plan.shuffle == 0;
  return plan.shape == KernelShape::transpose && plan.piece[kSrc] * plan.row_count % plan.shuffle == 0;
}

/// A box that moves bits. `box` is simplified, in units.
BoxPlan plan_move(Box box, DType dtype, bool streams, const Tuning& tuning) {
  int64_t element = bits(dtype) / 8;
  if (bits(dtype) < 8) {
    if (!pair_nibbles(box)) {
      BoxPlan out;
      out.elements = count_elements(box);
      out.piece = {0, 0};
      out.unit_bits = {4, 4};
      out.cols = {take(box.axes, nearest(box.axes, kDst))};
      out.rows = {take(box.axes, nearest(box.axes, kSrc))};
      out.col_count = out.cols[0].extent;
      out.row_count = out.rows[0].extent;
      return finish(std::move(out), std::move(box), false, false, tuning);
    }
    element = 1;
  }
  if (element < kGroup) {
    Box permuted = box;
    if (const Shuffle shuffle = shuffle_source(permuted, element); shuffle.bytes > 1) {
      BoxPlan out = plan_elements(std::move(permuted), element, shuffle, streams, tuning);
      if (reads_groups(out)) return out;
    }
  }
  return plan_elements(std::move(box), element, {}, streams, tuning);
}

/// A box whose values are converted: a block is fetched in the destination's order, converted, put.
BoxPlan plan_cast(Box box, DType src, DType dst, bool streams, const Tuning& tuning) {
  BoxPlan out;
  out.elements = count_elements(box);
  out.unit_bits = {static_cast<int8_t>(unit_bits(src)), static_cast<int8_t>(unit_bits(dst))};
  out.piece = {units(src), units(dst)};
  const bool whole_bytes = bits(src) >= 8 && bits(dst) >= 8;
  const auto run = std::ranges::find_if(box.axes, [&](const Axis& a) {
    return a.table < 0 && a.stride[kSrc] == units(src) && a.stride[kDst] == units(dst);
  });
  if (run != box.axes.end()) {
    const bool alone = box.axes.size() == 1;
    // Pieces of several values need one attribute for all.
    const bool divisible = run->stride[kAttribute] != 0 || !whole_bytes;
    const Axis taken = take(box.axes, run);
    if (alone || divisible || taken.extent * std::max(units(src), units(dst)) >= kLongRun) {
      choose_long_copy(out, taken, box.axes);
      return finish(std::move(out), std::move(box), true, streams && whole_bytes, tuning);
    }
    out.piece = {taken.extent * units(src), taken.extent * units(dst)};
    choose_region(out, box.axes);
    out.shape = KernelShape::copy;
    return finish(std::move(out), std::move(box), true, streams, tuning);
  }
  choose_region(out, box.axes);
  out.shape = whole_bytes && out.dense_cols && out.dense_rows ? KernelShape::transpose : KernelShape::gather;
  return finish(std::move(out), std::move(box), true, streams && whole_bytes, tuning);
}

BoxPlan plan_fill(Box box, DType dtype, uint64_t fill_bits) {
  BoxPlan out;
  out.shape = KernelShape::fill;
  out.elements = count_elements(box);
  const int64_t element = bits(dtype) / 8;
  out.piece = {element, element};
  if (bits(dtype) < 8) {
    const bool one_pattern = (fill_bits & 15) * 17 == fill_bits;
    out.piece[kSrc] = out.piece[kDst] = one_pattern && pair_nibbles(box) ? 1 : 0;
    if (out.piece[kDst] == 0) out.unit_bits = {4, 4};
  }
  out.cols = {take(box.axes, nearest(box.axes, kDst))};
  out.rows = {take(box.axes, nearest(box.axes, kDst))};
  out.col_count = out.cols[0].extent;
  out.row_count = out.rows[0].extent;
  return finish(std::move(out), std::move(box), false, false, {});
}

void check_injective(const Layout& layout, const Attributes& attributes) {
  const auto refuse = [](const Dims& a, const Dims& b, int64_t offset) {
    throw Error(ErrorCode::not_injective,
                "reorder: the destination is not injective: indices (" + join(a) + ") and (" + join(b) +
                    ") share offset " + std::to_string(offset),
                "dst", join(a) + " and " + join(b), "one offset an index");
  };
  const bool padding_written = attributes.padding.kind != Padding::Kind::keep && layout.padded() && !layout.empty();
  if (padding_written && layout.injective_with_padding()) return;
  if (const auto pair = layout.collision()) refuse(pair->first, pair->second, layout.offset(pair->first));
  if (!padding_written) return;
  // The padding collides: name two indices of the layout in which it counts as elements.
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  const Layout whole = Layout::from_digits(layout.padded_dims(), digits, layout.offset0());
  if (const auto pair = whole.collision()) refuse(pair->first, pair->second, whole.offset(pair->first));
}

/// One table of values over the dims of all masks, row-major, and its strides a dim.
std::vector<AttributeValues> expand_attributes(const Attributes& a, const Dims& dims, Dims* strides) {
  const uint32_t mask = a.src_scale.mask | a.dst_scale.mask | a.src_zero_point.mask | a.dst_zero_point.mask;
  *strides = Dims(dims.size(), 0);
  int64_t count = 1;
  for (int d = dims.size() - 1; d >= 0; --d) {
    if (!(mask >> d & 1)) continue;
    (*strides)[d] = count;
    const auto next = checked_mul(count, dims[d]);
    if (!next || *next > kMaxAttributeBytes / static_cast<int64_t>(sizeof(AttributeValues))) {
      const std::string limit = std::to_string(kMaxAttributeBytes);
      throw Error(ErrorCode::limit,
                  "reorder: the attributes' masks together (" + std::to_string(mask) + ") over dims " +
                      join(dims, "x") + " need a table of over " + limit + " bytes",
                  "mask", std::to_string(mask), limit);
    }
    count = *next;
  }
  std::vector<AttributeValues> out(static_cast<std::size_t>(count));
  const auto spread = [&](const auto& values, auto member) {
    if (values.values.empty()) return;
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = 0;  // the row-major index over this attribute's own mask
      for (int d = 0; d < dims.size(); ++d) {
        if (values.mask >> d & 1) at = at * dims[d] + i / (*strides)[d] % dims[d];
      }
      out[static_cast<std::size_t>(i)].*member = values.values[static_cast<std::size_t>(at)];
    }
  };
  spread(a.src_scale, &AttributeValues::src_scale);
  spread(a.dst_scale, &AttributeValues::dst_scale);
  spread(a.src_zero_point, &AttributeValues::src_zero_point);
  spread(a.dst_zero_point, &AttributeValues::dst_zero_point);
  return out;
}

}  // namespace

Plan Plan::make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const Machine& machine,
                const Tuning& tuning) {
  if (!(src.layout.dims() == dst.layout.dims())) {
    throw Error(ErrorCode::invalid_argument,
                "reorder: dims differ: source " + join(src.layout.dims()) + ", destination " + join(dst.layout.dims()),
                "dims", join(dst.layout.dims()), join(src.layout.dims()));
  }
  check_attributes(attributes, src, dst);
  check_injective(dst.layout, attributes);
  Plan plan;
  plan.src_ = src;
  plan.dst_ = dst;
  plan.attributes_ = attributes;
  plan.converts_ = src.dtype != dst.dtype || attributes.arithmetic();
  if (dst.layout.empty()) return plan;
  if (attributes.arithmetic())
    plan.attribute_values_ = expand_attributes(attributes, src.layout.dims(), &plan.attribute_strides_);
  else
    plan.attribute_strides_ = Dims(src.layout.ndims(), 0);
  const int64_t bytes = src.span_bytes() + dst.span_bytes();
  plan.streams_ = tuning.stream == Tuning::Stream::always ||
                  (tuning.stream == Tuning::Stream::by_size && bytes > machine.l3 / 4 * 3);
  plan.plan_boxes(tuning);
  if (attributes.padding.kind == Padding::Kind::value && dst.layout.padded()) plan.plan_fills();
  for (auto& table : plan.tables_) {
    for (Offsets& entry : table) scale(entry, units(src.dtype), units(dst.dtype));
  }
  return plan;
}

void Plan::plan_boxes(const Tuning& tuning) {
  auto boxes =
      refine(src_.layout, dst_.layout, attribute_strides_, Dims(src_.layout.ndims(), 0), src_.layout.dims(), tables_);
  boxes_.reserve(boxes.size());
  for (Box& box : boxes) {
    scale(box, units(src_.dtype), units(dst_.dtype));
    simplify(box);
    boxes_.push_back(converts_ ? plan_cast(std::move(box), src_.dtype, dst_.dtype, streams_, tuning)
                               : plan_move(std::move(box), src_.dtype, streams_, tuning));
  }
}

void Plan::plan_fills() {
  fill_bits_ = encode(dst_.dtype, attributes_.padding.value);
  if (bits(dst_.dtype) < 8) fill_bits_ = (fill_bits_ & 15) * 17;
  const Dims zero(dst_.layout.ndims(), 0), padded = dst_.layout.padded_dims();
  // Indices that lie in the padding of dim d and of no dim before it.
  for (int d = 0; d < padded.size(); ++d) {
    Dims begin = zero, end = padded;
    for (int k = 0; k < d; ++k) end[k] = dst_.layout.dim(k);
    begin[d] = dst_.layout.dim(d);
    for (Box& box : refine(dst_.layout, dst_.layout, zero, begin, end, tables_)) {
      scale(box, units(dst_.dtype), units(dst_.dtype));
      simplify(box);
      fills_.push_back(plan_fill(std::move(box), dst_.dtype, fill_bits_));
    }
  }
}

std::string Plan::kernel() const {
  if (boxes_.empty()) return "none";
  const BoxPlan& box = *std::ranges::max_element(boxes_, {}, &BoxPlan::elements);
  return std::string(name(box.shape)) + " " + std::to_string(box.piece[kSrc]) + (converts_ ? " convert" : "") +
         (streams_ ? " stream" : "");
}

}  // namespace relayout
