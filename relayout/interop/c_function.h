// The offset of a layout as a function in plain C.
//
//     c_function::code({Format::parse("nCw8c").bind({2, 17, 5}), DType::f32}, {.letters = "ncw"})
//
//     #include <stdint.h>
//
//     /* The offset in elements of (n, c, w) in 2 x 17 x 5 elements of f32; c may go up to 23, which is padding. */
//     static inline int64_t offset(int64_t n, int64_t c, int64_t w) {
//       return n * 120 + c / 8 * 40 + c % 8 + w * 8;
//     }
//
// All numbers of the layout are constants, 64-bit throughout. The text is C99 and C++, needs nothing but <stdint.h>,
// and does not warn with -Wall -Wextra: parameters that do not matter are marked.
#pragma once

#include <string>

#include "relayout/core/layout.h"

namespace relayout::c_function {

struct Options {
  /// A small letter for each dim, as Format::dim_names() gives them; empty: i0, i1, ...
  std::string letters{};
  /// The function's name, an identifier of C.
  std::string name = "offset";
};

/// Law: for each index, padding included, the function returns Layout::offset(). An index outside has no meaning. The
/// comment says how far indices may go into padding, unless padding shares offsets with elements, as where gates are
/// reordered: nothing may be written there.
/// Errors: invalid_argument (letters that are not different small letters, one a dim; a name that is no identifier, or
/// a keyword of C or C++).
std::string code(const TensorDesc& desc, const Options& options);
/// The same with i0, i1, ... and the name offset.
std::string code(const TensorDesc& desc);

}  // namespace relayout::c_function
