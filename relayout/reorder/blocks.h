// The blocks of a box plan: its units of work (internal to reorder).
#pragma once

#include "relayout/reorder/axes.h"
#include "relayout/reorder/plan.h"

namespace relayout {

/// A run of at least so many bytes on both sides is copied by itself; a shorter one is a piece of a region.
inline constexpr int64_t kLongRun = 512;
/// Axes are added to the rows of a region until these have so many bytes.
inline constexpr int64_t kRowBytes = 256;
/// The rows and columns of a block of elements of 4 bits, where there are so many.
inline constexpr int64_t kNibbleSide = 64;

/// Whether `few` columns of elements of `bytes` bytes are interleaved by a kernel for that number of columns, where the
/// `many` rows of the destination follow each other. And the other way round: whether `few` rows are deinterleaved,
/// where the `many` columns of the source follow each other.
constexpr bool interleaved(int64_t few, int64_t many, int64_t bytes) {
  return few >= 2 && (few <= 4 || (few <= 9 && few % 2 == 1 && bytes <= 4 && many * bytes >= kCacheLine));
}

/// Whether a box moves pieces of less than 16 bytes one by one, by their steps or lists.
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
/// ones are fetched on both sides. That gains where both sides are beyond the second level (`beyond_second`). Nearer it
/// gains only where rows of the destination lie near each other, or do not start at lines; whether they do may depend
/// on the address of the destination (BoxPlan::ahead_between).
void fetch_next_lines(BoxPlan& plan, bool beyond_second);

}  // namespace relayout
