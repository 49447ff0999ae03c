// The loop nest of a reorder: what is left of two layouts once they are refined against each other.
//
// An *axis* steps through source and destination at once. Index j adds j * stride to each operand's offset. Where the
// digits of the two sides do not divide each other, it adds the j-th entry of a table instead. A *box* is a set of axes
// and a starting point; it has no tails. A *box plan* is a simplified box, with the kernel that moves it and the blocks
// that this kernel is called for.
//
// The words for what a kernel works on, from small to large:
//
//     piece    what moves at once: an element, or a few that follow each other on both sides
//     row      pieces that follow each other in the source; column: in the destination
//     block    some rows and columns: one call of a kernel, one unit of work of a thread
//     strip    the rows of a block, all along a region; panel: the columns of a block
//     region   all rows and columns of a box; the other axes are loops around it
//     run      bytes that follow each other
//     tile     a small region of the destination that several boxes fill together; of registers: 16 bytes by 16
//     image    a copy, in the cache, of what a block or a tile writes: it is written to memory in whole lines
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

/// Bytes of a line of the cache. The plans and the kernels are made for lines of this size, as those of all x86-64
/// processors and most others are; on a processor with longer lines they are right, but slower.
inline constexpr int64_t kCacheLine = 64;
/// The attribute values of one element. The defaults change nothing.
struct AttributeValues {
  float src_scale = 1, dst_scale = 1;
  int32_t src_zero_point = 0, dst_zero_point = 0;
};

/// The most axes a box can have: a digit of either side can start one.
inline constexpr int kMaxAxes = 96;
/// The most rows, or columns, that a block has.
inline constexpr int64_t kMaxBlockSide = 1024;
/// The most rows of a block of copied pieces of at most a line, where the copy goes from row to row every few lines. It
/// keeps the place of the first whole line of each row.
inline constexpr int64_t kMaxBesideRows = 64;
/// Copied pieces of at least kScatteredPiece bytes are written past the cache even where they do not follow each other,
/// because all their lines but the first and the last are whole.
inline constexpr int64_t kScatteredPiece = 128;
/// Copied pieces of fewer than kSmallPiece bytes are first put together to lines in the cache. The lines are then
/// written past it.
inline constexpr int64_t kSmallPiece = 16;
/// Limits of a tile that several boxes fill. kMaxTileBytes: the bytes of its image, which must stay in the first-level
/// cache. kMaxTileRuns: its runs of the destination. kMaxTileBoxes: the boxes that fill these runs.
inline constexpr int64_t kMaxTileBytes = 16 << 10;
inline constexpr int kMaxTileRuns = 16, kMaxTileBoxes = 64;
/// Bytes of a page. A store that crosses from one page to the next takes many times as long as others. So each image
/// lies within one page where it fits into one.
inline constexpr int64_t kPage = 4096;
/// The most bytes of short rows that are put together in the second-level cache and then written as one run.
inline constexpr int64_t kMaxRunBytes = 128 << 10;
/// Limits of rows whose lines are made by byte permutations (BoxPlan::row_sources). kMaxRowSources: the pieces of a
/// row. kMaxRowLines: the period of the rows in lines, after which a row starts at the same byte of a line again.
inline constexpr int64_t kMaxRowSources = 64, kMaxRowLines = 68;
/// Limits of a conversion by stages (BoxPlan::stage). kMaxStageBytes: the bytes in the cache between the stages.
/// kMaxStageGroup: the bytes of a group. kMaxStageBoxes: the stages.
inline constexpr int64_t kMaxStageBytes = 16 << 10;
inline constexpr int64_t kMaxStageGroup = 64;
inline constexpr int kMaxStageBoxes = 3;
/// Limits of the image of a block: its bytes, its runs, and the axes of its rows or columns. Runs that start a power of
/// two apart would share few sets of the cache, so each run starts kImageSkew bytes after the end of the one before.
inline constexpr int64_t kMaxImageBytes = 96 << 10, kMaxImageRuns = 1024, kImageSkew = 64;
inline constexpr int kMaxImageAxes = 16;
/// The most elements of 4 bits that a block has. Each takes a byte of a buffer between the source and the destination.
inline constexpr int64_t kMaxNibbles = 4096;
/// The axes of a box. Most boxes have a few: these need no memory of their own.
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

