// The loop nest of a reorder: what is left of two layouts once they are refined against each other.
//
// An *axis* steps through source and destination at once: index j adds j * stride to each operand's offset, or
// the j-th entry of a table where the digits of the two sides do not nest. A *box* is a set of axes and
// a starting point; it has no tails. A *box plan* is a simplified box with the kernel that does it.
//
//     nchw -> nhwc of 2x3x4x5, f32:  n (2 | 240,240 bytes)  c (3 | 80,4)  hw (20 | 4,12)
//     transpose of 4-byte elements: rows = hw (contiguous in src), cols = c (contiguous in dst)
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "relayout/core/extents.h"
#include "relayout/core/small_vector.h"

namespace relayout {

/// The operands whose offsets an axis steps: source, destination, attribute values.
enum Operand : int { kSrc = 0, kDst = 1, kAttribute = 2 };
inline constexpr int kOperands = 3;
using Offsets = std::array<int64_t, kOperands>;

/// Offsets by index, for axes that are not affine.
using Tables = std::vector<std::vector<Offsets>>;

struct Axis {
  int64_t extent = 1;
  Offsets stride{};    // of each operand; unused where there is a table
  int32_t table = -1;  // index into Tables; its first entry is all zeros

  bool operator==(const Axis&) const = default;
};

/// The attributes of one element, at its defaults where they are not given.
struct AttributeValues {
  float src_scale = 1, dst_scale = 1;
  int32_t src_zero_point = 0, dst_zero_point = 0;
};

/// The most axes a box can have: a digit of either side can start one.
inline constexpr int kMaxAxes = 96;
/// Rows or columns of a block at most.
inline constexpr int64_t kMaxBlockSide = 1024;
/// Rows of parts of lines at most whose lines are written side by side.
inline constexpr int64_t kMaxBesideRows = 64;
/// Pieces of so many bytes are written past the cache even where they do not follow each other.
inline constexpr int64_t kScatteredPiece = 128;
/// Copied pieces of fewer bytes are put together to lines in the cache first, past which they then go.
inline constexpr int64_t kSmallPiece = 16;
/// Of a tile that several boxes make: bytes that are put together in the cache, its runs, and their parts, at most.
inline constexpr int64_t kMaxTileBytes = 16 << 10;
inline constexpr int kMaxTileRuns = 16, kMaxTileParts = 64;
/// A page. A store that crosses one takes as long as some thirty others: what is put together lies within a page each,
/// where it fits.
inline constexpr int64_t kPage = 4096;
/// Bytes of rows that follow each other in the destination and are made in the second-level cache, to be written as one
/// run, at most.
inline constexpr int64_t kMaxRunBytes = 128 << 10;
/// Pieces of a row, and lines of the destination before such rows lie in them as the first ones did, at most,
/// that lines are made of by byte permutations.
inline constexpr int64_t kMaxRowSources = 64, kMaxRowLines = 68;
/// Of a conversion by stages: bytes in the cache between them, those of a group, and its parts, at most.
inline constexpr int64_t kMaxStageBytes = 16 << 10;
inline constexpr int64_t kMaxStageGroup = 64;
inline constexpr int kMaxStageParts = 3;
/// Of an image of a block: its bytes, its runs, and the axes of a side at most; and how far runs are apart in it beyond
/// their bytes, so that lines of several are not in each other's way.
inline constexpr int64_t kMaxImageBytes = 96 << 10, kMaxImageRuns = 1024, kImageSkew = 64;
inline constexpr int kMaxImageAxes = 16;
/// Elements of 4 bits that a block has at most: they have a byte each on their way.
inline constexpr int64_t kMaxNibbles = 4096;
/// Most boxes have a few.
using Axes = SmallVector<Axis, 5>;

struct Box {
  Offsets offset{};
  Axes axes;
};

/// Which inner loop does a box.
enum class KernelShape : uint8_t {
  copy,       // runs that are contiguous on both sides
  transpose,  // rows contiguous in the source, columns contiguous in the destination
  gather,     // anything else, element by element
  fill,       // padding
};
std::string_view name(KernelShape shape);

/// A piece of a row: where it is read, in bytes from the start of the run's source, or that it is padding, or a gap
/// that is left as it is.
struct RowSource {
  static constexpr int64_t kPadding = std::numeric_limits<int64_t>::min(), kGap = kPadding + 1;
  int64_t from, bytes;
};

/// A box ready to run: loops around a region of rows x columns of *pieces*, done block by block by one kernel. A piece
/// is what a kernel moves at once: an element, a few that follow each other on both sides, or a run of them. Rows and
/// columns are axes fused into one index each, innermost first, so that small extents make no small tiles.
/// Offsets and strides of src and dst count units of unit_bits: bytes, or nibbles where 4-bit elements could not be
/// paired into bytes.
///
///     abcdef -> fcabde: rows f (contiguous in src); columns e d b a c, all that is contiguous in dst
struct BoxPlan {
  KernelShape shape = KernelShape::gather;
  /// Bytes of a piece on each side; 0 for single nibbles. transpose: a power of two, at most 8, and on both sides the
  /// same where no value is converted.
  std::array<int64_t, 2> piece{1, 1};
  /// copy: the columns are the run, of single elements (bytes, where no value is converted).
  bool long_runs = false;
  std::array<int8_t, 2> unit_bits{8, 8};  // of src and dst
  Offsets offset{};
  Axes rows, cols;
  int64_t row_count = 1, col_count = 1;
  /// Whether columns (rows) follow each other without gaps in the destination (source); not set for fills.
  bool dense_cols = false, dense_rows = false;
  /// A box in the cache whose rows and columns need no lists, as each is one axis; of a transposition, of more than a
  /// few, which have kernels of their own.
  bool strided = false;
  /// Rows and columns of one block, the unit of work.
  int64_t block_rows = 1, block_cols = 1;
  /// Strips of block_rows rows and panels of block_cols columns in a region, and blocks in all its loops: strips go
  /// first, then panels, then the loops.
  int64_t strips = 1, panels = 1, blocks = 1;
  /// The source is prefetched so many bytes ahead of where it is read; where 0, the next columns of a block may be.
  int64_t ahead = 0;
  /// Through the cache, by tiles or of a strided transposition: the destination's lines are fetched so many bytes ahead
  /// of where they are written; of the latter the source's next lines, too.
  int64_t dst_ahead = 0;
  /// Of a strided transposition: only where the destination starts between lines.
  bool ahead_between = false;
  /// The source's part of a block is made dense in the cache before it is transposed.
  bool pack = false;
  /// gather: over 0, the columns are all of a dense part of the source of so many bytes.
  int64_t chunk = 0;
  /// Over 1: groups of so many bytes of the source (at most 16) are permuted as they are read, byte i from byte
  /// pattern[i]; the box's source strides are those of the permuted source. transpose (with pack), copy of pieces, and
  /// gather from chunks only.
  int64_t shuffle = 1;
  std::array<uint8_t, 16> pattern{};
  /// Over 0 (transpose): by tiles. Rows come in runs of so many that follow each other in the source, columns in runs
  /// of so many that do in the destination; the runs lie anywhere. In each run groups of 16 bytes are permuted: byte i
  /// of a group as it is read is byte pattern[i], byte i as it is written is what was byte dst_pattern[i]. Strides are
  /// those of the permuted sides.
  int64_t row_run = 0, col_run = 0;
  std::array<uint8_t, 16> dst_pattern{};
  /// By tiles: the destination of a block is put together in the cache, as image_of_block() says, and written past it.
  bool by_image = false;
  /// fill: which bytes of the 64 from each column's start on are written, by bit. Columns start at last_col at most:
  /// there they overlap. Of nibbles each is a column.
  uint64_t fill_mask = 0;
  int64_t last_col = 0;
  /// fill: whole lines are written past the cache.
  bool fill_streams = false;
  /// The loops around the region, outermost first.
  Axes loops;
  /// Not empty: instead of a region of its own, a *tile* of the destination inside the loops that several boxes make
  /// together. Its parts are *runs* of the destination, and theirs the boxes that fill one, at offsets from the run's
  /// start. The kernel above is the largest one's.
  std::vector<BoxPlan> parts;
  /// Of a run: over 0, its parts fill so many bytes without gaps: they are put together in the cache, `image` bytes
  /// into the memory of a tile, and written as a whole.
  int64_t run_bytes = 0, image = 0;
  /// Of a run of rows that are alike and follow each other in it: the pieces of its first row, one after the other;
  /// those of the next row are read row_step bytes later. Empty of other runs, and of rows that do not gain by it. In a
  /// box that has no parts, the run's rows are those of its region (the only axis, and there is one panel), or steps of
  /// the last axis of its columns.
  std::vector<RowSource> row_sources;
  int64_t row_step = 0;
  bool rows_of_region = false;
  /// Over 0: instead of a region of its own, parts that are done one after the other inside the loops by way of so many
  /// bytes in the cache, of the narrower type: the first one converts dense stretches of the source, the others move
  /// them from there. Or the others come first, and the last one converts.
  int64_t stage = 0;
  bool converts_last = false;
  /// With stage, over 0: what is converted comes in groups of so many rows of so many columns of bytes, 64 at most.
  /// Between conversion and moves each is transposed in the cache, so that its columns move as one element each.
  int64_t group_rows = 0, group_cols = 0;
  /// Elements of the tensor (not of the kernel) that the box holds.
  int64_t elements = 0;
};

/// Whether a region is so few rows, and so short ones, that they are made in the cache together also where they are
/// whole lines: of small elements up to 512 bytes each and a run together, of others half as much.
inline bool small_region(const BoxPlan& box) {
  const int64_t times = box.pack ? 1 : 2, row_bytes = box.col_count * box.piece[kDst];
  return times * row_bytes <= 512 && times * row_bytes * box.row_count <= kMaxRunBytes;
}

/// What a block writes, put together without what lies between: runs of the destination, one after the other, each
/// kImageSkew bytes past the one before.
struct BlockImage {
  /// Some steps of an axis, in the destination and in the image.
  struct Step {
    int64_t extent, dst, image;
  };
  /// Of the rows, and after them of the columns, innermost first; and all by their distance in the destination.
  std::array<Step, 2 * kMaxImageAxes> steps;
  std::array<int8_t, 2 * kMaxImageAxes> by_distance;
  int row_steps = 0, all_steps = 0;
  /// The first ones of by_distance that are within a run.
  int in_run = 0;
  int64_t run_bytes = 0, runs = 1;
};

/// Of a box by tiles; none where a block of so many rows and columns is not whole axes and some steps of one more each,
/// or an axis has a table or goes backwards.
std::optional<BlockImage> image_of_block(const BoxPlan& box, int64_t rows, int64_t cols);

/// Joins what can be joined and drops what does not move: axes of extent 1 go, two axes that continue each
/// other on every operand become one, an axis that walks the destination backwards is turned. The
/// result is ordered by destination stride, largest first, tables before all. The set of offset tuples stays the
/// same. Cost: quadratic in the axes.
void simplify(Box& box);

}  // namespace relayout
