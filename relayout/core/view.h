// Views: the same elements under another description. No data moves, and views never stack: each
// function returns a plain Layout over the same buffer.
//
// Where no such layout exists, Error{needs_copy} names the axes that stand in the way.
//
//     Layout nhwc = Format::parse("nhwc").bind({2, 3, 5, 4});
//     transpose(nhwc, 1, 3).dims();            // 2, 4, 5, 3
//     slice(nhwc, 2, 1, 5, 2).dims();          // 2, 3, 2, 4: rows 1 and 3
//
// A swizzled layout keeps its swizzle in every view but as_strided(): the exclusive or applies to the whole offset, and
// a slice or a flip adds to the offset under it.
//
// A negative dim number counts from the end, as in NumPy. Law, for each view v with index map m:
// v.offset(i) == layout.offset(m(i)) for all i.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// out.dim(i) = in.dim(order[i]), as in PyTorch and NumPy.
Layout permute(const Layout& layout, std::span<const int> order);
/// out.dim(perm[i]) = in.dim(i), as in oneDNN's permute_axes: the inverse of permute().
Layout permute_axes(const Layout& layout, std::span<const int> perm);
Layout transpose(const Layout& layout, int d0, int d1);

/// The indices start, start + step, ... below stop along dim d. 0 <= start <= stop <= extent, step >= 1. A slice of a
/// blocked dim must not count other elements as padding. So it can be any range inside one block, whole blocks, or a
/// step that divides the block; otherwise needs_copy.
Layout slice(const Layout& layout, int d, int64_t start, int64_t stop, int64_t step = 1);
/// PyTorch's narrow: `length` indices from `start`.
Layout narrow(const Layout& layout, int d, int64_t start, int64_t length);
/// One index of dim d. The result has no dim d.
Layout select(const Layout& layout, int d, int64_t index);

/// oneDNN's submemory descriptor (memory_desc_init_submemory): strides and blocks stay, offset0 grows. Offsets must be
/// multiples of the dim's block. So must an extent, unless it ends at the right border or lies inside one block. The
/// padding behind the right border stays. Error{invalid_argument} says which dim breaks which rule. Beyond oneDNN's
/// rules, it is also thrown for a part of a two-level block that is not one run, because the rest of the block would
/// pass for padding.
Layout submemory(const Layout& layout, const Dims& dims, const Dims& offsets);

/// Repeats dims of extent 1 to the extents of `dims`, which may begin with further dims. -1 keeps an extent.
Layout expand(const Layout& layout, const Dims& dims);
/// Drops dim d, which must have extent 1.
Layout squeeze(const Layout& layout, int d);
/// Drops all dims of extent 1.
Layout squeeze(const Layout& layout);
/// Adds a dim of extent 1 before dim d (d == ndims appends).
Layout unsqueeze(const Layout& layout, int d);
/// Reverses dim d. Padded dims cannot be flipped: needs_copy.
Layout flip(const Layout& layout, int d);

/// Index j of dim d becomes the element that was at index places[j]; `places` has each index of the dim once. Digits
/// say some permutations: all indices reversed, and those in which blocks of equal steps stand at equal steps (the
/// gates i f g o as i g f o). Where the blocks do not divide the extent, the last index of the last block is padding
/// that shares an element (z r h as r z h): such a layout can be read and, as its padding would be written, only be a
/// destination whose padding is kept. Error{needs_copy} for all others: permute_gates() (gates.h) copies those.
Layout reindex(const Layout& layout, int d, std::span<const int64_t> places);

/// Splits dim d into `parts`, outermost first; one of them may be -1. Error{needs_copy} if a border between parts cuts
/// a digit.
Layout split(const Layout& layout, int d, const Dims& parts);
/// Joins dims first to last into one, whose index counts them in row-major order. Digits make this possible for any
/// strides. Only padding of a dim after the first makes it impossible.
Layout merge(const Layout& layout, int first, int last);

/// The windows of `size` indices that begin at 0, step, 2 * step, ... of dim d and lie inside it, as PyTorch's unfold:
/// dim d counts the windows, and a new last dim the indices of one. Windows may overlap. With blocks they exist where
/// no window carries from one block to the next; otherwise needs_copy.
Layout unfold(const Layout& layout, int d, int64_t size, int64_t step);
/// The elements whose index of dim d1 is that of dim d0 plus `offset`, as in PyTorch and NumPy: both dims go, and a new
/// last dim counts these elements. Blocks of both dims must divide each other; otherwise needs_copy.
Layout diagonal(const Layout& layout, int64_t offset = 0, int d0 = 0, int d1 = 1);
/// Other dims and strides over the same buffer, whatever this layout's are, as in PyTorch; its offset0 stays where none
/// is given. The view may name gaps and padding, but nothing behind the layout's span(): Error{invalid_argument}.
/// PyTorch knows the whole storage and allows what lies in it. Not of a swizzled layout: Error{unsupported}.
Layout as_strided(const Layout& layout, const Dims& dims, const Dims& strides, std::optional<int64_t> offset0 = {});

/// PyTorch's view, NumPy's reshape without a copy: `dims` may have one -1, and each new dim gets a single stride. Dims
/// that stay as they are may be blocked. Error{needs_copy} names the axes that stand in the way and, where merge() and
/// split() give the same dims with several digits, these.
Layout view(const Layout& layout, const Dims& dims);
/// PyTorch's flatten where it is a view: view() with dims first to last as one, which merge() also is where these have
/// no single stride. A scalar becomes one dim of extent 1.
Layout flatten(const Layout& layout, int first = 0, int last = -1);

}  // namespace relayout