/// What one piece of a row of the destination holds: bytes of the source, padding, or a gap of the layout, which is
/// left as it is.
struct RowSource {
  static constexpr int64_t kPadding = std::numeric_limits<int64_t>::min(), kGap = kPadding + 1;
  int64_t from;  // where the piece is read, in bytes from where the run's source starts; or kPadding or kGap
  int64_t bytes;
};

/// A box that is ready to run: loops around a region of rows x columns of *pieces*, done block by block by one kernel.
/// A piece is what a kernel moves at once: an element, a few that follow each other on both sides, or a run of them.
/// The rows are several axes fused into one index, innermost axis first, and so are the columns: axes of small extents
/// together make a block that is worth a call.
/// Offsets and strides of src and dst count units of unit_bits: bytes, or nibbles where 4-bit elements could not be
/// paired into bytes.
///
///     abcdef -> fcabde: rows f (contiguous in src); columns e d b a c, all that is contiguous in dst
struct BoxPlan {
  KernelShape shape = KernelShape::gather;
  /// Bytes of a piece on each side; 0 where pieces are single nibbles. Pieces that are transposed have a power of two
  /// of bytes, at most 8, and as many on both sides where no value is converted.
  std::array<int64_t, 2> piece{1, 1};
  /// For a copy: whether all columns together are one run that is contiguous on both sides. A piece is then a single
  /// element, or a byte where no value is converted.
  bool long_runs = false;
  std::array<int8_t, 2> unit_bits{8, 8};  // of src and dst
  Offsets offset{};
  Axes rows, cols;
  int64_t row_count = 1, col_count = 1;
  /// Whether columns (rows) follow each other without gaps in the destination (source); not set for fills.
  bool dense_cols = false, dense_rows = false;
  /// Whether the rows are one axis and the columns are one axis, so that the kernel needs two strides and no lists of
  /// where they start. False where a box converts or is written past the cache, and for a transposition of a few rows
  /// or columns, which has other kernels.
  bool strided = false;
  /// Rows and columns of one block, the unit of work.
  int64_t block_rows = 1, block_cols = 1;
  /// The strips (of block_rows rows) and the panels (of block_cols columns) of a region, and the blocks of all regions
  /// together. In the order of blocks the strip changes fastest, then the panel, then the loops.
  int64_t strips = 1, panels = 1, blocks = 1;
  /// How many bytes ahead of where it is read the source is prefetched. Where this is 0, a kernel may still prefetch
  /// the next columns of its own block.
  int64_t ahead = 0;
  /// How many bytes ahead of where they are written the destination's lines are fetched, because a line that is written
  /// through the cache is read first. Only tiles of registers and strided transpositions use this; the latter then
  /// fetch the source's next lines as well.
  int64_t dst_ahead = 0;
  /// For a strided transposition: whether dst_ahead is used only if the destination does not start at a line.
  bool ahead_between = false;
  /// Whether the source of a block is copied to dense memory in the cache before it is transposed.
  bool pack = false;
  /// If over 0, in a gather: the columns are all pieces of one *chunk*, which is this many bytes of the source without
  /// gaps.
  int64_t chunk = 0;
  /// If over 1: groups of this many bytes of the source (at most 16) are permuted as they are read. Byte i of a group
  /// comes from byte pattern[i]. The box's source strides are those of the source once it is permuted. Only
  /// transpositions (with `pack`), copies of pieces, and gathers from chunks have this.
  int64_t shuffle = 1;
  std::array<uint8_t, 16> pattern{};
  /// If over 0: the box is a transposition that is done by tiles of registers. Rows come in runs of row_run that follow
  /// each other in the source, columns in runs of col_run that follow each other in the destination; the runs lie
  /// anywhere. In each run, groups of 16 bytes are permuted: byte i of a group, once read, is byte pattern[i] of the
  /// source; byte i, once written, is what was byte dst_pattern[i]. Strides are those of the permuted sides.
  int64_t row_run = 0, col_run = 0;
  std::array<uint8_t, 16> dst_pattern{};
  /// For tiles of registers: whether the destination of a block is put together in an image in the cache
  /// (image_of_block()) and written past the cache from there.
  bool by_image = false;
  /// For a fill: bit i says whether byte i of the 64 bytes from each column's start on is written. A column that would
  /// start after last_col starts at last_col instead, and overlaps the column before it. Where elements are nibbles,
  /// each is a column.
  uint64_t fill_mask = 0;
  int64_t last_col = 0;
  /// For a fill: whether whole lines are written past the cache.
  bool fill_streams = false;
  /// The loops around the region, outermost first.
  Axes loops;
  /// If this is not empty, the loops are not around a region of rows and columns. They are around the stages of a
  /// conversion (see `stage`), or around a *tile* of the destination that several boxes fill together. The nested plans
  /// of a tile are its *runs*. The plans nested in a run are the boxes that fill it, at offsets from its start. shape,
  /// piece and blocks of the tile's own plan describe the largest of these boxes.
  std::vector<BoxPlan> nested;
  /// For a run of a tile, if over 0: its boxes fill this many bytes without a gap. The bytes are put together in the
  /// cache, at byte `image` of the tile's memory, and written as a whole.
  int64_t run_bytes = 0, image = 0;
  /// For a run whose rows are alike and follow each other: the pieces of its first row, one after the other. Each next
  /// row is read row_step bytes later. From these, whole lines of the destination can be made by byte permutations of
  /// the source. Empty where that gains nothing. In a box without nested plans, there are two kinds of rows here. With
  /// rows_of_region, they are the rows of the region, which are one axis, and there is one panel. Otherwise, a row is
  /// all that lies within one step of the last axis of the columns.
  std::vector<RowSource> row_sources;
  int64_t row_step = 0;
  bool rows_of_region = false;
  /// If over 0: the nested plans are *stages*, which are done one after the other inside the loops. Between the stages,
  /// this many bytes in the cache hold elements of the narrower type. The first stage converts dense stretches of the
  /// source, and the others move the result. With converts_last, the others come first, and the last stage converts.
  int64_t stage = 0;
  bool converts_last = false;
  /// With `stage`, if over 0: elements of one byte lie in the cache in groups of group_rows rows of group_cols bytes,
  /// 64 bytes at most. Between the conversion and the moves each group is transposed in the cache, so that each of its
  /// columns moves as one larger element.
  int64_t group_rows = 0, group_cols = 0;
  /// Elements of the tensor (not of the kernel) that the box holds.
  int64_t elements = 0;
};

