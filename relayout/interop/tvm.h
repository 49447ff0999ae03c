// TVM: layouts by their letters, both ways, and buffers with strides.
//
// TVM writes the axes of memory from the outermost to the innermost: a capital is a dim, a number and a small letter is
// a block of it.
//
//     tvm::to_tvm(Format::parse("nChw16c").bind({2, 64, 5, 4}));          // "NCHW16c"
//     tvm::to_tvm(Format::parse("hwio").bind({8, 4, 3, 3}), "oihw");      // "HWIO"
//     tvm::from_tvm("OIHW4i16o4i", {64, 32, 3, 3});                       // as the tag OIhw4i16o4i
//
// The letters have no order of their own, so that the logical order of the dims has to be known: that of the domain
// whose letters they are (nchw, ncdhw, oihw, goihw, ...), or the one that is given.
//
// Source: TVM, src/tir/ir/data_layout.cc (Layout, BijectiveLayout) and python/tvm/tir/buffer.py (decl_buffer).
#pragma once

#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout::tvm {

/// TVM's name of a type: "float32", "bfloat16", "float8_e4m3fn", "int4". Every type has one.
std::string_view type_name(DType dtype);

/// The layout that the text is for these dims, in the logical order `letters`, one a dim ("nchw"); empty: the order of
/// the domain that has these letters. Dims are padded up to their blocks, as TVM's layout transforms do.
/// Errors: parse (with a caret; a block that is followed by a dim, which TVM has, is named), invalid_argument (dims of
/// another rank; letters that are not those of the text), overflow.
Layout from_tvm(std::string_view text, const Dims& dims, std::string_view letters = {});

/// The text of a layout. `letters` name the dims in their order; empty: w, nc, ncw, nchw or ncdhw by the rank.
/// Law: from_tvm(to_tvm(l, letters), l.dims(), letters) == l. Errors: unsupported, naming the dim or offset (an
/// offset0, a gap, a stride of 0 or below, blocks that are not innermost; a block of over 2^31 - 1, a rank of 0),
/// invalid_argument (letters that are not different small letters, one a dim; a rank over 5 without letters).
std::string to_tvm(const Layout& layout, std::string_view letters = {});

/// tvm.tir.decl_buffer(...) with a tensor's shape, type, strides and offset, in Python. Errors: unsupported (blocks,
/// padding: the dim is named).
std::string buffer(const TensorDesc& desc);

/// The text of to_tvm() where there is one, else buffer(). Error{unsupported} with the reasons of both.
std::string code(const TensorDesc& desc, std::string_view letters = {});

}  // namespace relayout::tvm
