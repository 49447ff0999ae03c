// Triton: its linear layouts, which are linear over bits, and layouts as these.
//
// A linear layout says, for each bit of a place in the hardware, by what the index into a tensor changes: a *basis*,
// one number a dim. The index of a place is the exclusive or of the bases of its bits. Triton prints two kinds:
//
//     #ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}, alignment = 16>      shared memory
//     #ttg.linear<{register = [[0, 1]], lane = [[1, 0], [2, 0]], warp = [[0, 2]], block = []}>     registers
//
// Of shared memory a layout says the reverse: at which offset each index lies. Of registers it says, as CuTe's layouts
// of threads and values do, which element a register of a lane of a warp has: its dims are those of the hardware, in
// Triton's order, and its offsets are the row-major numbers of the tensor's elements.
//
//     const Layout tile = triton::from_triton("offset = [[0, 1], [0, 2], [1, 0], [2, 2]]");
//     tile.offset({2, 1}) == 11                                      // row 2 has its columns exchanged in pairs
//     triton::to_triton(tile);                                       // the text of above
//
// Bits that are moved alone make a sum of digits of extent 2; where some are XORed into others, a swizzle stands behind
// it (core/swizzle.h). An exclusive or that is no one Swizzle<B,M,S> is refused.
//
// Source: Triton, include/triton/Tools/LinearLayout.h and TritonGPUAttrDefs.td, in 2026.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::triton {

/// What one dim of the hardware adds to the index, bit by bit, the lowest first.
struct InDim {
  std::string name;         // "offset", "register", "lane", "warp", "block"
  std::vector<Dims> bases;  // for each bit a number for each dim of the tensor
};

struct LinearLayout {
  std::vector<InDim> in;
  Dims shape;  // of the tensor: powers of two
};

/// Reads Triton's text: the attribute as it is printed, what stands in its braces, or the same as a dict of Python
/// ({"offset": [[0, 1], [1, 0]]}). `shape` may be left out where the bases reach all of the tensor. Errors: parse,
/// invalid_argument (an extent that is no power of two, or a basis outside it).
LinearLayout parse(std::string_view text, const Dims& shape = {});

/// The layout of shared memory ("offset", and "block" without bases) or of registers, as above. Errors: unsupported
/// (bases that depend on each other or do not reach all of the tensor, for shared memory; blocks of shared memory; bits
/// that no one swizzle XORs so), limit (over 40 bits).
Layout to_layout(const LinearLayout& linear);

/// to_layout(parse(text, shape)).
Layout from_triton(std::string_view text, const Dims& shape = {});

/// The layout as that of shared memory: "#ttg.shared_linear<{offset = [[0, 1], [1, 0]]}, alignment = 16>". Offsets that
/// no index has are bases of zeros. Law: from_triton(to_triton(l), l.dims()) == l. Error{unsupported}: an extent that
/// is no power of two, padding, an offset, strides that are none, two of one bit, or a swizzle into a bit that no index
/// moves.
std::string to_triton(const Layout& layout);

/// to_triton(), for the list of systems (spelling.h).
std::string code(const TensorDesc& desc);

}  // namespace relayout::triton