/// Whether a region has so few and so short rows that all of them are made together in the cache and then written as
/// one run, even if each row is whole lines. A row may have 512 bytes, and all rows together kMaxRunBytes. Where
/// elements are not packed first, both limits are half as large.
inline bool small_region(const BoxPlan& box) {
  const int64_t times = box.pack ? 1 : 2, row_bytes = box.col_count * box.piece[kDst];
  return times * row_bytes <= 512 && times * row_bytes * box.row_count <= kMaxRunBytes;
}

/// Where the pieces of a block lie in its *image*: the runs of the destination that it writes, one after the other in
/// the cache, each kImageSkew bytes after the end of the one before.
struct BlockImage {
  /// The steps of an axis that a block has: how many, and how far apart in the destination and in the image.
  struct Step {
    int64_t extent, dst, image;
  };
  /// The steps of the rows and, after these, of the columns, innermost axis first.
  std::array<Step, 2 * kMaxImageAxes> steps;
  /// Indices into `steps`, the shortest distance in the destination first.
  std::array<int8_t, 2 * kMaxImageAxes> by_distance;
  int row_steps = 0, all_steps = 0;
  /// The first in_run entries of by_distance step within a run; the others step from run to run.
  int in_run = 0;
  int64_t run_bytes = 0, runs = 1;
};

/// The image of a block of `rows` rows and `cols` columns, for a box by tiles of registers. Returns nothing unless the
/// block's rows, and its columns, are some whole axes and some steps of one more axis, or where an axis has a table or
/// goes backwards.
std::optional<BlockImage> image_of_block(const BoxPlan& box, int64_t rows, int64_t cols);

/// Simplifies a box: axes of extent 1 are dropped, two axes that continue each other on every operand become one, and
/// an axis that walks the destination backwards is turned. The result is ordered by destination stride, largest first,
/// tables before all. The set of offset tuples stays the same. Cost: quadratic in the axes.
void simplify(Box& box);

}  // namespace relayout
