// Layouts for people: the offset formula with its numbers, and the digits.
//
//     offset_formula(l, "nchw")   // "480*n + 160*(c/8) + 32*h + 8*w + c%8"
#pragma once

#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout {

/// The offset as arithmetic on index letters (one a dim), largest stride first; with a swizzle "Sw<3,3,3>(64*m + k)".
std::string offset_formula(const Layout& layout, std::string_view dim_letters);

/// "n = (2,480)  c = (8,1)(3,160) ...": the digits, innermost first; with a swizzle "Sw<3,3,3> of m = ...".
std::string digits_text(const Layout& layout, std::string_view dim_letters);

}  // namespace relayout
