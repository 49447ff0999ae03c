// CuTe: its layouts as text and as C++, and its algebra on layouts.
//
// CuTe (NVIDIA CUTLASS) writes a layout as shape:stride, both tuples of modes. A mode of the shape is a dim here, and
// the integers of a mode are the dim's digits, leftmost innermost.
//
//     const Layout tile = cute::from_cute("((8,3),4):((1,32),8)");   // dim 0: (8,1)(3,32), dim 1: (4,8)
//     cute::to_cute(tile);                                           // "((8,3),4):((1,32),8)"
//     cute::logical_divide(cute::from_cute("24:1"), cute::from_cute("4:2"));     // (4,(2,3)):(2,(1,8))
//
// **The algebra** takes a layout L as a function of one number: i is split over the dims with dim 0 innermost (the
// other way round than Layout::offset() counts), and L(i) is the offset. Behind its last element a layout goes on with
// the last mode of coalesce(L), so that L(i) is defined for every i >= 0; tiles that do not divide a layout rely on it.
// Each function below says which dims its result has. Where CuTe's result is a mode of modes, the dim has their digits
// one after the other: one level of parentheses is lost, and the function of i is the same.
//
// A swizzled layout has text and code, with its offset; the algebra takes none: Error{unsupported}.
//
// CuTe has no padding and no offset, so that every function here takes layouts with neither: Error{unsupported} names
// the dim with its extent and capacity, or the offset. Layouts have at least one element for the algebra, and no
// element at a negative offset. Other errors: limit (a result of over 12 dims or 48 digits), overflow (of 63 bits).
//
// Source: CUTLASS 4.2, media/docs/cpp/cute/01_layout.md and 02_layout_algebra.md, include/cute/layout.hpp. The test
// `cute` compares with NVIDIA's pycute and with tensor-layouts; what is another way on purpose stands in
// docs/interop.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout::cute {

/// Reads CuTe's text: "(4,8):(8,1)", "((8,3),4):((1,32),8)", a shape alone (leftmost innermost), static integers (_8).
/// "Sw<3,3,3> o 0 o (8,64):(64,1)" is a swizzled layout, CuTe's ComposedLayout.
/// Each top-level mode is a dim; modes inside it are flattened to its digits. Errors: parse (with a caret; strides
/// along a basis and compositions are named; a negative stride, whose elements would lie before the pointer; what does
/// not fit 64 bits), overflow.
Layout from_cute(std::string_view text);

struct TextOptions {
  /// Take the capacities of padded dims as the shape: CuTe's layout then also has what is padding here.
  bool capacities = false;
};
/// CuTe's text of a layout. Law: from_cute(to_cute(l)) == l. Errors: unsupported (padding, an offset, a negative
/// stride).
std::string to_cute(const Layout& layout, const TextOptions& options = {});

/// A line of C++: const auto layout = cute::make_layout(cute::make_shape(...), cute::make_stride(...)), of dynamic
/// integers, and the text in a comment; cute::make_composed_layout(...) with a swizzle. Type and pointer are those of
/// the tensor that is made with it. Errors as to_cute().
std::string code(const TensorDesc& desc);

/// L(i), as above, for any i >= 0.
int64_t apply(const Layout& layout, int64_t i);
/// The number of indices, and the largest offset + 1.
int64_t size(const Layout& layout);
int64_t cosize(const Layout& layout);

/// The same function with as few modes as possible; each is a dim of one digit.
/// Law: apply(coalesce(l), i) == apply(l, i) for all i. Layout::canonical() coalesces each dim by itself.
Layout coalesce(const Layout& layout);

/// a after b: the dims of b, with digits that step through a.
/// Law: apply(compose(a, b), i) == apply(a, apply(b, i)) for all i < size(b).
/// Not every composition is a layout. Error{unsupported}, with the numbers, where a digit of b (extent s, stride d)
/// does not split along a mode of coalesce(a) (extent e): d must divide e or be divided by it (stride divisibility),
/// and what fits into the mode, e / d, must divide s (shape divisibility), unless all of it fits; or where digits of b
/// together reach beyond the mode, so that a step of one is not the same everywhere.
Layout compose(const Layout& a, const Layout& b);
/// By mode: dim d of the result is dim d of a after tiler[d]. The dims of a that have no tiler are dropped.
Layout compose(const Layout& a, std::span<const Layout> tiler);

