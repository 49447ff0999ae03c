// Boxes of a swizzled side: an exclusive or, turned into steps (internal to reorder).
//
// refine() first cuts two layouts into boxes as if there were no swizzle. In a box, an exclusive or of bits s into bits
// t is affine again once it is known what the bits s are: it leaves bit t where bit s is 0 and turns it where bit s is
// 1, which is the step of that bit backwards. So each bit s that moves together with its bit t makes two boxes of one,
// and a box becomes at most 2^B boxes whose steps along the bits t are forwards or backwards:
//
//     Sw<3,3,3> o 0 o (128,64):(64,1)     8 boxes, one for each value of row % 8. Where it is 3, columns are taken
//                                         apart as (8,1)(2,-8)(2,-16)(2,32), from offset 24 on
//
// That needs bits of the offset that move one by one: strides and extents are powers of two (an extent is cut into
// some), and no two of them carry into each other. All other boxes get one table of the steps that reach bits of the
// swizzle, which repeat after Swizzle::period() elements; all other steps stay as they are.
//
// Law: over all boxes, the tuples of offsets are those of the boxes before, with the operand's offset swizzled.
#pragma once

#include <vector>

#include "relayout/core/swizzle.h"
#include "relayout/reorder/refine/axes.h"

namespace relayout {

struct SwizzledLimits {
  std::size_t boxes = 1;  // that one box becomes; where it would become more, it gets a table
  int64_t entries = 0;    // of all tables together
};

/// Swizzles an operand's offsets, which count elements, in all boxes; tables are appended. Error{limit} where they
/// would have too many entries.
std::vector<Box> swizzled(std::vector<Box> boxes, Operand operand, const Swizzle& swizzle, const SwizzledLimits& limits,
                          Tables& tables);

/// Boxes of which the axes that step by less than a period of a side's swizzle have either whole periods of steps, or
/// less than one: the rest of an axis is a box of its own. At most twice as many for each axis.
std::vector<Box> in_whole_periods(const std::vector<Box>& boxes, const std::array<Swizzle, 2>& swizzles);

}  // namespace relayout
