// The offset of a layout as a function in plain C.
//
//     c_function::code({Format::parse("nChw8c").bind({2, 17, 5, 4}), DType::f32}, {.letters = "nchw"})
//
//     #include <stdint.h>
//
//     /* The offset in elements of (n, c, h, w) in 2 x 17 x 5 x 4 elements of f32; c may go up to 23, which is padding.
//     */ static inline int64_t offset(int64_t n, int64_t c, int64_t h, int64_t w) {
//       return n * 480 + c / 8 * 160 + c % 8 + h * 32 + w * 8;
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

/// Law: for each index, padding included, the function returns Layout::offset(). An index outside has no meaning.
/// Errors: invalid_argument (letters that are not different small letters, one a dim; a name that is no identifier).
std::string code(const TensorDesc& desc, const Options& options);
/// The same with i0, i1, ... and the name offset.
std::string code(const TensorDesc& desc);

}  // namespace relayout::c_function
