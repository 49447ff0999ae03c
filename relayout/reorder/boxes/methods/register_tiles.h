// Boxes whose runs are short on both sides, moved by tiles of registers (internal to reorder).
//
// A tile of registers is a square of 16 bytes by 16: some rows of the source, of which each register holds 16 bytes,
// are transposed within the registers and stored as 16 bytes of some rows of the destination. So it moves elements of
// any size at 16 bytes an instruction where both sides are dense for 16 bytes, however these are ordered.
//
// Why it is there: without it, 1 in 100 random conversions takes 1.6 to 1.75 times as long, dims of 8 bytes up to 10
// times (docs/lab/line-programs.md).
#pragma once

#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/shared_groups.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

/// Rows come in runs of row_run that follow each other in the source, columns in runs of col_run that follow each other
/// in the destination; the runs lie anywhere. In each run, groups of 16 bytes are permuted: byte i of a group, once
/// read, is byte src_pattern[i] of the source; byte i, once written, is what was byte dst_pattern[i]. Strides are those
/// of the permuted sides.
struct RegisterTiles {
  static constexpr Told kTold{
      KernelShape::transpose, "transpose by tiles of registers",
      "runs are short on both sides, so that squares of 16 by 16 bytes are transposed in registers"};
  int64_t row_run = 1, col_run = 1;
  std::array<uint8_t, kRegister> src_pattern{}, dst_pattern{};
  /// How many bytes ahead of where they are written the destination's lines are fetched.
  int64_t dst_ahead = 0;

  bool operator==(const RegisterTiles&) const = default;
};

/// Plans a box of elements of `element` bytes. Nothing where the runs of both sides are so short that a tile would hold
/// only a few elements, even once groups of bytes are permuted.
std::optional<Planned<RegisterTiles>> plan_register_tiles(Box box, int64_t element);

/// Whether tiles would only copy pieces of 16 bytes, for which there are kernels that start faster.
bool copies_pieces(const Planned<RegisterTiles>& plan);

/// Whether a box beyond the caches is better done by tiles of registers, which write through them, than by a plain
/// transposition past them: where
/// bytes within groups are permuted, and where a plain transposition could not write whole lines. (Through the cache
/// the price decides.)
bool wants_tiles(const Planned<RegisterTiles>& plan);

/// Where both sides are dense along the same axis but one side begins with less than 16 bytes of other axes, a tile of
/// registers takes 2, 4 or 8 steps of that axis to fill 16 bytes. Cuts `box` to a multiple of that number of steps and
/// returns the box of the steps that are left over.
///
///     src 899d of 1 byte, dst 8b899d: 898 d, of which two make a tile's column of 16 bytes, and 1 d
std::optional<Box> cut_for_tiles(Box& box, int64_t element);

/// For a box that is written through the cache although both sides are larger than it: while one block is moved, the
/// next one is fetched on both sides.
void fetch_next_block(Loops& loops, RegisterTiles& method);

}  // namespace relayout
