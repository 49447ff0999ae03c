// The blocks of a box plan: its units of work (internal to reorder).
#pragma once

#include "relayout/reorder/axes.h"
#include "relayout/reorder/plan.h"

namespace relayout {

/// A run of at least kLongRun bytes on both sides is copied by itself; a shorter run is a piece of a region.
inline constexpr int64_t kLongRun = 512;
/// Axes are added to the rows of a region until a row of the source has kRowBytes bytes.
inline constexpr int64_t kRowBytes = 256;
/// The rows and the columns that a block of elements of 4 bits should have, if the region has so many.
inline constexpr int64_t kNibbleSide = 64;

/// Whether a kernel of its own interleaves `few` columns of elements of `bytes` bytes into `many` rows that follow each
/// other in the destination. The same kernels exist for the reverse: to deinterleave `few` rows of `many` columns that
/// follow each other in the source.
constexpr bool interleaved(int64_t few, int64_t many, int64_t bytes) {
  return few >= 2 && (few <= 4 || (few <= 9 && few % 2 == 1 && bytes <= 4 && many * bytes >= kCacheLine));
}

/// Whether a box moves pieces of less than 16 bytes one by one.
inline bool moves_small_pieces(const BoxPlan& plan) {
  return (plan.shape == KernelShape::gather && plan.chunk == 0) ||
         (plan.shape == KernelShape::copy && !plan.long_runs && plan.piece[kDst] < kSmallPiece);
}

/// What blocks are chosen for: the sizes of the caches, and the choices of the caller.
struct BlockRules {
  Machine machine = {};
  Tuning tuning = {};
};

/// Completes a plan whose kernel, rows and columns are chosen: chooses the blocks of its region and makes the axes that
/// are left in `box` its loops. `streams`: the destination is written past the caches.
BoxPlan finish(BoxPlan plan, Box box, bool converts, bool streams, const BlockRules& rules);
/// For a box by tiles of registers that is written through the cache although both sides are larger than it: while one
/// block is moved, the next one is fetched on both sides.
void fetch_next_block(BoxPlan& plan);
/// For a strided transposition that is written through the cache: while some lines of its columns are moved, the next
/// ones are fetched on both sides. That gains where both sides are beyond the second level (`beyond_second`). Elsewhere
/// it gains only if rows of the destination lie near each other or do not start at lines. Whether rows start at lines
/// may depend on the destination's address (BoxPlan::ahead_between).
void fetch_next_lines(BoxPlan& plan, bool beyond_second);

}  // namespace relayout
