// XLA: shapes with their layouts as text, both ways.
//
// XLA writes an array's type, its dims, the dims from the innermost to the outermost and, where memory is cut into
// tiles, the tiles:
//
//     const TensorDesc desc = xla::from_xla("f32[3,5]{1,0:T(2,2)}");     // index (2,3) is at offset 17
//     xla::to_xla(desc);                                                 // "f32[3,5]{1,0:T(2,2)}"
//     xla::to_xla({Format::parse("nChw8c").bind({2, 17, 5, 4}), DType::bf16});
//         // "bf16[2,17,5,4]{3,2,1,0:T(8,1,1)}": tiles of 8 x 1 x 1, which cut c and leave h and w whole
//
// Tiles are found by a rule and no table. The axes of memory behind the last tile's are the axes of the shape before
// it, so the last tile is taken off: its axes are as many of the innermost ones as each continue another axis, in the
// order of these, and an axis without a part in the tile has the extent 1. What is left is treated in the same way,
// until each dim has one axis. The fewest tiles are taken; of several ways, the one whose last tile is smallest. Every
// layout without gaps, with and without padding, has such tiles.
//
// Source: XLA's docs/tiled_layout.md, docs/shapes.md, xla/layout.cc and xla/xla_data.proto.
#pragma once

#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout::xla {

/// XLA's name of a type: "pred" for bool, "f8e4m3fn", "bf16", "s4". Error{unsupported} for the floats
/// of 6 bits.
std::string_view type_name(DType dtype);
/// The type of that name, in small or capital letters. Errors: unsupported (a type of XLA that this library lacks: c64,
/// f8e4m3b11fnuz, s2, ...), parse (no type of XLA at all).
DType dtype_of(std::string_view name);

/// Reads a shape: "f32[3,5]{1,0:T(2,2)}", or "f32[3,5]" alone, which is row-major. S and a memory space, which says
/// where the buffer is and not how it is laid out, is read past. E and the bits of an element must be those of the
/// type: s4 and u4 need E(4), and other sub-byte types their bits, because without it XLA keeps each in a byte of its
/// own, and here they share one. (Packed,
/// XLA has the even element in the high half of the byte, and this library in the low half.) Errors: parse (with a
/// caret; sparse dims, L, tiles that join dims (*) and tiles that do not divide the one before are named; tuples; dims
/// with bounds, <=3), unsupported (a type, E), overflow.
TensorDesc from_xla(std::string_view text);

/// The shape of a tensor. Law: from_xla(to_xla(desc)) == desc. The text may be shorter than one that was read, as it is
/// made from the layout: bf16[]{:T(512)(128)(2,1)} becomes bf16[]{:T(512)}, which has the scalar and its 511 elements
/// of padding at the same places, since a scalar's padding has no indices. Errors: unsupported, naming the dim or
/// offset: an offset0, a stride of 0 or below, indices that share an offset, a gap (an offset in the buffer that no
/// index and no padding has).
std::string to_xla(const TensorDesc& desc);

/// The shape as in HLO's text, and the same as a layout of JAX (jax.experimental.layout), in a line each. Of types of 4
/// bits a comment follows, as XLA has the halves of each byte the other way round. Errors as to_xla().
std::string code(const TensorDesc& desc);

}  // namespace relayout::xla
