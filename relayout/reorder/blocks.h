// The blocks of a box plan: its units of work (internal to reorder).
#pragma once

#include "relayout/reorder/axes.h"
#include "relayout/reorder/plan.h"

namespace relayout {

/// Runs of so many bytes are copied as they are; shorter ones are pieces.
inline constexpr int64_t kLongRun = 512;
/// Rows of a region grow until they have so many bytes.
inline constexpr int64_t kRowBytes = 256;
/// Rows and columns of a block of elements of 4 bits, where there are as many.
inline constexpr int64_t kNibbleSide = 64;

/// Whether so few columns (rows) of elements of `bytes` are (de)interleaved by kernels of their own, where the `many`
/// rows of the destination (columns of the source) follow each other.
constexpr bool interleaved(int64_t few, int64_t many, int64_t bytes) {
  return few >= 2 && (few <= 4 || (few <= 9 && few % 2 == 1 && bytes <= 4 && many * bytes >= kCacheLine));
}

/// Whether a box moves pieces of less than 16 bytes one by one, by their steps or lists.
inline bool moves_small_pieces(const BoxPlan& plan) {
  return (plan.shape == KernelShape::gather && plan.chunk == 0) ||
         (plan.shape == KernelShape::copy && !plan.long_runs && plan.piece[kDst] < kSmallPiece);
}

/// What blocks are chosen by.
struct BlockRules {
  Machine machine = {};
  Tuning tuning = {};
};

/// Chooses the blocks of a region and makes the rest of the axes loops.
/// `streams`: the destination is beyond the caches.
BoxPlan finish(BoxPlan plan, Box box, bool converts, bool streams, const BlockRules& rules);
/// For a box by tiles, through the cache, of sides beyond it: while a block is moved, the next one is fetched on both
/// sides.
void fetch_next_block(BoxPlan& plan);
/// For a strided transposition through the cache, of sides beyond the second level, or beyond the first with rows that
/// are near each other or start between lines, be it for the destination's address (BoxPlan::ahead_between): while
/// lines of its columns are moved, the next ones are fetched on both sides, and the destination is written as it lies.
void fetch_next_lines(BoxPlan& plan, bool beyond_second);

}  // namespace relayout
