// Inverse: the layout that maps offsets back to indices, where there is one.
//
// A layout gives each index an offset. If each offset from 0 to the number of elements - 1 belongs to exactly one
// index, the way back is a layout again: the digits of an offset, in the mixed radix of the layout's own strides, are
// digits of the index. CuTe calls it right_inverse, with indices counted in column-major order. Here they are counted
// in row-major order, as everywhere in this library.
//
//     Layout nhwc = Format::parse("nhwc").bind({2, 3, 5, 4});
//     Layout back = inverse_layout(nhwc);          // one dim of 120: digits (3,20)(4,1)(5,4)(2,60)
//     nhwc.offset({1, 2, 0, 3}) == 71              // and that index is number 103 in row-major order:
//     back.offset({71}) == 103
//
// To find the index of a single offset of any layout, padding and gaps included, there is Layout::inverse().
//
// Laws (tested over whole domains):
//     inverse_layout(l).offset({l.offset(i)}) == the row-major number of i, for all indices i
//     inverse_layout(inverse_layout(l)) == merge(l, 0, l.ndims() - 1), where l has a dim
#pragma once

#include "relayout/core/layout.h"

namespace relayout {

/// The inverse of a layout: a layout of one dim, whose extent is the layout's number of elements. A flipped dim gives a
/// negative stride. A layout without elements has the inverse of dims {0}. An inverse exists if and only if the layout
/// is dense() and, unless empty(), begins at offset 0. The errors say what stands in the way: not_injective (two
/// indices share an offset; both are named), invalid_argument (padding, a gap, a first offset other than 0), limit (as
/// Layout::collision()).
Layout inverse_layout(const Layout& layout);

}  // namespace relayout
