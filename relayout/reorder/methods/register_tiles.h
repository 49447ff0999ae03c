// Boxes whose runs are short on both sides, moved by tiles of registers (internal to reorder).
//
// A tile of registers is a square of 16 bytes by 16: some rows of the source, of which each register holds 16 bytes,
// are transposed within the registers and stored as 16 bytes of some rows of the destination. So it moves elements of
// any size at 16 bytes an instruction where both sides are dense for 16 bytes, however these are ordered.
#pragma once

#include "relayout/reorder/methods/shared_groups.h"
#include "relayout/reorder/price.h"

namespace relayout {

/// Rows come in runs of row_run that follow each other in the source, columns in runs of col_run that follow each other
/// in the destination; the runs lie anywhere. In each run, groups of 16 bytes are permuted: byte i of a group, once
/// read, is byte src_pattern[i] of the source; byte i, once written, is what was byte dst_pattern[i]. Strides are those
/// of the permuted sides.
struct RegisterTiles {
  int64_t row_run = 1, col_run = 1;
  std::array<uint8_t, kRegister> src_pattern{}, dst_pattern{};
  /// How many bytes ahead of where they are written the destination's lines are fetched.
  int64_t dst_ahead = 0;
  /// Whether the destination of a block is put together in an image in the cache (image_of_block()) and written past
  /// the cache from there.
  bool by_image = false;
};

/// A transposition whose region has fewer than kSmallTiles bytes is better done by tiles of registers, whose blocks
/// hold several regions.
inline constexpr int64_t kSmallTiles = 4 << 10;

/// Plans a box of elements of `element` bytes. Nothing where the runs of both sides are so short that a tile would hold
/// only a few elements, even once groups of bytes are permuted.
std::optional<Planned<RegisterTiles>> plan_register_tiles(Box box, int64_t element);

/// Whether a box is better done by tiles of registers than by a plain transposition. That is so where bytes within
/// groups are permuted, and where a plain transposition would have a small region, or would write several short runs to
/// one line. If the destination is written past the cache (`streams`), it is so where a plain transposition could not
/// write whole lines. It is not so, except past the cache, for pieces of 16 bytes that do not follow each other.
bool wants_tiles(const Planned<RegisterTiles>& plan, bool streams);

/// Where both sides are dense along the same axis but one side begins with less than 16 bytes of other axes, a tile of
/// registers takes 2, 4 or 8 steps of that axis to fill 16 bytes. Cuts `box` to a multiple of that number of steps and
/// returns the box of the steps that are left over.
///
///     src 899d of 1 byte, dst 8b899d: 898 d, of which two make a tile's column of 16 bytes, and 1 d
std::optional<Box> cut_for_tiles(Box& box, int64_t element);

/// For a box that is written through the cache although both sides are larger than it: while one block is moved, the
/// next one is fetched on both sides.
void fetch_next_block(Loops& loops, RegisterTiles& method);

/// Where the pieces of a block lie in its *image*: the runs of the destination that it writes, one after the other in
/// the cache, each a line after the end of the one before.
struct BlockImage {
  /// The most axes of the rows, and of the columns.
  static constexpr int kMaxAxes = 16;
  /// The steps of an axis that a block has: how many, and how far apart in the destination and in the image.
  struct Step {
    int64_t extent, dst, image;
  };
  /// The steps of the rows and, after these, of the columns, innermost axis first.
  std::array<Step, 2 * kMaxAxes> steps;
  /// Indices into `steps`, the shortest distance in the destination first.
  std::array<int8_t, 2 * kMaxAxes> by_distance;
  int row_steps = 0, all_steps = 0;
  /// The first in_run entries of by_distance step within a run; the others step from run to run.
  int in_run = 0;
  int64_t run_bytes = 0, runs = 1;
};

/// Limits of the image of a block: its bytes and its runs. Runs that start a power of two apart would share few sets of
/// the cache, so each run starts a line after the end of the one before.
inline constexpr int64_t kMaxImageBytes = 96 << 10, kMaxImageRuns = 1024;

/// The image of a block of `rows` rows and `cols` columns. Nothing unless the block's rows, and its columns, are some
/// whole axes and some steps of one more axis, or where an axis has a table or goes backwards.
std::optional<BlockImage> image_of_block(const Loops& loops, int64_t rows, int64_t cols);
/// Whether each block writes whole lines, provided that the destination starts at a line: then the block can be written
/// by way of an image.
bool writes_lines(const Loops& loops);
/// Whether a block writes more runs that lie whole pages apart than the first-level cache has ways (at least eight).
/// These runs compete for the same sets, so their lines leave the cache incomplete.
bool in_few_sets(const Loops& loops);

inline double rate(const Loops&, const RegisterTiles&) { return 15; }
double streamed(const Loops& loops, const RegisterTiles& method, const Traffic& traffic, const Bytes& bytes);

}  // namespace relayout
