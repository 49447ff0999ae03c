// Elements whose runs are short on both sides, gathered from *chunks*: dense bytes of the source that are few enough to
// stay in the cache (internal to reorder).
//
//     the columns of a box are the pieces of one chunk, in the order of the destination; its rows are chunks. One list
//     for the whole box says where each piece is in a chunk
#pragma once

#include "relayout/reorder/price.h"

namespace relayout {

struct Chunks {
  int64_t bytes = 0;  // of a chunk
};

/// Plans a box of elements of `element` bytes, a power of two of at most 8. Through the caches, its rows are first the
/// chunks that write to the same lines of the destination and then those that are near each other in the source; past
/// the caches, they are the steps of only one axis, the longest.
Planned<Chunks> plan_chunks(Box box, int64_t element, int64_t elements, bool streams);

inline double rate(const Loops& loops, const Chunks&) { return gather_rate(loops); }

}  // namespace relayout