/// What a repeats over to fill `cosize` offsets, its modes from the smallest stride to the largest; each is a dim.
/// Laws: R = complement(a, n) is increasing, and R(i) == a(j) only for i == 0. Where each stride of a is a multiple of
/// what the smaller ones cover, a(j) + R(i) reach n offsets or more; else CuTe leaves holes, and so does this.
/// Error{unsupported} where the modes of a overlap: a stride below what the modes of smaller strides cover.
Layout complement(const Layout& a, int64_t cosize);

/// The part that b picks out of a, and what is left: two dims, a after b and a after complement(b, size(a)).
/// Law: apply(logical_divide(a, b), i + size(b) * j) == apply(a, apply(b, i) + apply(complement(b, size(a)), j)).
/// Errors: those of compose() and complement().
Layout logical_divide(const Layout& a, const Layout& b);
/// By mode: dim d has the digits of the tile and then those of the rest, ((TileM,RestM),(TileN,RestN),L,...). This and
/// all functions that follow: Error{invalid_argument} where there are more tilers than dims.
Layout logical_divide(const Layout& a, std::span<const Layout> tiler);
/// ((TileM,TileN),(RestM,RestN,L,...)): two dims. Law: dim 0 is compose(a, tiler) with its dims as one.
Layout zipped_divide(const Layout& a, std::span<const Layout> tiler);
/// ((TileM,TileN),RestM,RestN,L,...).
Layout tiled_divide(const Layout& a, std::span<const Layout> tiler);
/// (TileM,TileN,RestM,RestN,L,...).
Layout flat_divide(const Layout& a, std::span<const Layout> tiler);
/// The same with one tiler for the whole layout. zipped_divide is logical_divide then; tiled_divide has a dim for each
/// mode of the rest behind the tile's, and flat_divide one for each mode of the tile too.
Layout zipped_divide(const Layout& a, const Layout& b);
Layout tiled_divide(const Layout& a, const Layout& b);
Layout flat_divide(const Layout& a, const Layout& b);

/// a, repeated as b says: two dims, a and complement(a, size(a) * cosize(b)) after b.
/// Law: with that complement R, apply(logical_product(a, b), i + size(a) * j) == apply(a, i) + apply(R, apply(b, j)).
Layout logical_product(const Layout& a, const Layout& b);
/// By mode: ((M,TileM),(N,TileN),L,...); ((M,N),(TileM,TileN,L,...)); ((M,N),TileM,TileN,L,...);
/// (M,N,TileM,TileN,L,...).
Layout logical_product(const Layout& a, std::span<const Layout> tiler);
Layout zipped_product(const Layout& a, std::span<const Layout> tiler);
Layout tiled_product(const Layout& a, std::span<const Layout> tiler);
Layout flat_product(const Layout& a, std::span<const Layout> tiler);
/// logical_product(a, b) with dim d of a and dim d of b in one dim, the block innermost (blocked) or the repetition
/// (raked). The shorter one is filled with dims of extent 1.
Layout blocked_product(const Layout& a, const Layout& b);
Layout raked_product(const Layout& a, const Layout& b);

/// The longest R, of one dim a mode, with apply(l, apply(R, i)) == i for all i < size(R). Modes of stride 0 are left
/// out; of two modes with one stride the left one is taken. {1:0} where no mode has stride 1.
Layout right_inverse(const Layout& layout);
/// R with apply(l, apply(R, apply(l, i))) == apply(l, i), and apply(R, apply(l, i)) == i where no mode has stride 0,
/// for all i < size(l). Error{unsupported} where strides do not nest: each must be a multiple of the next smaller one,
/// and at least what that mode covers.
Layout left_inverse(const Layout& layout);

}  // namespace relayout::cute
