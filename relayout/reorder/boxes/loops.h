// Loops: a box cut into blocks, which every method has in common (internal to the library).
//
// The words for what a method works on, from small to large:
//
//     piece      what moves at once: an element, or a few that follow each other on both sides
//     along_src  the direction in which pieces follow each other in the source; along_dst: in the destination
//     block      some pieces of both directions: one call of a kernel, one unit of work of a thread
//     strip      what a block has along the source, of all that a region has along the destination; panel: the reverse
//     region     all of a box in both directions; the other axes are loops around it
//     run        bytes that follow each other
//     tile       a small region of the destination that several boxes fill together; of registers: 16 bytes by 16
//     image      a copy, in the cache, of what a block or a tile writes: it is written to memory in whole lines
//
//     transpose of 4-byte elements: along_src = hw, which is contiguous in src; along_dst = c, contiguous in dst
//     abcdef -> fcabde: along_src = f; along_dst = e d b a c, all that is contiguous in dst
//
// A kernel sees a block as a matrix in row-major order of the destination: its row r is the r-th piece along the
// source, and its column c the c-th along the destination, so that the pieces of a row follow each other in the
// destination.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "relayout/reorder/boxes/policy.h"
#include "relayout/reorder/refine/axes.h"

namespace relayout {

/// One of the two directions of a region. It is several axes fused into one index, innermost first: axes of small
/// extents together make a block that is worth a call.
struct Along {
  Axes axes;
  int64_t count = 1;  // pieces of a region in this direction
  /// Whether they follow each other without gaps on the side along which they go; not set for fills.
  bool dense = false;
  int64_t block = 1;   // pieces of a block, the unit of work
  int64_t blocks = 1;  // blocks of a region: strips along the source, panels along the destination

  bool operator==(const Along&) const = default;
};

/// Loops around a region of pieces along the source x along the destination, done block by block. Offsets and strides
/// of src and dst count units of unit_bits: bytes, or elements where sub-byte elements could not be joined to bytes.
struct Loops {
  /// Bytes of a piece on each side; 0 where they are single sub-byte elements. Pieces that are transposed have a power
  /// of two of bytes, at most 8, and as many on both sides where no value is converted.
  std::array<int64_t, 2> piece{1, 1};
  std::array<int8_t, 2> unit_bits{8, 8};  // of src and dst
  Offsets offset{};
  Along along_src, along_dst;
  /// Whether all pieces along the destination together are one run, so that they need no list: contiguous in the
  /// destination, and in the source as well, where it is not one piece that they repeat.
  bool long_runs = false;
  /// Whether blocks need two strides and no lists of where their rows and columns start: each direction is one axis,
  /// and the method has a kernel for that, which writes through the cache.
  bool strided = false;
  /// Whether the destination is written past the cache, in whole lines, where the instruction set can.
  bool past_cache = false;
  /// Whether that is done only where the box starts at a line of the destination, which is looked at when it runs.
  bool from_lines_only = false;
  /// The blocks of all regions together. The strip changes fastest, then the panel, then the loops.
  int64_t blocks = 1;
  /// How many bytes ahead of where it is read the source is prefetched. Where this is 0, a kernel may still prefetch
  /// the next columns of its own block.
  int64_t ahead = 0;
  /// Where the steps along the source are those of an index table: how many bytes ahead of where they are moved those
  /// are fetched that the table scatters.
  int64_t list_ahead = 0;
  /// The loops around the region, outermost first.
  Axes loops;
  /// Elements of the tensor (not of the kernel) that the box holds.
  int64_t elements = 0;

  bool operator==(const Loops&) const = default;
  bool sub_byte() const { return unit_bits[kSrc] < 8 || unit_bits[kDst] < 8; }
  /// Bytes of a piece on the side where it is larger; 1 for single sub-byte elements.
  int64_t larger_piece() const { return std::max<int64_t>(1, std::max(piece[kSrc], piece[kDst])); }
  /// Bytes of the destination that a region has along it.
  int64_t bytes_along_dst() const { return along_dst.count * piece[kDst]; }
};

/// A box as a method does it; box_plan.h makes one type of all.
template <typename Method>
struct Planned {
  Loops loops;
  Method method;
};

/// What blocks are chosen for: the sizes of the caches, and the choices of the caller.
struct BlockRules {
  Machine machine = {};
  Tuning tuning = {};
  /// Nanoseconds in the first level: what takes more need not be planned.
  double most_ns = std::numeric_limits<double>::max();
};

/// Moves axes from `axes` to `to`, those of the shortest steps on one side first, until `to` has `enough` steps for a
/// block. `count` is the number of steps that `to` already has. Returns the new count.
int64_t add_nearest(Axes& to, int64_t count, Axes& axes, Operand side, int64_t enough = kEnoughSteps);

/// Adds more axes to both directions of a region through the cache whose steps are far apart, which saves loops around
/// it.
void add_far_steps(Loops& region, Axes& axes);

/// Up to so many rows or columns are (de)interleaved by kernels of their own, for elements of any size.
inline constexpr int64_t kFew = 4;
/// Whether a kernel of its own interleaves `few` columns of elements of `bytes` bytes into `many` rows that follow each
/// other in the destination. The same kernels exist for the reverse: to deinterleave `few` rows of `many` columns that
/// follow each other in the source.
constexpr bool interleaved(int64_t few, int64_t many, int64_t bytes) {
  return few >= 2 && (few <= kFew || (few <= 9 && few % 2 == 1 && bytes <= 4 && many * bytes >= kCacheLine));
}

/// Chooses blocks that are about square and stay in the first-level cache, so that lines stay there until they are
/// complete.
void choose_square_blocks(Loops& loops);
/// The most elements of a block that goes by way of a buffer between source and destination, in the cache.
inline constexpr int64_t kMaxBuffered = 4096;
/// Chooses the blocks of sub-byte elements, with kSubByteSide rows and columns if the region has so many.
void choose_sub_byte_blocks(Loops& loops);
inline constexpr int64_t kSubByteSide = 64;

/// Bytes of the destination that consecutive rows fill without a gap.
inline int64_t run_of_rows(const Loops& loops) {
  int64_t run = loops.bytes_along_dst();
  for (const Axis& axis : loops.along_src.axes) {
    if (axis.table >= 0 || axis.stride[kDst] != run) break;
    run *= axis.extent;
  }
  return run;
}

/// Bytes: runs of rows that are shorter, and end within lines, have too many of these. Past the cache, the rest of such
/// a line is written much later, and a part of a line that is written by itself waits for memory, over 100 ns.
inline constexpr int64_t kLongRunOfRows = 16 * kCacheLine;

/// Takes over the rest of a box once the blocks are chosen: what is left of its axes are the loops. Limits the blocks
/// to the region and counts them.
void finish(Loops& loops, Box rest);
/// Replaces blocks, and how far ahead the source is fetched, by what the caller chose.
void apply_blocks(const Tuning& tuning, Loops& loops);
void apply_ahead(const Tuning& tuning, Loops& loops);
/// The most bytes of pieces that are written past the cache by way of an image, in which a few of them lie side by
/// side.
inline constexpr int64_t kMostStreamedPiece = 512;
/// Notes that the box is written past the cache (Loops::past_cache), if its columns are dense and its pieces not too
/// long, or if `scattered` pieces fill lines by themselves.
void write_past_cache(Loops& loops, bool scattered = false);
/// Notes whether the box is strided (Loops::strided), for a method that has a kernel for that.
void note_strides(Loops& loops);

}  // namespace relayout
