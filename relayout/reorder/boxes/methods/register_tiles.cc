// Choosing the rows, columns and blocks of boxes by tiles of registers.
#include "relayout/reorder/boxes/methods/register_tiles.h"

#include <cstdlib>

#include "relayout/reorder/boxes/methods/streamed_blocks.h"

namespace relayout {
namespace {

/// A tile takes the same permutations however little of it is used. So tiles are used only where the bytes of a tile's
/// row times the bytes of its column are at least kLeastSquare, and at least kLeastTile times the bytes of an element.
constexpr int64_t kLeastSquare = 32, kLeastTile = 8;
/// A block has at most kBlockCols columns, as a line of each of them, and of the destination, should stay in the
/// first-level cache; rows of fewer than kFewTiles tiles still take another axis as columns. It has about 2 * kHalfL1
/// bytes on each side; half as many are enough where one more axis would make it more than twice as large as that.
constexpr int64_t kBlockCols = 128, kFewTiles = 4;
/// The most rows or columns of a block, before they are rounded up to what tiles need.
constexpr int64_t kMostSide = kMaxBlockSide / 2;

/// Adds axes to a side, as long as they are dense, until it has so many bytes.
void grow(DenseAxes& side, Axes& axes, int64_t bytes) {
  while (side.bytes() < bytes) {
    const auto next = side.next(axes);
    if (next == axes.end()) return;
    side.add(axes, next);
  }
}

/// Adds other axes to a block, as columns until there are enough of them, and then as rows. Axes of the shortest steps
/// come first, as in the loops around a block, so that tiles go through both sides nearly in the order of memory. An
/// axis that makes the block too large is taken only after the axes with shorter steps in the destination; the block
/// then has only some of its steps.
void add_runs(DenseAxes& rows, DenseAxes& cols, Axes& axes, int64_t tile) {
  // A run that fills a block by itself leaves no room for other axes on its side.
  const bool rows_open = rows.count <= kMostSide;
  bool cols_open = cols.count <= kBlockCols, cut = false;
  while ((rows_open || cols_open) && !cut) {
    auto next = shortest(axes);
    const int64_t bytes = std::min(rows.count, kMostSide) * std::min(cols.count, kBlockCols) * cols.piece;
    if (next == axes.end() || bytes >= 2 * kHalfL1) return;
    const auto too_long = [&] { return bytes * next->extent > 4 * kHalfL1; };
    const auto within = nearest(axes, kDst);
    if (too_long() && std::abs(within->stride[kDst]) < std::min(std::abs(next->stride[kDst]), kPage / 2)) next = within;
    if (too_long() && bytes >= kHalfL1) return;
    const bool fits = cols.count * next->extent <= kBlockCols;
    const bool in_cols = !rows_open || (cols_open && (fits || cols.count < kFewTiles * tile));
    cut = too_long() && !fits && (!in_cols || !rows_open);
    cols_open = cols_open && fits;
    (in_cols ? cols : rows).add(axes, next);
  }
}

/// How many of `count` rows (or columns) a block has, about `most`: whole runs, or equal shares of a run, each of at
/// least one tile.
int64_t block_side(int64_t count, int64_t run, int64_t most, int64_t tile) {
  if (run <= most || run < count) return std::min(count, std::max<int64_t>(1, most / run) * run);
  int64_t block = ceil_div(ceil_div(run, ceil_div(run, most)), tile) * tile;
  while (run % block != 0 && run % block < tile) block += tile;
  return block;
}

/// Follows the axes that are dense on one side, from pieces of `piece` bytes up to 16 bytes. Returns the first axis
/// whose extent neither fills the 16 bytes nor is a power of two, or end(). `bytes` becomes the number of dense bytes
/// before that axis.
Axes::iterator first_odd(Axes& axes, Operand side, int64_t piece, int64_t* bytes) {
  for (*bytes = piece; *bytes < kRegister;) {
    const auto axis = stepping(axes, side, *bytes);
    if (axis == axes.end() || axis->extent % (kRegister / *bytes) == 0) break;
    if ((axis->extent & (axis->extent - 1)) != 0) return axis;
    *bytes *= axis->extent;
  }
  return axes.end();
}

/// Whether all groups of 16 bytes of the source start at multiples of 16 bytes from its start: then long runs of them
/// are copied as they are.
bool whole_groups(const Box& box, int64_t element) {
  return std::ranges::all_of(box.axes, [&](const Axis& a) {
    return a.table < 0 && (a.stride[kSrc] == element || a.stride[kSrc] % kRegister == 0);
  });
}

/// Whether groups of 16 bytes are permuted on one side or both.
bool permutes(const RegisterTiles& method) {
  const auto differs = [](const std::array<uint8_t, kRegister>& pattern) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != i) return true;
    }
    return false;
  };
  return differs(method.src_pattern) || differs(method.dst_pattern);
}

}  // namespace

