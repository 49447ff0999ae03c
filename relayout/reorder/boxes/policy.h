// Numbers of the machine that several methods share: how large a block may be to stay in which cache. What only one
// method needs stands in its own file (methods/), and the prices of a plan in price.h. They follow from what must stay
// in a cache while a block is moved, and were confirmed by timings of many shapes around each limit; docs/lab has
// these. (internal to reorder)
#pragma once

#include "relayout/reorder/machine.h"
#include "relayout/reorder/refine/nest.h"

namespace relayout {

/// Rows or columns: the most that a block has, because it keeps a list of where they start.
inline constexpr int64_t kMaxBlockSide = 1024;
/// Bytes: what a block may have on one side so that both sides stay in the first-level cache; the most bytes of a
/// tile's image and of what lies between the stages of a conversion; and the length from which on a source is read
/// linearly.
inline constexpr int64_t kHalfL1 = 16 << 10;
/// Bytes of the destination's lines that a block keeps open: several first levels, but few enough for the second.
inline constexpr int64_t kOpenLines = 64 << 10;
/// Bytes of a block that is read from memory and written past the cache, of short rows that are put together in the
/// cache and then written as one run, and the most that a source is fetched ahead: well within the second level, and
/// enough that its start costs little.
inline constexpr int64_t kInL2 = 128 << 10;
/// Bytes: a run that is at least as long on both sides is copied by itself; a shorter one is a piece of a region.
inline constexpr int64_t kLongRun = 512;
/// Bytes, and steps: what goes along one side of a block is long enough with so many.
inline constexpr int64_t kRowBytes = 256;
inline constexpr int64_t kEnoughSteps = 256;
/// Bytes: a block of fewer takes longer to start than to move.
inline constexpr int64_t kEnoughBlock = 2 << 10;
/// Bytes that a register permutes, and of a tile of registers' side. Copied pieces of fewer are first put together to
/// lines in the cache.
inline constexpr int64_t kRegister = 16;
/// Bytes: copied pieces of at least so many are written past the cache even where they do not follow each other,
/// because all their lines but the first and the last are whole.
inline constexpr int64_t kScatteredPiece = 128;
/// Bytes that a source is fetched ahead of a copy or a conversion of runs, beyond what the processor fetches by itself.
inline constexpr int64_t kRunsAhead = 2 << 10;

}  // namespace relayout
