// Refinement: two layouts of equal dims, cut into boxes of common axes.
//
// For each dim, take the place values of both sides' digits, and the size of a group where groups of indices share
// attribute values. Where each place value divides the next, every step from
// one to the next is affine on both sides. Where they do not divide each other (blocks of 48 and 32), one axis with a
// table runs from their gcd to their lcm. So every pair of layouts refines. A range of indices that does not fill its
// digits is written in the same mixed radix: each non-zero digit is one exact box.
//
//     c = 17 of nchw -> nChw8c: places 1, 8: two boxes, 16 = 2 x 8 and 1
//
// Law: over all boxes, the tuples of offsets are those of every index in [begin, end), each once.
#pragma once

#include "relayout/core/layout.h"
#include "relayout/reorder/refine/axes.h"
#include "relayout/reorder/refine/limits.h"

namespace relayout {

/// The boxes that cover the indices begin..end-1 of every dim; those of swizzled layouts are in swizzled_boxes.h.
/// `attributes` has a step for each dim. Tables are appended to `tables`. Boxes are not simplified. Cost: the product
/// over dims of the number of non-zero digits of the range, at most kMaxBoxes; a table takes min(lcm, extent) / gcd
/// entries of 24 bytes. Error{limit} where all of `tables` would take over kMaxTableBytes.
std::vector<Box> refine(const Layout& src, const Layout& dst, const AttributeSteps& attributes, const Dims& begin,
                        const Dims& end, Tables& tables);

/// The boxes that cover a layout's padding, each index once. An index that is padding only in dims whose bit is set in
/// `without` is left out. Both the source and the destination of these boxes are `layout`.
std::vector<Box> refine_padding(const Layout& layout, uint32_t without, Tables& tables);

}  // namespace relayout