std::optional<Box> cut_for_tiles(Box& box, int64_t element) {
  std::array<int64_t, 2> bytes{};
  std::array<Axes::iterator, 2> odd{first_odd(box.axes, kSrc, element, &bytes[kSrc]),
                                    first_odd(box.axes, kDst, element, &bytes[kDst])};
  if (odd[kSrc] == box.axes.end() || odd[kSrc] != odd[kDst]) return {};
  Axis& axis = *odd[kSrc];
  // If the same axes come before this one on both sides, they form a group that is permuted, and nothing need be cut.
  const auto before = [&](const Axis& a, Operand side) {
    return a.table < 0 && a.stride[side] > 0 && a.stride[side] < bytes[side];
  };
  if (bytes[kSrc] == bytes[kDst] &&
      std::ranges::all_of(box.axes, [&](const Axis& a) { return before(a, kSrc) == before(a, kDst); }))
    return {};
  // A side that begins with this axis itself fills 16 bytes with it, so the steps follow from the other side. If that
  // side begins with only a few elements of other axes, they are interleaved instead.
  int64_t least = std::min(bytes[kSrc], bytes[kDst]);
  if (least == element) {
    least = std::max(bytes[kSrc], bytes[kDst]);
    if (least <= kFew * element && axis.extent * element >= 4 * kCacheLine) return {};
  }
  const int64_t steps = kRegister / least;
  if (axis.extent < steps) return {};
  return cut_off(box, static_cast<std::size_t>(&axis - box.axes.data()), axis.extent / steps * steps);
}

std::optional<Planned<RegisterTiles>> plan_register_tiles(Box box, int64_t element) {
  Loops out;
  RegisterTiles method;
  out.elements = count_elements(box);
  const SharedGroups groups = share_groups(box, element);
  method.src_pattern = groups.src;
  method.dst_pattern = groups.dst;
  if (const auto run = find_run(box.axes, element, element); run != box.axes.end()) {
    const int64_t bytes = run->extent * element;
    if (bytes > kRegister && bytes % kRegister == 0 && groups.permuted &&
        (bytes < kCacheLine || !whole_groups(box, element))) {
      run->extent = bytes / kRegister;
      for (int64_t& stride : run->stride) stride *= kRegister / element;
      element = kRegister;
    } else {
      element = bytes;
      box.axes.erase(run);
    }
  }
  if (element > kRegister || (element & (element - 1)) != 0) return {};
  out.piece = {element, element};
  DenseAxes rows{kSrc, element}, cols{kDst, element};
  // The rows and the columns of a tile must contain whole groups that are permuted.
  grow(rows, box.axes, groups.bytes[kSrc]);
  grow(cols, box.axes, groups.bytes[kDst]);
  if (rows.bytes() < groups.bytes[kSrc] || cols.bytes() < groups.bytes[kDst]) return {};
  grow(rows, box.axes, kRegister);
  grow(cols, box.axes, kRegister);
  const int64_t square = std::min(kRegister, rows.bytes()) * std::min(kRegister, cols.bytes());
  if (square < std::max(kLeastSquare, kLeastTile * element)) return {};
  grow(cols, box.axes, kCacheLine);
  grow(rows, box.axes, 4 * kCacheLine);
  grow(cols, box.axes, 4 * kCacheLine);
  method.row_run = rows.count;
  method.col_run = cols.count;
  const int64_t side = kRegister / element;
  add_runs(rows, cols, box.axes, side);
  // Where a piece has 16 bytes, it is a tile by itself, and a side may have no axis yet.
  if (rows.fused.empty()) rows.fused.push_back({});
  if (cols.fused.empty()) cols.fused.push_back({});
  out.along_src.axes = std::move(rows.fused);
  out.along_dst.axes = std::move(cols.fused);
  out.along_src.count = rows.count;
  out.along_dst.count = cols.count;
  // A block has whole steps of the last axis where possible, so that the next block lies a fixed distance away and can
  // be prefetched.
  const auto steps = [&](const Axes& axes, int64_t count, int64_t run, int64_t most) {
    const int64_t before = count / axes.back().extent;
    return block_side(count, before > run && before <= most ? before : run, most, side);
  };
  // Where a block is one row of tiles, no line of a column is read twice, so a block may have more columns.
  out.along_dst.block = steps(out.along_dst.axes, out.along_dst.count, method.col_run,
                              out.along_src.count <= side ? kMostSide : kBlockCols);
  out.along_src.block = steps(out.along_src.axes, out.along_src.count, method.row_run,
                              std::clamp<int64_t>(2 * kHalfL1 / (element * out.along_dst.block), side, kMostSide));
  finish(out, std::move(box));
  return Planned<RegisterTiles>{std::move(out), method};
}

bool copies_pieces(const Planned<RegisterTiles>& plan) {
  return plan.loops.piece[kSrc] == kRegister && !permutes(plan.method);
}

bool wants_tiles(const Planned<RegisterTiles>& planned) {
  const auto& [plan, method] = planned;
  if (permutes(method)) return true;
  const int64_t piece = plan.piece[kSrc], run = method.col_run * piece;
  if (std::min(method.row_run, method.col_run) * piece < kRegister) return false;
  // A plain transposition is better if it can write whole lines: where a run is at least a line, or where runs that
  // follow each other make a line together.
  const Axis& row = plan.along_src.axes[0];
  return run < kCacheLine && (row.stride[kDst] != run || row.extent * run < kCacheLine);
}

void fetch_next_block(Loops& loops, RegisterTiles& method) {
  const Offsets next = next_block(loops);
  loops.ahead = next[kSrc];
  method.dst_ahead = next[kDst];
}

}  // namespace relayout
