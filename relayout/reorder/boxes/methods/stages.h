// Stages: a chunk of the tensor at a time is read to the cache in stretches of the source, moved there, and written in
// stretches of the destination (internal to reorder).
//
//     f32 oihw -> s8 OIhw4i16o4i: 16 outputs of 576 values each, dense in the source, are converted to bytes in the
//     cache, and moved from there by what moves bytes
//     s4 nchw -> nhwc: some rows are unpacked to bytes, transposed as bytes, and packed
//     f16 ba -> Sw<3,3,3>o0o(128,64):(64,1): the tile is transposed in the cache, and written in runs of 16 bytes
#pragma once

#include <span>

#include "relayout/reorder/boxes/box_plan.h"
#include "relayout/reorder/boxes/methods/together.h"

namespace relayout {

/// Plans boxes to be moved together. Elements are converted as a part of reading or of writing, on the side of the
/// narrower type. Nothing where what the boxes do not have in common is too much for a buffer, or lies unevenly; where
/// the boxes leave gaps between them in the destination that must stay; or, with `types.sums`, where chunks would
/// overlap.
std::optional<BoxPlan> plan_stages(std::span<const Box> boxes, const ConvertedTypes& types, bool converts, bool streams,
                                   const Gaps& gaps, const Tables& tables, const BlockRules& rules);

/// Plans a box of two layouts without their swizzles, whose chunks are whole periods of these: each permutes its runs
/// on the way from or to memory. Nothing where they are not, or with `types.sums`.
std::optional<BoxPlan> plan_swizzled_stages(const Box& box, const std::array<Swizzle, 2>& swizzles,
                                            const ConvertedTypes& types, bool converts, bool streams, const Gaps& gaps,
                                            const BlockRules& rules);

}  // namespace relayout
