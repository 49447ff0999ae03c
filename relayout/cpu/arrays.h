// Arrays as arguments of the functions that take elements by pointer, too.
//
//     float rows[2][3], columns[6];
//     cpu::run(plan, rows, columns);      // checked, as run() of vectors and spans
//
// An array becomes a pointer by itself, and that would be the form that checks nothing. So each function that has such
// a form has one for arrays, which this concept describes.
#pragma once

#include <type_traits>

#include "relayout/core/elements.h"

namespace relayout::cpu {

/// Whether these are a source and a destination of elements (core/elements.h), of which one at least is an array.
template <typename Src, typename Dst>
concept ArrayAmongRanges = elements_detail::ElementRange<Src&> && elements_detail::WritableRange<Dst&> &&
    (std::is_array_v<Src> || std::is_array_v<Dst>);

}  // namespace relayout::cpu
